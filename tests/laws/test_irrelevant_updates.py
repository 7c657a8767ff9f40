"""Laws of irrelevant updates.

- *Sound*: changes that the filter drops, of all tables at once, change no view, whatever else happens.
- *Complete* (Theorem 4.1): for conjunctions of x op y, x op c, x op y + c over integers a tuple is kept
  exactly when C(t, Y2) is satisfiable, and then a database in which it changes the view is built as the
  paper's proof builds it. The oracle substitutes tuple by tuple and runs Bellman and Ford's algorithm,
  so that it shares nothing with the compiled filter.
- *Together* (Theorem 4.2): the same for pairs of tuples of two relations.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, reduce

import duckdb
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from tests.laws.irrelevant_views import TABLES, Views, scalar
from tests.laws.settings import cases
from tests.reference.relevance_together import irrelevant_together, relevance, relevance_together
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.relations import Bound, Filter, Join, JoinKind, Relation, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import base_tables
from viewkeeper.sql.render import DUCKDB, render, render_expression

INTEGERS = {"i": ("A", "B"), "j": ("C", "D"), "l": ("E", "F")}
SEEDS = st.integers(0, 2**40)
_DUCKDB_TYPES = {"string": "varchar", "timestamp_ntz": "timestamp"}


@cache
def connection() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 1})
    for table, columns in TABLES.items():
        fields = ", ".join(f"{c.name} {_DUCKDB_TYPES.get(c.type, c.type)}" for c in columns)
        con.execute(f"CREATE TABLE {table} ({fields})")
    for table, names in INTEGERS.items():
        con.execute(f"CREATE TABLE {table} ({', '.join(f'{name} int' for name in names)})")
    return con


def fill(rows: Mapping[str, Iterable[tuple[object, ...]]]) -> None:
    script = []
    for table, have in rows.items():
        values = ", ".join(f"({', '.join(map(str, row))})" for row in have)
        script.append(f"TRUNCATE {table}" + (f"; INSERT INTO {table} VALUES {values}" if values else ""))
    connection().execute(";".join(script))


def value(rel: Relation) -> Counter[str]:
    return Counter(map(str, connection().execute(render(plain(rel), DUCKDB)).fetchall()))


def kept_of(table: str, rows: list[tuple[object, ...]], test: Scalar) -> list[bool]:
    """For each row whether the filter keeps it, as a WHERE clause would."""
    fill({table: rows})
    text = render_expression(test, DUCKDB)
    found = connection().execute(f"SELECT coalesce({text}, FALSE) FROM {table} ORDER BY rowid").fetchall()
    return [keep for (keep,) in found]


@cases(150)
@given(SEEDS)
@example(292681)
def test_a_dropped_change_never_changes_the_view(seed: int) -> None:
    views = Views(random.Random(seed))
    rel = views.view()
    tables = base_tables(rel)
    rows = {table: [views.row(table) for _ in range(views.dice.randint(0, 4))] for table in tables}
    changes = {table: [views.row(table) for _ in range(6)] for table in tables}
    dropped, kept = {}, {}
    for table in tables:
        keep = kept_of(table, changes[table], relevance(rel, table))
        dropped[table] = [row for row, k in zip(changes[table], keep, strict=True) if not k]
        kept[table] = [row for row, k in zip(changes[table], keep, strict=True) if k]
    for base in (rows, {table: rows[table] + kept[table] for table in tables}):
        fill(base)
        before = value(rel)
        fill({table: base[table] + dropped[table] for table in tables})
        assert value(rel) == before


Atom = tuple[str, str, str | None, int]
"""x op y + c, or x op c without a y."""


def draw_atoms(dice: random.Random) -> list[Atom]:
    names = [name for table in INTEGERS.values() for name in table]
    atoms: list[Atom] = []
    for _ in range(dice.randint(1, 7)):
        left, right = dice.sample(names, 2)
        operator = dice.choice(("=", "<", ">", "<=", ">="))
        atoms.append((left, operator, right if dice.random() < 0.7 else None, dice.randint(-4, 4)))
    return atoms


def product_view(atoms: list[Atom]) -> Relation:
    scans = [
        Scan(table, tuple(Bound(name, Column(name, "int")) for name in names))
        for table, names in INTEGERS.items()
    ]
    joined: Relation = reduce(lambda left, right: Join(left, right, JoinKind.INNER, exp.true()), scans)
    texts = [f"{x} {op} {f'{y} + {c}' if y else c}" for x, op, y, c in atoms]
    return Filter(joined, scalar(" AND ".join(texts)))


def solved(atoms: list[Atom], fixed: Mapping[str, int]) -> dict[str, int] | None:
    """Values for all attributes that fulfil the conjunction; None when there are none.

    `x <= y + w` is an edge from y to x; the distances from a source are a solution (Bellman, Ford).
    """
    edges: list[tuple[str, str, int]] = []
    for x, operator, y, c in [*atoms, *((name, "=", None, number) for name, number in fixed.items())]:
        if operator in ("=", "<=", "<"):
            edges.append((y or "0", x, c - (operator == "<")))
        if operator in ("=", ">=", ">"):
            edges.append((x, y or "0", -c - (operator == ">")))
    names = ["0", *(name for table in INTEGERS.values() for name in table)]
    distance = dict.fromkeys(names, 0)
    for _ in names:
        for start, end, weight in edges:
            distance[end] = min(distance[end], distance[start] + weight)
    if any(distance[start] + weight < distance[end] for start, end, weight in edges):
        return None
    return {name: distance[name] - distance["0"] for name in names[1:]}


@cases(200)
@given(SEEDS)
def test_a_change_is_kept_exactly_when_some_database_shows_it(seed: int) -> None:
    dice = random.Random(seed)
    atoms = draw_atoms(dice)
    rel, table = product_view(atoms), dice.choice(sorted(INTEGERS))
    rows = [tuple(dice.randint(-5, 5) for _ in INTEGERS[table]) for _ in range(12)]
    kept = kept_of(table, rows, relevance(rel, table))
    models = [solved(atoms, dict(zip(INTEGERS[table], row, strict=True))) for row in rows]
    assert kept == [model is not None for model in models]
    for row, model in [(row, model) for row, model in zip(rows, models, strict=True) if model][:2]:
        fill({t: [] if t == table else [tuple(model[n] for n in INTEGERS[t])] for t in INTEGERS})
        assert not value(rel)
        fill({table: [row]})
        assert sum(value(rel).values()) == 1


@cases(150)
@given(SEEDS)
def test_two_tuples_are_irrelevant_together_exactly_when_they_never_meet(seed: int) -> None:
    dice = random.Random(seed)
    atoms = draw_atoms(dice)
    rel, tables = product_view(atoms), tuple(dice.sample(sorted(INTEGERS), 2))
    rows = [[tuple(dice.randint(-5, 5) for _ in INTEGERS[t]) for _ in range(5)] for t in tables]
    fill(dict(zip(tables, rows, strict=True)))
    names = {f"{t}.{n}": exp.column(n, t) for t in tables for n in INTEGERS[t]}
    tests = [relevance_together(rel, tables), irrelevant_together(rel, tables)]
    keep, drop = (_qualified(test, names).sql(dialect=DUCKDB) for test in tests)
    columns = ", ".join(f"{t}.{n}" for t in tables for n in INTEGERS[t])
    found = (
        connection()
        .execute(f"SELECT coalesce({keep}, FALSE), {drop}, {columns} FROM {tables[0]}, {tables[1]}")
        .fetchall()
    )
    fields = [name for t in tables for name in INTEGERS[t]]
    for kept, irrelevant, *numbers in found:
        model = solved(atoms, dict(zip(fields, numbers, strict=True)))
        assert (kept, irrelevant) == (model is not None, model is None)


def _qualified(test: Scalar, names: Mapping[str, exp.Column]) -> Scalar:
    def swap(node: exp.Expression) -> exp.Expression:
        return names[node.name].copy() if isinstance(node, exp.Column) else node

    return test.transform(swap)
