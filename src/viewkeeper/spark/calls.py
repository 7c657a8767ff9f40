"""What only Spark knows of a text: aggregates, chance and the clock must not pass for functions of a row.

    SELECT best(v) FROM t             best is an aggregate, if Spark takes no column beside it
    SELECT noisy(v) FROM t            noisy is not deterministic, if Spark does not add it up
    SELECT * FROM t WHERE d < 'today' reads the clock, if d is a date: Spark casts the text

Functions of a row are planned like any other; a view with another one is kept as text, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from sqlglot import exp

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import Named, Scalar, column, function
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.relations import Aggregate, Filter, Fixpoint, Project, Reference, Relation
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.errors import InvalidSQL, NotDeterministic
from viewkeeper.maintenance.strategy import View
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.sql.aggregate_calls import CLOCK_WORD, call_name
from viewkeeper.sql.render import state_name
from viewkeeper.storage.draft import Draft

BY_CHANCE = "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION"
"""What Spark says of a sum over a value that is not deterministic."""


def other_calls(engine: SparkEngine, draft: Draft, view: View) -> str:
    """Why calls that only Spark knows leave a view without a plan; empty where they do not."""
    for node in nodes(view.query) if view.query is not None else ():
        child, values = _computed(node)
        calls = [call for value in values for call in value.find_all(exp.Anonymous)]
        if not calls or not child.columns or _is_recursive(child):
            continue
        names = ", ".join(sorted({call_name(call) for call in calls}))
        if _refusal(engine, draft, _beside_a_column(child, values)) is not None:
            return f"it calls {names}, an aggregate that only Spark knows"
        if _refusal(engine, draft, _added_up(child, values)) == BY_CHANCE:
            raise NotDeterministic(
                f"{names} is not deterministic.",
                f"Spark says so of a function that {shown(view.name)} calls, so no view can be kept by it.",
                "Store the value in a column of a table.",
                view=view.name,
            )
    return ""


OTHERS = ("2001-02-03 04:05:06", "1987-12-31 23:58:59")
"""Times that differ from one another in every part: no clock shows both."""

_IN_QUOTES = re.compile(rf"(?<=['\"])(\s*)({CLOCK_WORD})\b", re.IGNORECASE)
_IN_A_PLAN = re.compile(rf"\b{CLOCK_WORD}\b(?!#)", re.IGNORECASE)
_NUMBERS = re.compile(r"#\d+L?")
_OPTIMIZED = re.compile(r"== Optimized Logical Plan ==(.*)== Physical Plan ==", re.DOTALL)


def is_clock_read(engine: SparkEngine, text: str, frames: Mapping[str, DataFrame]) -> bool:
    """Whether Spark takes a word of a text for the clock. With another text in its place its plan then is
    another one, not only with the other text in it."""
    if _IN_QUOTES.search(text) is None:
        return False
    opaque = {name: frame.mapInArrow(_as_they_are, frame.schema) for name, frame in frames.items()}
    told = _optimized(engine, text, opaque)
    for other in OTHERS:
        wanted = _optimized(engine, _IN_QUOTES.sub(rf"\g<1>{other}", text), opaque)
        if _IN_A_PLAN.sub(other, told) != wanted:
            return True
    return False


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows that Spark cannot see through."""
    return batches


def _optimized(engine: SparkEngine, text: str, frames: Mapping[str, DataFrame]) -> str:
    """The plan that Spark has made of a text, without the numbers of its columns; nothing is run."""
    try:
        told = "\n".join(row[0] for row in engine.text(f"EXPLAIN EXTENDED {text}", frames).collect())
    except InvalidSQL as error:
        return str(error)
    found = _OPTIMIZED.search(told)
    return _NUMBERS.sub("#", found[1] if found is not None else told)


def _computed(node: Relation) -> tuple[Relation, list[Scalar]]:
    """What a node computes of each row of its input."""
    match node:
        case Project():
            return node.child, [output.expr for output in node.outputs]
        case Filter():
            return node.child, [node.condition]
        case Aggregate():
            return node.child, [key.expr for key in node.keys]
        case _:
            return node, []


def _is_recursive(rel: Relation) -> bool:
    return any(isinstance(node, Fixpoint | Reference) for node in nodes(rel))


def _beside_a_column(child: Relation, values: Iterable[Scalar]) -> Relation:
    calls = (Named(f"__call_{place}", value) for place, value in enumerate(values))
    return projected(child, (Named("__first", column(child.columns[0])), *calls))


def _added_up(child: Relation, values: Iterable[Scalar]) -> Relation:
    counts = (Named(f"__call_{place}", function("count", value)) for place, value in enumerate(values))
    return Aggregate(child, (), tuple(counts))


def _refusal(engine: SparkEngine, draft: Draft, plan: Relation) -> str | None:
    """The code of Spark's refusal of a plan; None where it is taken."""
    frames = {state_name(scan): engine.empty(draft.relations[scan.table].columns) for scan in scans(plan)}
    try:
        engine.plan(plain(plan), frames)
    except InvalidSQL as error:
        return error.code or ""
    return None
