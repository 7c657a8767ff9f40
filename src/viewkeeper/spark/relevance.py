"""How many of the pending changes may matter to which view: one Spark action for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.read import Reader
from viewkeeper.sql.render import render_expression
from viewkeeper.storage.relation import Layer, RelationState

Question = tuple[str, str]
"""A view and one of its tables."""


def relevant_rows(
    engine: SparkEngine,
    filters: Mapping[Question, Scalar],
    changes: Mapping[Question, tuple[RelationState, tuple[Layer, ...]]],
) -> dict[Question, int]:
    """For each question about some changes, how many of their rows its filter keeps."""
    if not changes:
        return {}
    reader = Reader(engine)
    counts: list[DataFrame] = []
    for (view, table), (state, layers) in changes.items():
        condition = filters[view, table]
        rows = reader.changes(state, state, layers).frame
        kept = F.count(F.when(F.expr(render_expression(condition)), F.lit(1)))
        counts.append(rows.agg(kept.alias("kept")).select(F.lit(view), F.lit(table), "kept"))
    answer = engine.rows(reduce(DataFrame.union, counts), len(counts))
    return {(row[0], row[1]): row[2] for row in answer}
