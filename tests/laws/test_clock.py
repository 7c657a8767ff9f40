"""The clock as a relation: views that read it obey the delta law, and what they read lies in their bounds.

An *oracle* test: the right side evaluates the view at both instants, by plain SQL.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.laws.databases import TABLES, History, Row, histories
from tests.laws.harness import connection, difference, explicit_value, load, value
from tests.laws.settings import cases
from viewkeeper.algebra.clock import DATE, clock_of, literal_of
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import Scalar, literal
from viewkeeper.algebra.relations import Relation, Scan, State, Values
from viewkeeper.algebra.schema import COUNT, TableSchema
from viewkeeper.algebra.walk import base_tables, scans
from viewkeeper.delta import delta, old
from viewkeeper.rewrite.at_instant import at_instant
from viewkeeper.rewrite.bounds import Alternatives, bounds
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import state_name

CATALOG = StaticCatalog(TableSchema(name, columns) for name, columns in TABLES.items())
CLOCK = clock_of(DATE, "UTC").relation
DAYS = [date(2020, 1, 1) + timedelta(days=n) for n in (-1, 0, 1, 2, 3)]

CONDITIONS = (
    "e >= current_date() - 1",
    "e > current_date()",
    "e BETWEEN current_date() - 1 AND current_date()",
    "NOT (e < current_date())",
    "NOT (e BETWEEN current_date() AND current_date() + 1)",
    "current_date() = e",
    "e = current_date() OR c = 1",
    "coalesce(e, current_date()) > DATE '2020-01-01'",
    "current_date() > DATE '2020-01-01'",
    "e IN (current_date(), DATE '2020-01-01')",
    "(c > 0 AND e <= current_date()) OR (c <= 0 AND e > current_date())",
)
TEXTS = (
    "SELECT c, d, e FROM s WHERE {0} AND {1}",
    "SELECT c, SUM(d) AS x, COUNT(*) AS n FROM s WHERE {0} GROUP BY c",
    "SELECT c, COUNT(CASE WHEN {0} THEN 1 END) AS n, COUNT(*) FILTER (WHERE {1}) AS m FROM s GROUP BY c",
    "SELECT c, MIN(e) AS m FROM s GROUP BY c HAVING MAX(e) <= current_date()",
    "SELECT a, b, e FROM r LEFT JOIN s ON a = c AND {0} WHERE b >= 0",
    "SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE c = a AND {0})",
    "SELECT DISTINCT a FROM r JOIN s ON a = c AND {0}",
    "SELECT a, e FROM r JOIN (SELECT * FROM s WHERE {0}) AS few ON a = c WHERE {1}",
    "SELECT c, current_date() AS today, e FROM s WHERE {0}",
    "SELECT c, ({0}) AS yes, ({1}) AS no FROM s",
    "SELECT c, e, COUNT(*) OVER (PARTITION BY ({0})) AS n FROM s",
    "SELECT c FROM s WHERE {0} UNION ALL SELECT a FROM r WHERE current_date() = DATE '2020-01-02'",
    "SELECT c FROM s WHERE {0} EXCEPT SELECT a FROM r",
)


@st.composite
def views(draw: st.DrawFn) -> str:
    conditions = [f"({draw(st.sampled_from(CONDITIONS))})" for _ in range(2)]
    return draw(st.sampled_from(TEXTS)).format(*conditions)


def planned(text: str) -> Relation:
    found = parse_view(text, CATALOG, zone="UTC")
    assert found.relation is not None, found.untranslatable
    assert CLOCK in found.tables
    return found.relation


def set_clock(then: date, now: date) -> None:
    """Fills the clock's relation at both instants, with what changed between them."""
    changed = [] if then == now else [(then, -1), (now, 1)]
    for name, rows in ((f"{CLOCK}__old", [(then,)]), (CLOCK, [(now,)]), (f"{CLOCK}__delta", changed)):
        count = f", {COUNT} bigint" if name.endswith("__delta") else ""
        connection().execute(f"CREATE OR REPLACE TABLE {name} (shown date{count})")
        if rows:
            connection().executemany(f"INSERT INTO {name} VALUES (?{', ?' if count else ''})", rows)


def as_constants(plan: Relation, then: date, now: date) -> Relation:
    def shown(scan: Scan) -> Values:
        at = {State.NEW: [(now, 1)], State.OLD: [(then, 1)], State.DELTA: [(then, -1), (now, 1)]}[scan.at]
        counted = COUNT in scan.columns
        rows = ((literal_of(DATE, day.isoformat()), literal(count)) for day, count in at)
        return Values(scan.columns, tuple(row if counted else row[:1] for row in rows))

    return at_instant(plan, shown)


def constant(expr: Scalar, kind: str) -> tuple[Any, bool] | None:
    text = f"SELECT CAST({expr.sql('duckdb')} AS {kind})"
    [(found,)] = connection().execute(text).fetchall()
    return (found.isoformat() if isinstance(found, date) else found), True


def within(rows: Iterable[Row], table: str, allowed: Alternatives | None) -> tuple[Row, ...]:
    """The rows of a table that are in files of one row each which are opened."""

    def lies(row: Row, ranges: dict[str, tuple[Any, Any]]) -> bool:
        values = {c.name: v for c, v in zip(TABLES[table], row, strict=True) if v is not None}
        told = {name: v.isoformat() if isinstance(v, date) else v for name, v in values.items()}
        return all(name not in told or low <= told[name] <= high for name, (low, high) in ranges.items())

    return tuple(row for row in rows if allowed is None or any(lies(row, dict(one)) for one in allowed))


@cases(150, at_least=100)
@given(views(), histories(), st.sampled_from(DAYS), st.sampled_from(DAYS), st.booleans())
@example(
    "SELECT c, e FROM s WHERE e >= current_date() - 1", History(dict.fromkeys(TABLES, ())), *DAYS[:2], True
)
def test_views_that_read_the_clock_obey_the_delta_law(
    text: str, history: History, then: date, now: date, is_still: bool
) -> None:
    batch = () if is_still or not history.batches else history.batches[0]
    after = load(history.rows, batch)
    set_clock(then, now)
    rel, changed = planned(text), frozenset({CLOCK, *(change.table for change in batch)})
    change = weighted(delta(rel, changed))
    wanted = difference(value(rel), value(old(rel, changed)))
    assert explicit_value(change) == wanted
    plain = as_constants(change, then, now)
    assert CLOCK not in base_tables(plain)
    assert explicit_value(plain) == wanted
    if not batch:
        allowed = bounds(plain, state_name, constant)
        few = {table: within(rows, table, allowed.get(table)) for table, rows in after.items()}
        load(few, ())
        assert explicit_value(plain) == wanted


def test_only_the_days_at_the_edges_are_read() -> None:
    rel = planned("SELECT c, d FROM s WHERE e BETWEEN current_date() - 6 AND current_date()")
    change = as_constants(weighted(delta(rel, frozenset({CLOCK}))), DAYS[1], DAYS[2])
    days = {dict(one)["e"] for one in bounds(change, state_name, constant)["s"]}
    assert days == {("2020-01-02", "2020-01-02"), ("2019-12-26", "2019-12-26")}


def test_a_batch_that_comes_with_a_new_day_is_looked_at_once() -> None:
    """Rows that came are joined with the clock as it was; the edges are looked up in what there is now."""
    rel = planned("SELECT c, e FROM s WHERE e >= current_date()")
    change = delta(rel, frozenset({CLOCK, "s"}))
    assert {scan.at for scan in scans(change) if scan.table == "s"} == {State.DELTA, State.NEW}
