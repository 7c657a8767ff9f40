"""Where the engines are said to agree they do: the local one answers as DuckDB does, and as Spark does.

Random plans of all operators run on DuckDB, by the thousand: whatever `agreed_types` lets through must have
the same rows. Types and values that only Spark knows (NaN, −0.0, the ends of whole numbers) are in
`tests/spark/test_agreement.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.databases import History, histories
from tests.laws.harness import connection, rows_of, start
from tests.laws.plans import Typed, plans
from tests.laws.settings import cases
from viewkeeper.algebra.build import named_like
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import Named, Scalar, column
from viewkeeper.algebra.relations import Aggregate, Bound, Filter, Join, JoinKind, Reference, Relation, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.delta import delta
from viewkeeper.engine.local.evaluate import Evaluation
from viewkeeper.engine.types import arrow_type
from viewkeeper.planning.physical.agreement import agreed_types, agrees_with_spark
from viewkeeper.sql.render import state_name

answered: Counter[str] = Counter()


def stored(leaf: Scan | Reference) -> pa.Table:
    """All rows of a test table, in the types that it is declared with."""
    assert isinstance(leaf, Scan)
    found = connection().execute(f"FROM {state_name(leaf)}").to_arrow_table()
    known = {item.source.name: arrow_type(item.source.type) for item in leaf.bound}
    return pa.table({name: found[name].cast(kind) for name, kind in known.items()})


def own_answer(explicit: Relation) -> Counter[tuple[str, ...]] | None:
    """What the local engine answers, where it does."""
    types = agreed_types(explicit, lambda leaf: {})
    if explicit not in types:
        return None
    found = Evaluation(stored, types).rows(explicit)
    return counted(zip(*(found[name].to_pylist() for name in explicit.columns), strict=True))


def counted(rows: Iterable[Iterable[object]]) -> Counter[tuple[str, ...]]:
    """Rows with the number of their copies; NaN is written, and so equal to itself."""
    return Counter(tuple(map(repr, row)) for row in rows)


def test_plans_that_agree_have_the_rows_that_duckdb_finds() -> None:
    """Of random plans of all operators, many are understood alike."""
    answered.clear()
    random_plans()
    assert answered["left to Spark"] < answered.total() * 0.9
    assert answered.keys() >= {"Filter", "Project", "Aggregate", "UnionAll", "Distinct", "Join"}


@cases(1200)
@given(plans(), histories(), st.sampled_from(("rows", "changes")))
def random_plans(view: Typed, history: History, form: str) -> None:
    changed = start(history)
    explicit = plain(view.rel) if form == "rows" else weighted(delta(view.rel, changed))
    found = own_answer(explicit)
    answered[type(view.rel).__name__ if found is not None else "left to Spark"] += 1
    if found is not None:
        assert found == counted(rows_of(explicit))


ROWS = Scan(
    "rows",
    tuple(
        Bound(name, Column(name, kind))
        for name, kind in {
            "a": "int",
            "b": "bigint",
            "s": "string",
            "c": "string collate UNICODE_CI",
            "f": "double",
            "t": "boolean",
            "w": "timestamp",
            "d": "decimal(8,2)",
        }.items()
    ),
)


CONDITIONS = (
    *("s > 'a'", "s = 1", "f > 5", "f = f", "f IS NOT DISTINCT FROM 0", "a > 1.5", "a = '1'", "b = s"),
    *("t > false", "a / 2 > 1", "s LIKE 'a%'", "a > 99999999999999999999", "s RLIKE 'a'", "c = 'a'", "d > 1"),
)
CALLS = (
    *(
        ("a", call)
        for call in ("SUM(f)", "SUM(d)", "SUM(DISTINCT a)", "COUNT(DISTINCT a)", "AVG(a)", "MIN(f)")
    ),
    *(("a", call) for call in ("MIN(f)", "MAX(s)", "SUM(a) * f", "ANY_VALUE(s)", "MEDIAN(a)", "COUNT(a, b)")),
    *(("f", "SUM(a)"), ("c", "SUM(a)")),
)


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_that_spark_may_test_in_its_own_way_are_its_own(text: str) -> None:
    assert not agrees_with_spark(Filter(ROWS, parsed(text)), unknown)


@pytest.mark.parametrize(("key", "call"), CALLS)
def test_groups_that_spark_may_tell_in_its_own_way_are_its_own(key: str, call: str) -> None:
    plan = Aggregate(ROWS, (Named(key, column(key)),), (Named("n", parsed(call)),))
    assert not agrees_with_spark(plan, unknown)


@pytest.mark.parametrize("on", ["a = b2", "f = f2", "a = a2 OR a IS NULL", "a < a2", "true", "c = c2"])
@pytest.mark.parametrize("kind", list(JoinKind))
def test_joins_that_spark_may_make_in_its_own_way_are_its_own(on: str, kind: JoinKind) -> None:
    other = named_like(ROWS, tuple(f"{name}2" for name in ROWS.columns))
    assert not agrees_with_spark(Join(ROWS, other, kind, parsed(on)), unknown)


def unknown(leaf: Scan | Reference) -> dict[str, str]:
    return {}


def parsed(text: str) -> Scalar:
    return sqlglot.parse_one(text, read="spark")
