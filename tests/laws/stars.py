"""Random star schemas, cube views over them, and batches of changes, for the laws of mumick97.

The fact table f refers to da and db, and da to r (a snowflake). Whether foreign keys are declared and
NOT NULL is random; where they are, the data obeys them. The chain a1 > a2 holds in every state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, column
from viewkeeper.algebra.relations import Aggregate, Bound, Filter, Join, JoinKind, Project, Relation, Scan
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.recognise import cube_view
from viewkeeper.sql.render import DUCKDB, render

Row = tuple[Any, ...]
State = dict[str, list[Row]]
TABLES = {
    "f": ("a", "b", "t", "m", "x"),
    "da": ("a", "a1", "a2", "p"),
    "db": ("b", "b1"),
    "r": ("p", "r1"),
}
KEYS = ("a", "b", "t", "a1", "a2", "b1", "r1", "t % 2", "a1 + t")
MEASURES = (
    "COUNT(*)",
    "COUNT(m)",
    "SUM(m)",
    "AVG(m)",
    "MIN(m)",
    "MAX(m)",
    "MIN(t)",
    "SUM(t)",
    "COUNT(t)",
    "MAX(a2)",
    "SUM(m * t)",
    "SUM(r1)",
    "MIN(b1)",
    "SUM(m) FILTER (WHERE t > 1)",
    "MAX(x)",
    "COUNT(a1)",
    "SUM(x)",
)
WHERE = ("m > 0", "t <= 2", "a2 = 1", "b1 IS NOT NULL", "x <> 0")


def expression(text: str) -> Scalar:
    """SQL text as a scalar over plan columns."""
    parsed = sqlglot.parse_one(text, dialect="spark")
    return parsed.transform(lambda n: column(n.name) if isinstance(n, exp.Column) else n)


def schemas(rng: Random) -> dict[str, TableSchema]:
    strict = {name: rng.random() < 0.5 for name in ("a", "b", "p")}
    counted = rng.random() < 0.5

    def table(name: str, key: tuple[str, ...], links: dict[str, str], hierarchy: str = "") -> TableSchema:
        columns = tuple(Column(c, "int", c not in key and not strict.get(c, False)) for c in TABLES[name])
        foreign = tuple(ForeignKey((c,), to, (c,)) for c, to in links.items() if strict[c])
        properties = (("viewkeeper.hierarchy", hierarchy),) if hierarchy else ()
        return TableSchema(name, columns, key, foreign, (*properties, ("counted", str(counted))))

    return {
        "f": table("f", (), {"a": "da", "b": "db"}),
        "da": table("da", ("a",), {"p": "r"}, "a > a1 > a2"),
        "db": table("db", ("b",), {}),
        "r": table("r", ("p",), {}),
    }


def _value(rng: Random, low: int, high: int, nullable: bool) -> int | None:
    return None if nullable and rng.random() < 0.2 else rng.randint(low, high)


def dimensions(rng: Random, known: dict[str, TableSchema], before: State | None) -> State:
    """Dimension tables; given earlier ones, the same with some rows moved, dropped or added."""
    if before is None or rng.random() < 0.25:
        r = [(p, _value(rng, 0, 2, True)) for p in range(3)]
    else:
        r = before["r"]
    regions = {a1: _value(rng, 1, 2, True) for a1 in (None, 1, 2, 3)}
    if before is not None and rng.random() < 0.6:
        regions.update({a1: a2 for _, a1, a2, _ in before["da"]})
    da = []
    for a in range(4):
        old = next((row for row in before["da"] if row[0] == a), None) if before else None
        a1 = old[1] if old and rng.random() < 0.7 else _value(rng, 1, 3, True)
        p = old[3] if old and rng.random() < 0.7 else _value(rng, 0, 2, known["da"].column("p").nullable)
        da.append((a, a1, regions[a1], p))
    db = before["db"] if before and rng.random() < 0.5 else [(b, _value(rng, 1, 2, True)) for b in range(3)]
    if not known["f"].column("a").nullable:
        return {"r": r, "da": da, "db": db}
    return {"r": r, "da": [row for row in da if row[0] < 3 or rng.random() < 0.5], "db": db}


def facts(rng: Random, known: dict[str, TableSchema], count: int) -> list[Row]:
    nullable = {c.name: c.nullable for c in known["f"].columns}
    return [
        (
            _value(rng, 0, 3, nullable["a"]),
            _value(rng, 0, 2, nullable["b"]),
            _value(rng, 1, 3, True),
            _value(rng, -2, 3, True),
            rng.randint(0, 2),
        )
        for _ in range(count)
    ]


@dataclass(frozen=True)
class Change:
    """The state after a batch, which tables changed, and whether it only inserted."""

    after: State
    changed: frozenset[str]
    insert_only: bool


def change(rng: Random, known: dict[str, TableSchema], before: State) -> Change:
    what = rng.choice(("insert", "fact", "dimensions", "both"))
    after = {name: list(rows) for name, rows in before.items()}
    if what in ("dimensions", "both"):
        after.update(dimensions(rng, known, before))
    if what != "dimensions":
        kept = after["f"]
        if what != "insert":
            share = rng.choice((0.2, 0.5, 1.0))
            kept = [row for row in kept if rng.random() > share]
        after["f"] = kept + facts(rng, known, rng.randint(0, 5))
    changed = frozenset(name for name in TABLES if Counter(after[name]) != Counter(before[name]))
    return Change(after, changed, what == "insert")


def view(rng: Random, known: dict[str, TableSchema], name: str, fine: bool = False) -> CubeView:
    """A random cube view; a fine one groups by all columns that others may need."""
    keys = ("a", "b", "t") if fine else tuple(rng.sample(KEYS, rng.randint(0, 3)))
    measures = tuple(rng.sample(MEASURES, rng.randint(0 if keys else 1, 4)))
    where = () if fine or rng.random() < 0.7 else (rng.choice(WHERE),)
    joins = {t for t in ("da", "db") if rng.random() < 0.15}
    return built(known, name, keys, measures, where, joins)


def built(
    known: dict[str, TableSchema],
    name: str,
    keys: Iterable[str],
    measures: Iterable[str],
    where: Iterable[str] = (),
    joins: Iterable[str] = (),
) -> CubeView:
    """A cube view from SQL texts; dimensions are joined where a column of theirs is used."""
    plan = query(known, keys, measures, where, joins)
    found = cube_view(plan, known, name)
    assert isinstance(found, CubeView), found
    return found


def query(
    known: dict[str, TableSchema],
    keys: Iterable[str],
    measures: Iterable[str],
    where: Iterable[str] = (),
    joins: Iterable[str] = (),
) -> Relation:
    keys, measures, where = tuple(keys), tuple(measures), tuple(where)
    used = {c.name for text in (*keys, *measures, *where) for c in expression(text).find_all(exp.Column)}
    tables = {*joins, *(t for t in ("da", "db", "r") if used & set(TABLES[t][1:]) - {"p"})}
    rel = _scan(known, "f")
    if tables & {"da", "r"}:
        rel = Join(rel, _scan(known, "da"), JoinKind.INNER, expression("a = da_a"))
    if "r" in tables:
        rel = Join(rel, _scan(known, "r"), JoinKind.INNER, expression("p = r_p"))
    if "db" in tables:
        rel = Join(rel, _scan(known, "db"), JoinKind.INNER, expression("db_b = b"))
    for text in where:
        rel = Filter(rel, expression(text))
    grouped = Aggregate(
        rel,
        tuple(Named(f"k{i}", expression(text)) for i, text in enumerate(keys)),
        tuple(Named(f"v{i}", expression(text)) for i, text in enumerate(measures)),
    )
    return (
        Project(grouped, tuple(Named(c, column(c)) for c in grouped.columns)) if grouped.columns else grouped
    )


def _scan(known: dict[str, TableSchema], table: str) -> Scan:
    own = known[table].key if table != "f" else ()
    bound = tuple(Bound(f"{table}_{c.name}" if c.name in own else c.name, c) for c in known[table].columns)
    return Scan(table, bound, counted=known[table].property("counted") == "True")


class Database:
    """DuckDB tables for the states of the star, and for stored states and layers of views."""

    def __init__(self) -> None:
        self.con = duckdb.connect(config={"threads": 1})
        for table, columns in TABLES.items():
            fields = ", ".join(f"{c} int" for c in columns)
            self.con.execute(f"CREATE TABLE {table} ({fields}); CREATE TABLE {table}__old ({fields})")
            for signed in ("__delta", "__counted", "__old__counted"):
                self.con.execute(f"CREATE TABLE {table}{signed} ({fields}, __count bigint)")

    def load(self, before: State, after: State) -> None:
        script = []
        for table in TABLES:
            delta = Counter(after[table])
            delta.subtract(Counter(before[table]))
            script += [_fill(f"{table}__old", before[table]), _fill(table, after[table])]
            changes = [(*row, n) for row, n in delta.items() if n]
            log = [(*row, 1) for row in before[table]]
            script += [_fill(f"{table}__delta", changes), _fill(f"{table}__counted", log + changes)]
            script.append(_fill(f"{table}__old__counted", log))
        self.con.execute(";".join(script))

    def store(self, name: str, rel: Relation) -> None:
        self.con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {_sql(rel)}")

    def rows(self, rel: Relation) -> Counter[Row]:
        return Counter(self.con.execute(_sql(rel)).fetchall())


def _sql(rel: Relation) -> str:
    """A scan that asks for counts reads the table's signed log, in which nothing has been consolidated."""
    return render(rel, DUCKDB, pretty=False)


def _fill(name: str, rows: Iterable[Row]) -> str:
    text = ", ".join("(" + ", ".join("NULL" if v is None else str(v) for v in row) + ")" for row in rows)
    return f"TRUNCATE {name}" + (f"; INSERT INTO {name} VALUES {text}" if text else "")
