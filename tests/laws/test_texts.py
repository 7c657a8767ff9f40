"""Random texts of SQL: their plans answer as the texts do, and obey the delta law.

Texts come from the generators of `fuzz/`. DuckDB is the oracle where it takes the text and means what Spark
means; the delta law needs no oracle.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import duckdb
import sqlglot
from hypothesis import assume, given
from hypothesis import strategies as st
from sqlglot.errors import SqlglotError

from fuzz.forms import FORMS, Holes
from fuzz.sources import Draw
from fuzz.views import random_query, random_view
from tests.laws.databases import TABLES, Bag, History, histories
from tests.laws.harness import connection, difference, explicit_value, start, value
from tests.laws.settings import cases
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.delta import delta, old
from viewkeeper.errors import InvalidSQL
from viewkeeper.sql.duckdb import in_duckdb_names
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

COLUMNS = {name: [(c.name, c.type) for c in columns] for name, columns in TABLES.items()}
CATALOG = StaticCatalog([TableSchema(name, columns) for name, columns in TABLES.items()])

OTHERWISE = re.compile(
    r"CUBE|ROLLUP|GROUPING SETS|PERCENTILE|LISTAGG|REGR_|KURTOSIS|SKEWNESS|\bIN \(SELECT|hex\(|nanvl"
)
"""What DuckDB answers otherwise than Spark: groups over no rows, NULL as the value of IN, other estimates."""

ONLY_SPARK = re.compile(r"posexplode", re.I)
"""Generators that plans have and DuckDB does not."""

UNLIKE_SPARK = (duckdb.Error, SqlglotError, KeyError)
"""What is raised where a text cannot be written for DuckDB, or is rejected there."""

SEEDS = st.integers(0, 10**9)


def plan_of(text: str) -> Relation:
    """The plan of a text; the case is dropped where there is none that DuckDB can run."""
    assume(not ONLY_SPARK.search(text))
    try:
        view = parse_view(text, CATALOG)
    except InvalidSQL:
        assume(False)
    assume(view.relation is not None)
    assert view.relation is not None
    return view.relation


def answer(text: str) -> Bag:
    """What DuckDB says to the text itself."""
    try:
        written = in_duckdb_names(sqlglot.parse_one(text, read="spark")).sql("duckdb")
        rows = connection().execute(written).fetchall()
    except UNLIKE_SPARK:
        assume(False)
    return Counter(map(comparable, rows))


def comparable(row: tuple[object, ...]) -> tuple[str, ...]:
    """A row whose numbers are equal where their values are, whatever type DuckDB gives them."""
    return tuple(_number(item) for item in row)


def _number(item: object) -> str:
    if isinstance(item, dict):
        item = tuple(item.values())
    if isinstance(item, list | tuple):
        return str(comparable(tuple(item)))
    try:
        number = float("nan") if item == "NaN" else float(item)  # type: ignore[arg-type]
        return str(item) if isinstance(item, bool | str) and number == number else f"{number + 0.0:.6g}"
    except (TypeError, ValueError):
        return str(item)


@cases(160)
@given(SEEDS, histories())
def test_the_plan_of_a_text_answers_as_the_text(seed: int, history: History) -> None:
    text = str(random_view(Random(seed), COLUMNS))
    assume(not OTHERWISE.search(text))
    plan = plan_of(text)
    start(history)
    expected = answer(text)
    got: Bag = Counter()
    for row, count in explicit_value(weighted(plan)).items():
        got[comparable(row)] += count
    assert got == expected, text


@cases(200)
@given(SEEDS, histories())
def test_the_plan_of_a_text_obeys_the_delta_law(seed: int, history: History) -> None:
    text = str(random_view(Random(seed), COLUMNS))
    _assert_law(text, history)


@cases(200)
@given(st.sampled_from(FORMS), SEEDS, histories())
def test_every_form_of_sql_obeys_the_delta_law(form: object, seed: int, history: History) -> None:
    text = form(Holes(Draw(Random(seed), COLUMNS, random_query)))  # type: ignore[operator]
    _assert_law(text, history)


def _assert_law(text: str, history: History) -> None:
    plan, changed = plan_of(text), start(history)
    try:
        before, after = value(old(plan, changed)), value(plan)
        change = value(delta(plan, changed))
    except duckdb.Error:
        assume(False)
    assert change == difference(after, before), text
