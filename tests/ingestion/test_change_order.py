"""Changes in any order, on DuckDB: what they make of a table depends on which came, not on when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sizes import SIZES
from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.merge.change_order import DELETED, SEEN, ChangeOrder, order_columns
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.sql.render import DUCKDB, render

ORDER = ChangeOrder(("id",), order_columns(2))
TABLE = Reference("stored", ("id", "x", "seq", "n"))
MEMORY = Reference("memory", ("id", *ORDER.order, DELETED, SEEN))
CHANGES = Reference("changes", ("id", "x", "seq", "n", *ORDER.order, DELETED))
WITHOUT_ORDER = Reference("changes", ("id", "x", *ORDER.order, DELETED))
ROWS = "id INT, x VARCHAR"


class Change(NamedTuple):
    key: int
    at: int
    n: int
    is_deletion: bool

    @property
    def row(self) -> tuple[Any, ...]:
        return self.key, f"{self.at}.{self.n}", self.at, self.n


class Applied:
    """A table and its memory, to which batches are applied by the rules."""

    def __init__(self, holds_order: bool) -> None:
        self.holds_order = holds_order
        self.order = ", ".join(f"{name} INT" for name in ORDER.order)
        self.columns = f"{ROWS}, seq INT, n INT" if holds_order else ROWS
        self.con = duckdb.connect(config={"threads": 1})
        self.con.execute(f"CREATE TABLE stored ({self.columns})")
        self.con.execute(f"CREATE TABLE memory (id INT, {self.order}, {DELETED} BOOLEAN, {SEEN} BIGINT)")

    def batch(self, changes: Iterable[Change], now: int = 0, before: int | None = None) -> None:
        given = CHANGES if self.holds_order else WITHOUT_ORDER
        table = TABLE if self.holds_order else Reference("stored", ("id", "x"))
        values = [(*c.row[: 4 if self.holds_order else 2], c.at, c.n, c.is_deletion) for c in changes]
        self.con.execute(f"CREATE OR REPLACE TABLE changes ({self.columns}, {self.order}, {DELETED} BOOLEAN)")
        self.insert("changes", values)
        known: list[Relation] = [MEMORY]
        if self.holds_order:
            at = zip(ORDER.order, ("seq", "n"), strict=True)
            known.append(projected(table, (Named("id", column("id")), *(Named(a, column(b)) for a, b in at))))
        self.keep("newer", ORDER.newer(ORDER.latest(given), known))
        newer = Reference("newer", given.columns)
        parts = {
            "gone": ORDER.replaced(table, newer),
            "came": ORDER.replacing(table, newer),
            "forgotten": ORDER.forgotten(MEMORY, newer, before),
            "learned": ORDER.remembered(newer, now, self.holds_order),
        }
        for name, plan in parts.items():
            self.keep(name, plan)
        self.con.execute("DELETE FROM stored WHERE id IN (SELECT id FROM gone)")
        self.con.execute("INSERT INTO stored FROM came")
        self.con.execute("DELETE FROM memory WHERE id IN (SELECT id FROM forgotten)")
        self.con.execute("INSERT INTO memory FROM learned")

    def keep(self, name: str, plan: Relation) -> None:
        self.con.execute(f"CREATE OR REPLACE TABLE {name} AS {render(plan, DUCKDB)}")

    def insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self.con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def rows(self, table: str = "stored", columns: str = "*") -> list[tuple[Any, ...]]:
        return sorted(self.con.execute(f"SELECT {columns} FROM {table}").fetchall())


def right(changes: Iterable[Change]) -> list[tuple[Any, ...]]:
    """What the source holds: of each key the change of the greatest order, where that is no deletion."""
    last: dict[int, Change] = {}
    for change in changes:
        if change.key not in last or (change.at, change.n) > (last[change.key].at, last[change.key].n):
            last[change.key] = change
    return sorted(change.row for change in last.values() if not change.is_deletion)


small = st.integers(0, 3)
histories = st.lists(
    st.builds(Change, small, small, small, st.booleans()), max_size=14, unique_by=lambda c: c[:3]
)


@settings(max_examples=max(10, SIZES.cases // 20), deadline=None)
@given(histories, st.randoms(use_true_random=False), st.lists(st.integers(0, 14), max_size=4), st.booleans())
@example([Change(1, 0, 0, False), Change(1, 1, 0, True)], None, [1], True)
def test_the_order_of_arrival_does_not_matter(
    changes: list[Change], chance: Any, cuts: list[int], holds_order: bool
) -> None:
    shuffled = list(reversed(changes)) if chance is None else chance.sample(changes, len(changes))
    applied, start = Applied(holds_order), 0
    for end in [*sorted(cuts), len(shuffled)]:
        applied.batch(shuffled[start:end])
        applied.batch(shuffled[:end])  # again: what came before changes nothing
        start = end
    expected = right(changes)
    assert applied.rows() == (expected if holds_order else [row[:2] for row in expected])
    dead = {change.key for change in changes} - {row[0] for row in expected}
    remembered = {row[0] for row in applied.rows("memory")}
    assert remembered == (dead if holds_order else {change.key for change in changes})


def test_deletions_are_remembered_as_long_as_asked() -> None:
    applied = Applied(holds_order=True)
    applied.batch([Change(1, 5, 0, True), Change(2, 5, 0, True)], now=100)
    applied.batch([Change(2, 6, 0, True)], now=200, before=150)
    assert applied.rows("memory", f"id, {SEEN}") == [(2, 200)]
    applied.batch([Change(1, 4, 0, False), Change(2, 5, 9, False)], now=300)
    assert applied.rows() == [(1, "4.0", 4, 0)], "the deletion of 1 is forgotten, and came too early to count"


def test_a_row_without_an_order_is_older_than_every_change() -> None:
    applied = Applied(holds_order=True)
    applied.insert("stored", [(1, "loaded", None, None), (2, "loaded", 3, None)])
    applied.batch([Change(1, 0, 0, False), Change(2, 2, 9, False), Change(3, 0, 0, True)])
    assert applied.rows() == [(1, "0.0", 0, 0), (2, "loaded", 3, None)]


def test_columns_that_are_not_given_stay() -> None:
    applied = Applied(holds_order=True)
    applied.insert("stored", [(1, "old", 1, 1)])
    given = Reference("partial", ("id", "seq", "n", *ORDER.order, DELETED))
    applied.con.execute(
        f"CREATE TABLE partial AS SELECT id, 2 AS seq, 2 AS n, 2 AS __order_1, 2 AS __order_2,"
        f" false AS {DELETED} FROM (VALUES (1), (7)) t(id)"
    )
    applied.keep("came", ORDER.replacing(TABLE, given))
    assert applied.rows("came") == [(1, "old", 2, 2), (7, None, 2, 2)]


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ([(None, "a", 1, 1, 1, 1, False)], {"null": 1}),
        ([(1, "a", 1, 1, None, 1, False)], {"null": 1}),
        ([(1, "a", 1, 1, 1, 1, False), (1, "b", 1, 1, 1, 1, False)], {"duplicate": 1}),
        ([(1, "a", 1, 1, 1, 1, False), (1, "a", 1, 1, 1, 1, True)], {"duplicate": 1}),
        ([(1, "a", 1, 1, 1, 1, False)] * 2 + [(1, "b", 1, 1, 1, 2, False)], {}),
    ],
)
def test_changes_that_mean_nothing_are_found(changes: list[tuple[Any, ...]], wrong: dict[str, int]) -> None:
    applied = Applied(holds_order=True)
    applied.batch([])
    applied.insert("changes", changes)
    found = {}
    for check in ORDER.checks("stored", CHANGES):
        applied.keep("found", check.offending)
        found[check.kind] = len(applied.rows("found", "count(*)")) if applied.rows("found") else 0
    assert {kind: n for kind, n in found.items() if n} == wrong
