"""The stored relations that a plan reads, as frames: in as many tasks as pay."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from viewkeeper.algebra.relations import Reference, Relation, Scan, State
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.maintenance.strata import references
from viewkeeper.planning.in_place import are_asked, are_looked_up
from viewkeeper.spark import engine
from viewkeeper.spark.few_rows import FewRows
from viewkeeper.spark.read import Source
from viewkeeper.sql.render import state_name

if TYPE_CHECKING:
    from viewkeeper.spark.execute import Execution

WORTH_ASKING = 120_000
"""Relations of more rows than this are asked for keys that are known: other plans keep their text, and its
compiled code."""


def asking(execution: Execution, plan: Relation) -> Relation:
    """The plan, its large relations asked for the few keys of what the driver holds."""

    def held(leaf: Scan | Reference) -> pa.Table | None:
        if isinstance(leaf, Reference):
            frame, names = execution.frames.get(leaf.name), leaf.columns
        else:
            is_held = leaf.at is State.DELTA and execution.rows_behind(leaf) <= engine.HELD
            frame = execution.source(leaf).frame if is_held else None
            names = tuple(item.source.name for item in leaf.bound)
        table = None if frame is None else execution.engine.local_rows(frame)
        if table is None or not set(names) <= set(table.column_names):
            return None
        return table.select(list(names)).rename_columns(list(leaf.columns))

    leaves = [node for node in nodes(plan) if isinstance(node, Scan | Reference)]
    is_worth = any(execution.rows_behind(leaf) > WORTH_ASKING for leaf in leaves)
    if not is_worth or all(held(leaf) is None for leaf in leaves):
        return plan
    return FewRows(held, is_worth_asking=lambda rel: _rows(execution, rel) > WORTH_ASKING).asking(plan)


def _rows(execution: Execution, rel: Relation) -> float:
    """The rows behind the leaves of a plan."""
    return sum(execution.rows_behind(node) for node in nodes(rel) if isinstance(node, Scan | Reference))


def leaf_frames(execution: Execution, plan: Relation) -> dict[str, DataFrame]:
    """Of what a plan reads: few rows of results and of changes are looked up in the others."""
    sources = {state_name(scan): execution.source(scan) for scan in scans(plan)}
    few = {name for name in references(plan) if execution.sizes.get(name, inf) <= engine.SOUGHT}
    for name in {state_name(scan) for scan in scans(plan) if scan.at is State.DELTA}:
        if sources[name].rows <= engine.SOUGHT:
            few.add(name)
            execution.engine.sought(sources[name].frame, sources[name].rows)
    return looked_up(execution.engine, plan, sources, few)


def looked_up(
    run: engine.Engine, plan: Relation, sources: Mapping[str, Source], few: Collection[str]
) -> dict[str, DataFrame]:
    """Where few rows are looked up in relations that have not too many rows in all, or these are asked for
    few keys, each of them is read by one task."""
    large = {name: source.rows for name, source in sources.items() if source.rows > engine.ONE_TASK}
    few = {*few, *(name for name, source in sources.items() if run.is_sought(source.frame))}
    leaves, rows = {*sources, *few}, sum(large.values())
    looked_up = rows <= engine.LOOKED_UP and are_looked_up(plan, leaves, few, large)
    if looked_up or (0 < rows <= engine.ASKED and are_asked(plan, large)):
        return {name: run.in_one(source.frame) for name, source in sources.items()}
    return {name: source.frame for name, source in sources.items()}
