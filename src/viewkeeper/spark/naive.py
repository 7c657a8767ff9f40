"""The least fixpoint of equations by the definition itself: every round evaluates all of every body.

R₀ = ∅,  Rₙ₊₁ = body(Rₙ),  until no relation has more rows than before

Slow and plain on purpose. What verifies recursive views shares nothing with what maintains them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.schema import Column
from viewkeeper.errors import Diverged
from viewkeeper.spark.declared import with_char_types
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.files import RESULTS
from viewkeeper.spark.frames import columns_of

ROUNDS = 100_000
"""What was stored is finite, and one round per row of it is enough; this only stops what is not."""

TYPED = 3
"""Types are those that so many rounds give, from columns of no type on."""

RunText = Callable[[str, Mapping[str, DataFrame]], DataFrame]
"""Runs a text, given the rows of the relations that are being defined by their names in lower case."""


@dataclass(frozen=True)
class Equation:
    """A relation that is defined by a query over others, and over itself."""

    name: str
    columns: tuple[str, ...]
    query: str


def least_fixpoint(engine: SparkEngine, equations: Sequence[Equation], run: RunText) -> dict[str, DataFrame]:
    """The smallest sets that satisfy all equations, by their names in lower case; queries are monotone."""
    types = _types(engine, equations, run)
    rows = {name: with_char_types(engine.empty(columns), columns) for name, columns in types.items()}
    sizes: dict[str, int] = {}
    for _ in range(ROUNDS):
        before, sizes, known = sizes, {}, dict(rows)
        for one in equations:
            name = one.name.lower()
            files = engine.write_result(_shaped(run(one.query, known), types[name]).distinct(), 1)
            frame = engine.files(RESULTS, files, types[name])
            rows[name], sizes[name] = with_char_types(frame, types[name]), sum(f.rows for f in files)
        if sizes == before or not any(sizes.values()):
            return rows
    raise Diverged(
        f"{', '.join(one.name for one in equations)} did not end within {ROUNDS} rounds.",
        "Every round of the plain evaluation derived rows that were not there before.",
        "Bound the recursion, for example by a condition on a counter.",
    )


def _types(engine: SparkEngine, equations: Sequence[Equation], run: RunText) -> dict[str, tuple[Column, ...]]:
    """The columns with the types that Spark's analysis gives them; nothing is run."""
    types = {one.name.lower(): tuple(Column(name, "void") for name in one.columns) for one in equations}
    for _ in range(TYPED):
        frames = {name: with_char_types(engine.empty(columns), columns) for name, columns in types.items()}
        types = {
            one.name.lower(): tuple(
                Column(name, found.type, declared=found.declared)
                for name, found in zip(one.columns, columns_of(run(one.query, frames)), strict=True)
            )
            for one in equations
        }
    return {
        name: tuple(replace(c, type="string") if c.type == "void" else c for c in columns)
        for name, columns in types.items()
    }


def _shaped(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """The frame with these names and types, by position."""
    numbered = frame.toDF(*(f"c{number}" for number in range(len(columns))))
    return numbered.select(
        *(F.col(f"c{number}").cast(column.type).alias(column.name) for number, column in enumerate(columns))
    )
