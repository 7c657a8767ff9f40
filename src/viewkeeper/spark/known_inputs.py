"""What is known of a plan's inputs before Spark reads them: the facts that physical plans are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from viewkeeper.algebra.relations import Filter, Relation, Scan, State
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.planning.physical import Facts, Input, KnownTypes, KnownValues, Physical, lowered
from viewkeeper.planning.physical.keys import Keys
from viewkeeper.planning.physical.plan import Leaf, leaves
from viewkeeper.spark.engine import Engine
from viewkeeper.spark.few_rows import FewRows
from viewkeeper.spark.read import Source
from viewkeeper.sql.render import state_name


@dataclass(frozen=True)
class Inputs:
    """What a plan reads: stored relations, and results by their names.

    `known` is what the caller knows of an input. Values are known of frames whose rows the driver holds, if
    `has_values`.
    """

    engine: Engine
    sources: Mapping[str, Source]
    frames: Mapping[str, DataFrame]
    known: Callable[[Leaf], Input] = lambda leaf: Input()
    has_values: bool = False

    def run(self, plan: Relation, is_part: bool = False, is_look: bool = False) -> DataFrame:
        """The frame of a plan."""
        stored = {name: source.frame for name, source in self.sources.items()}
        return self.engine.run(self.physical(plan, is_part, is_look), {**self.frames, **stored})

    def physical(self, plan: Relation, is_part: bool = False, is_look: bool = False) -> Physical:
        """How a plan is run. `is_look`: whatever it filters by, it asks one relation for known keys."""
        asked = [node for node in nodes(plan) if is_look and isinstance(node, Filter)]
        facts = Facts(self._inputs(plan), self._values(plan), self._types(plan), self.engine.limits)
        return lowered(plan, facts, is_part, asked)

    def _types(self, plan: Relation) -> KnownTypes | None:
        """The types of a plan's columns, where all that it reads is there."""
        frames = {**self.frames, **{name: source.frame for name, source in self.sources.items()}}
        return self.engine.types(frames) if all(state_name(leaf) in frames for leaf in leaves(plan)) else None

    def _inputs(self, plan: Relation) -> dict[str, Input]:
        return {state_name(leaf): self._input(leaf) for leaf in leaves(plan)}

    def _input(self, leaf: Leaf) -> Input:
        """What is known of an input; of one that is not there yet, what the caller knows."""
        known, name = self.known(leaf), state_name(leaf)
        if isinstance(leaf, Scan) and name in self.sources:
            source = self.sources[name]
            is_few = leaf.at is State.DELTA and source.rows <= self.engine.limits.hashed
            return self.engine.input(source.frame, replace(known, read=source.rows, is_few=is_few))
        return self.engine.input(self.frames[name], known) if name in self.frames else known

    def _values(self, plan: Relation) -> KnownValues:
        if not self.has_values or all(self._rows(leaf) is None for leaf in leaves(plan)):
            return KnownValues()
        return _Values(FewRows(self._rows, limits=self.engine.limits))

    def _rows(self, leaf: Leaf) -> pa.Table | None:
        """The rows of an input that the driver holds."""
        if isinstance(leaf, Scan):
            source = self.sources.get(state_name(leaf))
            frame = source.frame if source is not None and leaf.at is State.DELTA else None
            names = tuple(item.source.name for item in leaf.bound)
        else:
            frame, names = self.frames.get(leaf.name), leaf.columns
        table = None if frame is None else self.engine.local_rows(frame)
        if table is None or not set(names) <= set(table.column_names):
            return None
        return table.select(list(names)).rename_columns(list(leaf.columns))


@dataclass(frozen=True)
class _Values(KnownValues):
    """Values of rows that the driver holds, and of what it can put together from them."""

    few: FewRows
    any: bool = True

    def keys(self, rel: Relation, name: str) -> Keys | None:
        return self.few.keys(rel, name)

    def knows(self, rel: Relation) -> bool:
        return self.few.rows(rel) is not None


def opened(plan: Relation, source: Callable[[Scan], Source]) -> dict[str, Source]:
    """The stored relations that a plan reads, by their names in SQL."""
    return {state_name(scan): source(scan) for scan in scans(plan)}
