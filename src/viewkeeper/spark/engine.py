"""Runs physical plans: their fragments as SQL text by Spark, or on the driver where they are placed there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.relations import Relation
from viewkeeper.engine import port
from viewkeeper.engine.local.run import LookUp, here, nowhere
from viewkeeper.engine.local.run import run as run_here
from viewkeeper.engine.rows import Held
from viewkeeper.planning.physical import (
    Facts,
    Fragment,
    Input,
    KnownTypes,
    Physical,
    lowered,
)
from viewkeeper.spark.failures import translated
from viewkeeper.spark.files import Files
from viewkeeper.spark.frames import Answer, slot, text_of, types_of
from viewkeeper.spark.narrowing import needed_of_leaves
from viewkeeper.sql.render import state_name
from viewkeeper.views import ZONE_SETTING

UNKNOWN = Input()


class SparkEngine(Files, port.Engine[DataFrame]):
    """One Spark session at work for one warehouse."""

    @property
    def zone(self) -> str:
        """The time zone of the session, in which the clock is read."""
        return str(self.spark.conf.get(ZONE_SETTING))

    def plan(self, rel: Relation, frames: Mapping[str, Answer], is_part: bool = False) -> DataFrame:
        """A plan with explicit counts; `frames` holds its leaves by the names that SQL gives them."""
        return self.frame(self.answer(rel, frames, is_part))

    def answer(self, rel: Relation, frames: Mapping[str, Answer], is_part: bool = False) -> Answer:
        """The rows of a plan, wherever it is run."""
        inputs = {name: self.input(frame) for name, frame in frames.items()}
        facts = Facts(inputs, types=self.types(frames), limits=self.limits)
        return self.run(lowered(rel, facts, is_part), frames)

    def here(self, rel: Relation, rows: Mapping[str, Answer]) -> Held | None:
        """The rows of a plan that is placed on the driver; None where it is Spark's."""
        held = {name: each for name, each in rows.items() if isinstance(each, Held)}
        if len(held) < len(rows):
            return None
        return here(rel, held, self.limits)

    def run_here(
        self, physical: Physical, rows: Mapping[str, Answer], look_up: LookUp = nowhere
    ) -> Held | None:
        """The rows of a plan that is placed on the driver; None where they are too many for it."""
        held = {name: each for name, each in rows.items() if isinstance(each, Held)}
        return run_here(physical, held, look_up, self.limits)

    def types(self, frames: Mapping[str, Answer]) -> KnownTypes:
        """The types of what plans over these frames have; Spark is asked for them, by no action."""
        return KnownTypes(
            lambda leaf: types_of(frames[state_name(leaf)]),
            lambda rel: types_of(self.text(text_of(rel), frames)),
        )

    def input(self, rows: Answer, known: Input = UNKNOWN) -> Input:
        """What is known of some rows: what the caller knows, and how they were made."""
        if isinstance(rows, Held):
            is_few = known.is_few or rows.rows <= self.limits.hashed
            return replace(known, rows=rows.rows, joins=0, is_few=is_few, held=True)
        return replace(known, joins=self._in_one_task.get(rows), is_few=known.is_few or rows in self._few)

    def run(self, physical: Physical, frames: Mapping[str, Answer], look_up: LookUp = nowhere) -> Answer:
        """The rows of a physical plan; an action for each fragment that is written out, or looks rows up."""
        if physical.is_here:
            found = self.run_here(physical, frames, look_up)
            if found is not None:
                return found
            physical = physical.on_spark
        known = dict(frames)
        for name in physical.one_task:
            known[name] = self.in_one(self.frame(known[name]))
        for fragment in physical.fragments:
            known[fragment.name] = self._fragment(fragment, known)
        return known[physical.result.name]

    def _fragment(self, fragment: Fragment, frames: Mapping[str, Answer]) -> DataFrame:
        in_place = fragment.merged | fragment.hashed
        if not self.access.narrows:
            frames = self._narrowed(fragment.plan, frames)
        frame = self.text(text_of(fragment.plan, in_place, fragment.hashed), frames)
        if fragment.joins is not None:
            self._in_one_task[frame] = fragment.joins
        if fragment.materialize:
            frame = self.written_out(frame)
        return F.broadcast(frame) if fragment.broadcast else frame

    def _narrowed(self, plan: Relation, frames: Mapping[str, Answer]) -> dict[str, Answer]:
        """The leaves of a plan as far as it needs them."""
        needed = needed_of_leaves(plan)
        return {
            name: self.narrowed(rows, needed[name]) if name in needed and not isinstance(rows, Held) else rows
            for name, rows in frames.items()
        }

    def text(self, sql: str, frames: Mapping[str, Answer]) -> DataFrame:
        """SQL in which `slot(name)` stands for the DataFrame of that name; no view stays behind."""
        text = sql.replace("{", "{{").replace("}", "}}")
        used: dict[str, Any] = {}
        for name, frame in frames.items():
            mark = slot(name)
            if mark in text:
                text = re.sub(rf"\b{mark}\b", f"{{{mark}}}", text)
                used[mark] = self.frame(frame)
        with self.settings():
            try:
                return self.spark.sql(text, **used)
            except (AnalysisException, ParseException) as error:
                raise translated(error) from error
