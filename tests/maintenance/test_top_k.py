"""The buffer of a TopK: what its steps leave is a prefix of the input, and shows the right rows."""

from __future__ import annotations

import random
from collections.abc import Iterable

import duckdb
import pytest
from sqlglot import exp

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import column
from viewkeeper.algebra.relations import Bound, Relation, Scan, State, TopK
from viewkeeper.algebra.schema import Column
from viewkeeper.maintenance.steps import Compute, ReplaceMain
from viewkeeper.maintenance.top_k import CHANGED, SHORT, Buffer, buffer_of, buffered, maintain_buffer
from viewkeeper.sql.render import DUCKDB, render

COLUMNS = (Bound("a", Column("a", "int")), Bound("b", Column("b", "int")))
INPUT = Scan("r", COLUMNS)
CHANGE = Scan("r", COLUMNS, State.DELTA)
ORDER = (exp.Ordered(this=column("a"), desc=True, nulls_first=False),)

Row = tuple[int | None, int | None]


class Small(Buffer):
    """A buffer with hardly any spare rows, so that they are soon used up."""

    @property
    def size(self) -> int:
        return self.shown + 2


class Model:
    """The input and its buffer on DuckDB."""

    def __init__(self, rows: list[Row], buffer: Buffer) -> None:
        self.connection = duckdb.connect()
        self.rows, self.buffer, self.refills = rows, buffer, 0
        self._table("r", "a INT, b INT", rows)
        self._keep("s__old", buffered(buffer, INPUT))

    def apply(self, inserted: list[Row], deleted: list[Row]) -> None:
        for row in deleted:
            self.rows.remove(row)
        self.rows += inserted
        changes = [(*row, 1) for row in inserted] + [(*row, -1) for row in deleted]
        self._table("r", "a INT, b INT", self.rows)
        self._table("r__delta", "a INT, b INT, __count BIGINT", changes)
        kept, near, far, _ = maintain_buffer("s", self.buffer, CHANGE, buffered(self.buffer, INPUT), ())
        assert isinstance(kept, Compute)
        assert isinstance(near, ReplaceMain)
        assert isinstance(far, ReplaceMain)
        self._keep("s__kept", kept.plan)
        flags = f"SELECT coalesce(max({SHORT}), 0), coalesce(max({CHANGED}), 0) FROM s__kept"
        short, changed = self.connection.sql(flags).fetchall()[0]
        self.refills += short
        before = self._rows("s__old")
        chosen = far.plan if short else near.plan
        assert chosen is not None
        self._keep("s__next", chosen)
        assert changed or self._rows("s__next") == before
        self.connection.sql("CREATE OR REPLACE TABLE s__old AS FROM s__next")

    def shown(self, source: str) -> list[Row]:
        top = TopK(Scan(source, COLUMNS), ORDER, self.buffer.shown)
        return self.connection.sql(render(top, DUCKDB)).fetchall()

    def _rows(self, name: str) -> list[tuple[object, ...]]:
        return self.connection.sql(f"FROM {name} ORDER BY ALL").fetchall()

    def _table(self, name: str, columns: str, rows: Iterable[tuple[object, ...]]) -> None:
        self.connection.sql(f"CREATE OR REPLACE TABLE {name} ({columns})")
        rows = list(rows)
        if rows:
            marks = ", ".join("?" for _ in rows[0])
            self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)

    def _keep(self, name: str, plan: Relation) -> None:
        self.connection.sql(f"CREATE OR REPLACE TABLE {name} AS {render(plain(plan), DUCKDB)}")


def random_row(choice: random.Random) -> Row:
    return choice.choice([None, 1, 2, 3, 4]), choice.choice([None, 1, 2])


@pytest.mark.parametrize("seed", range(60))
def test_the_shown_rows_are_always_the_first(seed: int) -> None:
    choice = random.Random(seed)
    rows = [random_row(choice) for _ in range(choice.randint(0, 12))]
    model = Model(rows, Small(ORDER, choice.randint(1, 4)))
    for _ in range(4):
        deleted = choice.sample(model.rows, choice.randint(0, min(4, len(model.rows))))
        model.apply([random_row(choice) for _ in range(choice.randint(0, 3))], deleted)
        assert model.shown("s__old") == model.shown("r")


def test_the_input_is_read_again_only_when_the_spare_rows_are_used_up() -> None:
    model = Model([(n, 0) for n in range(20)], Small(ORDER, 3))
    model.apply([], [(19, 0)])
    model.apply([(30, 0)], [(18, 0)])
    assert model.refills == 0
    model.apply([], [(30, 0), (17, 0), (16, 0)])
    assert model.refills == 1
    assert model.shown("s__old") == [(15, 0), (14, 0), (13, 0)]


def test_a_change_behind_the_last_row_of_the_buffer_changes_nothing() -> None:
    model = Model([(n, 0) for n in range(20)], Small(ORDER, 3))
    model.apply([(2, 5)], [(4, 0)])
    kept = model.connection.sql(f"SELECT max({CHANGED}), max({SHORT}) FROM s__kept").fetchall()
    assert kept == [(0, 0)]


def test_very_large_limits_keep_no_buffer() -> None:
    assert buffer_of(TopK(INPUT, ORDER, 1_000_000)) is None
    assert buffer_of(TopK(INPUT, ORDER, 10, 5)) == Buffer(ORDER, 15)
