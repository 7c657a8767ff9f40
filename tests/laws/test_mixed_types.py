"""Joins that compare columns of different types: '1' and '01' both equal 1, and differ from each other.

The delta law, and that of ID-based scripts, over tables whose keys are of five types.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.maintenance.id_diffs.stage import Stage, at
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.relations import Relation, State
from viewkeeper.algebra.schema import COUNT, Column, TableSchema
from viewkeeper.delta import delta
from viewkeeper.maintenance.id_diffs import Caching, IdView, define
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

Row = tuple[Any, ...]
pytestmark = pytest.mark.timeout(0)
seeds = st.integers(min_value=0, max_value=2**40)

KEYS: dict[str, tuple[str, list[Any]]] = {
    "p": ("int", [1, 2, 3, 4]),
    "s": ("string", ["1", "01", "2", "3", " 2", "+4"]),
    "d": ("decimal(5,1)", [1.0, 2.0, 2.5, 3.0]),
    "f": ("double", [1.0, 2.0, 2.5, 3.0]),
    "g": ("bigint", [1, 2, 3, 4]),
}
LINKS: dict[str, tuple[str, list[Any]]] = {
    "a": ("int", [1, 2, 3, None]),
    "b": ("string", ["1", "01", "2", " 2", None]),
    "c": ("decimal(6,2)", [1.0, 2.0, 2.5, None]),
    "e": ("double", [1.0, 2.0, 2.5, None]),
    "h": ("bigint", [1, 2, 3, None]),
}
DIMENSIONS = [
    TableSchema(name, (Column("id", kind, False), Column("w", "int"), Column("x", "int")), ("id",))
    for name, (kind, _) in KEYS.items()
]
LINKED = tuple(Column(name, kind) for name, (kind, _) in LINKS.items())
SCHEMAS = {
    schema.name: schema
    for schema in (
        *DIMENSIONS,
        TableSchema("t", (Column("i", "int", False), *LINKED, Column("v", "int")), ("i",)),
    )
}


@cache
def stage() -> Stage:
    return Stage(SCHEMAS.values())


def query(random: Random) -> str:
    """A query, and often the same with keys whose types do not show: those of expressions."""
    text = _query(random)
    for name in (*KEYS, "t") if random.random() < 0.5 else ():
        if random.random() < 0.5:
            text = re.sub(rf"\b(FROM|JOIN) {name}\b", rf"\1 {_of_unknown_types(name)} {name}", text)
    return text


def _of_unknown_types(table: str) -> str:
    names = LINKS if table == "t" else ("id",)
    hidden = ", ".join(f"coalesce({name}, {name}) AS {name}" for name in names)
    shown = "i, v" if table == "t" else "w, x"
    return f"(SELECT {hidden}, {shown} FROM {table})"


def _query(random: Random) -> str:
    one, two = random.sample(list(LINKS), 2)
    a, b = random.sample(list(KEYS), 2)
    equal, also = random.choice(["=", "=", "<=>"]), random.choice(["=", "<=>"])
    call = random.choice(["SUM(t.v)", "COUNT(*)", "MAX(t.v)", "COUNT(t.v)"])
    join = random.choice(["JOIN", "RIGHT JOIN", "LEFT JOIN", "FULL JOIN"])
    exists = random.choice(["EXISTS", "NOT EXISTS"])
    groups = f"(SELECT t.{one} AS k, {call} AS n FROM t GROUP BY t.{one}) q"
    others = f"(SELECT t.{two} AS k, COUNT(t.v) AS m FROM t GROUP BY t.{two}) z"
    return random.choice(
        [
            f"SELECT t.i, {a}.id AS k, {a}.w, t.v FROM t {join} {a} ON t.{one} {equal} {a}.id",
            f"SELECT i, v FROM t WHERE {exists} (SELECT 1 FROM {a} WHERE t.{one} {equal} {a}.id AND x = 1)",
            f"SELECT id, w FROM {a} WHERE {exists} (SELECT 1 FROM t WHERE t.{one} {equal} {a}.id AND v > 1)",
            f"SELECT {a}.id, {call} AS n FROM t {join} {a} ON t.{one} {equal} {a}.id GROUP BY {a}.id",
            f"SELECT t.{one}, SUM({a}.w) AS n FROM t {join} {a} ON t.{one} {equal} {a}.id GROUP BY t.{one}",
            f"SELECT i, {a}.w, {b}.id FROM t JOIN {a} ON {one} = {a}.id {join} {b} ON {a}.id {also} {b}.id",
            f"SELECT q.k, q.n, {b}.w FROM {groups} {join} {b} ON q.k {equal} {b}.id",
            f"SELECT q.k, q.n, z.k AS o, z.m FROM {groups} {join} {others} ON q.k {equal} z.k",
            f"SELECT {a}.id, {b}.id AS j, {a}.w FROM {a} {join} {b} ON {a}.id {equal} {b}.id",
        ]
    )


def row(random: Random, table: str, key: Any) -> Row:
    if table != "t":
        return key, random.choice([1, 2, None]), random.choice([0, 1, 2])
    return key, *(random.choice(values) for _, values in LINKS.values()), random.choice([1, 2, 3, None])


def keys_of(table: str) -> list[Any]:
    return list(range(7)) if table == "t" else KEYS[table][1]


def changed(random: Random, table: str, rows: dict[Any, Row]) -> dict[Any, Row]:
    """Some keys come, go, or have other values."""
    after = dict(rows)
    for key in random.sample(keys_of(table), random.choice([0, 1, 2])):
        if after.pop(key, None) is None or random.random() < 0.6:
            after[key] = row(random, table, key)
    return after


def load(random: Random) -> None:
    before = {
        table: {key: row(random, table, key) for key in keys_of(table) if random.random() < 0.7}
        for table in SCHEMAS
    }
    after = {table: changed(random, table, rows) for table, rows in before.items()}
    stage().load({t: r.values() for t, r in before.items()}, {t: r.values() for t, r in after.items()})


def plan_of(random: Random) -> Relation:
    relation = parse_view(query(random), StaticCatalog(tuple(SCHEMAS.values()))).relation
    assert relation is not None
    return relation


@cases(12)
@given(seeds)
@example(1)
@example(27)
def test_the_delta_law(seed: int) -> None:
    random = Random(seed)
    plan = plan_of(random)
    change = weighted(delta(plan, frozenset(SCHEMAS)))
    for _ in range(4):
        load(random)
        found = stage().rows(at(plan, State.OLD))
        for *values, count in stage().rows(change, (*plan.columns, COUNT)).elements():
            found[tuple(values)] += count
        assert Counter({key: n for key, n in found.items() if n}) == stage().rows(plan)


@cases(12)
@given(seeds)
@example(15)
@example(52242122)
def test_id_based_scripts(seed: int) -> None:
    random = Random(seed)
    plan = plan_of(random)
    definition = define("v", plan, SCHEMAS, caching=random.choice(list(Caching)))
    assume(isinstance(definition, IdView))
    assert isinstance(definition, IdView)
    script = definition.script()
    for _ in range(4):
        load(random)
        stage().populate(script)
        stage().execute(script)
        assert stage().rows("v", script.visible) == stage().rows(plan)


@pytest.mark.parametrize("exists", ["EXISTS", "NOT EXISTS"])
@pytest.mark.parametrize(("table", "link"), [("s", "a"), ("s", "h"), ("s", "c"), ("p", "b"), ("d", "e")])
def test_ids_do_not_pass_where_types_do_not_show(exists: str, table: str, link: str) -> None:
    """The type of an expression is not known: '1' and '01' are both equal to what it gives."""
    linked = f"(SELECT coalesce({link}, {link}) AS k, i FROM t) q"
    text = f"SELECT id, w FROM {table} WHERE {exists} (SELECT 1 FROM {linked} WHERE q.k = {table}.id)"
    plan = parse_view(text, StaticCatalog(tuple(SCHEMAS.values()))).relation
    assert plan is not None
    definition = define("v", plan, SCHEMAS)
    assert isinstance(definition, IdView)
    for seed in range(6):
        load(Random(seed))
        stage().populate(definition.script())
        stage().execute(definition.script())
        assert stage().rows("v", definition.visible) == stage().rows(plan)
