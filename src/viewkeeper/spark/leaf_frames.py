"""The stored relations that a plan reads, as frames: in as many tasks as pay."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from viewkeeper.algebra.relations import Relation, State
from viewkeeper.algebra.walk import scans
from viewkeeper.maintenance.strata import references
from viewkeeper.planning.in_place import are_looked_up
from viewkeeper.spark import engine
from viewkeeper.spark.read import Source
from viewkeeper.sql.render import state_name

if TYPE_CHECKING:
    from viewkeeper.spark.execute import Execution


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
    """Where few rows are looked up in relations that have not too many rows in all, each of these is read by
    one task."""
    large = {name: source.rows for name, source in sources.items() if source.rows > engine.ONE_TASK}
    few = {*few, *(name for name, source in sources.items() if run.is_sought(source.frame))}
    leaves = {*sources, *few}
    if not 0 < sum(large.values()) <= engine.LOOKED_UP or not are_looked_up(plan, leaves, few, large):
        return {name: source.frame for name, source in sources.items()}
    return {name: run.looked_up(source.frame, source.rows) for name, source in sources.items()}
