"""What is known of a plan's inputs before they are read: the facts that physical plans are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from pyspark.sql import DataFrame

from viewkeeper.algebra.relations import Filter, Relation, Scan, State
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.engine.local.run import HeldValues, LookUp, nowhere
from viewkeeper.engine.rows import Held
from viewkeeper.planning.physical import Facts, Input, KnownTypes, KnownValues, Physical, lowered
from viewkeeper.planning.physical.plan import Leaf, leaves
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import Answer, types_of
from viewkeeper.spark.read import Source
from viewkeeper.sql.render import state_name


@dataclass(frozen=True)
class Inputs:
    """What a plan reads: stored relations, and results by their names.

    `known` is what the caller knows of an input, which need not be opened yet. `near` is about which part of
    what is stored known keys name, and `look_up` has Spark look them up, at most `most_lookups` times. Known
    keys become literals in plans for Spark if `has_values`.
    """

    engine: SparkEngine
    sources: Mapping[str, Source]
    frames: Mapping[str, Answer]
    known: Callable[[Leaf], Input] = lambda leaf: Input()
    has_values: bool = False
    near: float | None = None
    look_up: LookUp = nowhere
    most_lookups: float = inf

    def run(self, plan: Relation, is_part: bool = False, is_lookup: bool = False) -> DataFrame:
        """The rows of a plan as Spark takes them."""
        return self.engine.frame(self.answer(plan, is_part, is_lookup))

    def answer(self, plan: Relation, is_part: bool = False, is_lookup: bool = False) -> Answer:
        """The rows of a plan, wherever it is run."""
        return self.engine.run(self.physical(plan, is_part, is_lookup), self._rows(), self.look_up)

    def here(self, plan: Relation, wanted: Sequence[Column] | None = None) -> Held | None:
        """The rows of a plan that is placed on the driver; None where it is Spark's.

        `wanted` are the columns and types that they are to have, where that is known.
        """
        physical = self.physical(plan, wanted=wanted)
        found = self.engine.run_here(physical, self._rows(), self.look_up) if physical.is_here else None
        return found if found is None or wanted is None or found.has(wanted) else None

    def physical(
        self,
        plan: Relation,
        is_part: bool = False,
        is_lookup: bool = False,
        wanted: Sequence[Column] | None = None,
    ) -> Physical:
        """How a plan is run. `is_lookup`: whatever it filters by, it asks one relation for known keys."""
        in_lists = [node for node in nodes(plan) if is_lookup and isinstance(node, Filter)]
        facts = Facts(
            {state_name(leaf): self._input(leaf) for leaf in leaves(plan)},
            self._values(),
            self._types(plan),
            self.engine.limits,
            self.near,
            self.most_lookups,
            None if wanted is None else tuple((column.name, column.type) for column in wanted),
        )
        return lowered(plan, facts, is_part, in_lists)

    def _rows(self) -> dict[str, Answer]:
        return {**self.frames, **{name: source.answer for name, source in self.sources.items()}}

    def _types(self, plan: Relation) -> KnownTypes:
        """The types of a plan's columns; Spark is asked where all that it reads is there."""
        rows = self._rows()

        def of_leaf(leaf: Leaf) -> Mapping[str, str]:
            name = state_name(leaf)
            return types_of(rows[name]) if name in rows else {}

        if all(state_name(leaf) in rows for leaf in leaves(plan)):
            return self.engine.types(rows)
        return KnownTypes(of_leaf)

    def _input(self, leaf: Leaf) -> Input:
        """What is known of an input; of one that is not there yet, what the caller knows."""
        known, name = self.known(leaf), state_name(leaf)
        if isinstance(leaf, Scan) and name in self.sources:
            source = self.sources[name]
            is_few = leaf.at is State.DELTA and source.rows <= self.engine.limits.hashed
            return self.engine.input(source.answer, replace(known, read=source.rows, is_few=is_few))
        return self.engine.input(self.frames[name], known) if name in self.frames else known

    def _values(self) -> KnownValues:
        held = {name: rows for name, rows in self._rows().items() if isinstance(rows, Held)}
        return HeldValues(held, self.engine.limits) if self.has_values and held else KnownValues()


def opened(plan: Relation, source: Callable[[Scan], Source]) -> dict[str, Source]:
    """The stored relations that a plan reads, by their names in SQL."""
    return {state_name(scan): source(scan) for scan in scans(plan)}
