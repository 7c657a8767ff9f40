"""The retail warehouse of mumick97 section 2 with a handful of rows, on DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from tests.reference.summary_refresh import RefreshLayers, full_state, merged, overridden, refresh
from viewkeeper.algebra.expressions import Named, Scalar, column
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Filter,
    Join,
    JoinKind,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.delta.states import at
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.recognise import cube_view
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts, alive
from viewkeeper.maintenance.summary_delta.state import stored_columns
from viewkeeper.sql.render import DUCKDB, render

Row = tuple[Any, ...]


def _columns(text: str) -> tuple[Column, ...]:
    parts = [part.split() for part in text.split(",")]
    return tuple(Column(name.rstrip("!"), kind, not name.endswith("!")) for name, kind in parts)


POS = TableSchema(
    "pos",
    _columns("storeID! int, itemID! int, date int, qty int, price int"),
    (),
    (ForeignKey(("storeID",), "stores", ("storeID",)), ForeignKey(("itemID",), "items", ("itemID",))),
)
STORES = TableSchema(
    "stores",
    _columns("storeID! int, city string, region string"),
    ("storeID",),
    (),
    (("viewkeeper.hierarchy", "storeID > city > region"),),
)
ITEMS = TableSchema(
    "items",
    _columns("itemID! int, name string, category string, cost int"),
    ("itemID",),
    (),
    (("viewkeeper.hierarchy", "itemID > category"),),
)
SCHEMAS = {"pos": POS, "stores": STORES, "items": ITEMS}


def expression(text: str) -> Scalar:
    parsed = sqlglot.parse_one(text, dialect="spark")
    return parsed.transform(lambda n: column(n.name) if isinstance(n, exp.Column) else n)


def scan(table: str, schemas: dict[str, TableSchema] | None = None) -> Scan:
    """A scan; the key of a dimension is called `stores_storeID`, so that joins share no name."""
    schema = (schemas or SCHEMAS)[table]
    bound = (Bound(f"{table}_{c.name}" if c.name in schema.key else c.name, c) for c in schema.columns)
    return Scan(table, tuple(bound))


def plan(
    keys: str,
    measures: str,
    dimensions: str = "",
    where: str = "",
    schemas: dict[str, TableSchema] | None = None,
) -> Relation:
    """SELECT keys, measures FROM pos JOIN dimensions WHERE where GROUP BY keys."""
    rel: Relation = scan("pos", schemas)
    for table in dimensions.split():
        key = (schemas or SCHEMAS)[table].key[0]
        rel = Join(rel, scan(table, schemas), JoinKind.INNER, expression(f"{key} = {table}_{key}"))
    if where:
        rel = Filter(rel, expression(where))
    return Aggregate(rel, tuple(named(keys)), tuple(named(measures)))


def named(text: str) -> Iterable[Named]:
    for part in sqlglot.parse_one(f"SELECT {text}", dialect="spark").expressions if text else ():
        yield Named(part.alias_or_name, expression(part.unalias().sql()))


def view(name: str, keys: str, measures: str, dimensions: str = "", where: str = "") -> CubeView:
    found = cube_view(plan(keys, measures, dimensions, where), SCHEMAS, name)
    assert isinstance(found, CubeView), found
    return found


COUNT_AND_QUANTITY = "COUNT(*) AS TotalCount, SUM(qty) AS TotalQuantity"
SID_SALES = view("SID_sales", "storeID, itemID, date", COUNT_AND_QUANTITY)
SCD_SALES = view("sCD_sales", "city, date", COUNT_AND_QUANTITY, "stores")
SIC_SALES = view(
    "SiC_sales",
    "storeID, category",
    "COUNT(*) AS TotalCount, MIN(date) AS EarliestSale, SUM(qty) AS TotalQuantity",
    "items",
)
SR_SALES = view("sR_sales", "region", COUNT_AND_QUANTITY, "stores")
FIGURE_1 = (SID_SALES, SCD_SALES, SIC_SALES, SR_SALES)

ROWS: dict[str, list[Row]] = {
    "stores": [(1, "Rome", "south"), (2, "Rome", "south"), (3, "Oslo", "north")],
    "items": [(10, "pen", "office", 1), (11, "ink", "office", 2), (12, "tea", "food", 3)],
    "pos": [
        (1, 10, 1, 5, 9),
        (1, 10, 1, 2, 9),
        (1, 12, 2, 1, 4),
        (2, 10, 2, 3, 9),
        (2, 11, 3, 4, 8),
        (3, 12, 1, 7, 4),
        (3, 11, 4, 1, 8),
    ],
}


class Retail:
    """The warehouse at two states, and what views have stored."""

    def __init__(
        self, rows: dict[str, list[Row]] | None = None, schemas: dict[str, TableSchema] | None = None
    ) -> None:
        self.con = duckdb.connect(config={"threads": 1})
        self.rows_of = {name: list(found) for name, found in (rows or ROWS).items()}
        for schema in (schemas or SCHEMAS).values():
            fields = ", ".join(
                f"{c.name} {'varchar' if c.type == 'string' else c.type}" for c in schema.columns
            )
            for name in (schema.name, f"{schema.name}__old"):
                self.con.execute(f"CREATE TABLE {name} ({fields})")
            self.con.execute(f"CREATE TABLE {schema.name}__delta ({fields}, __count bigint)")
        self._fill()

    def change(
        self, insert: dict[str, list[Row]] | None = None, delete: dict[str, list[Row]] | None = None
    ) -> BatchFacts:
        """Applies a batch; the state before it is OLD, and its net rows are DELTA."""
        insert, delete = insert or {}, delete or {}
        before = self.rows_of
        self.rows_of = {
            name: list((Counter(rows) - Counter(delete.get(name, []))).elements()) + insert.get(name, [])
            for name, rows in before.items()
        }
        self._fill(before)
        changed = frozenset(n for n in before if Counter(before[n]) != Counter(self.rows_of[n]))
        return BatchFacts(changed, insert_only=not any(delete.values()))

    def _fill(self, before: dict[str, list[Row]] | None = None) -> None:
        before = before or self.rows_of
        for name, rows in self.rows_of.items():
            net = Counter(rows)
            net.subtract(Counter(before[name]))
            self._put(name, rows)
            self._put(f"{name}__old", before[name])
            self._put(f"{name}__delta", [(*row, n) for row, n in net.items() if n])

    def _put(self, table: str, rows: Iterable[Row]) -> None:
        self.con.execute(f"DELETE FROM {table}")
        for row in rows:
            self.con.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def store(self, name: str, rel: Relation) -> Reference:
        self.con.execute(f"CREATE OR REPLACE TABLE {name} AS {render(rel, DUCKDB)}")
        return Reference(name, rel.columns)

    def rows(self, rel: Relation) -> set[Row]:
        found = self.con.execute(render(rel, DUCKDB)).fetchall()
        assert len(found) == len(set(found)), "a duplicate row"
        return set(found)

    def materialize(self, node: CubeView) -> None:
        """The view's state before the changes."""
        self.store(f"main_{node.name}", at(full_state(node), State.OLD, frozenset(SCHEMAS)))

    def stored(self, node: CubeView) -> Reference:
        return Reference(f"main_{node.name}", stored_columns(node))

    def refresh(
        self, node: CubeView, delta: Relation, batch: BatchFacts, weakly_minimal: bool = False
    ) -> RefreshLayers:
        """Refreshes the stored view; gives what was appended."""
        stored = self.stored(node)
        delta = self.store(f"sd_{node.name}", delta)
        done = refresh(node, delta, batch, stored, weakly_minimal=weakly_minimal)
        self.recomputed = set() if done.recomputed is None else self.rows(done.recomputed)
        result = merged(node, stored, done.layer)
        if done.override is not None:
            result = overridden(node, result, self.store("override", done.override))
        self.store(f"main_{node.name}", alive(node, result))
        return done
