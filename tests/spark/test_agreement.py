"""Where the engines are said to agree, the local one answers as Spark does, to the type and the last sign.

Random small plans over values at the ends of their types, NULL, NaN and −0.0: those that are said to agree,
and that the local engine answers, are asked of Spark in one batch.
"""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from random import Random

import sqlglot
from pyspark.sql import SparkSession

from tests.laws.held import held_rows
from viewkeeper.algebra.build import named_like
from viewkeeper.algebra.expressions import Named, Scalar, column, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    UnionAll,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.engine.local.run import here
from viewkeeper.engine.rows import Held
from viewkeeper.spark.frames import ddl
from viewkeeper.spark.session import settings
from viewkeeper.sql.render import render

PLANS = 60
VALUES: dict[str, tuple[str, tuple[object, ...]]] = {
    "y": ("tinyint", (None, -128, -1, 0, 127)),
    "a": ("int", (None, -(2**31), -1, 0, 2, 2**31 - 1)),
    "b": ("bigint", (None, -(2**63), -1, 0, 2, 2**63 - 1)),
    "s": ("string", (None, "", "a", "A", "é", "2", "a ")),
    "f": ("double", (None, float("nan"), 0.0, -0.0, 0.5)),
    "d": ("decimal(8,2)", (None, Decimal("0.00"), Decimal("-2.50"), Decimal("999999.99"))),
    "t": ("date", (None, datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(2026, 11, 18))),
    "g": ("boolean", (None, True, False)),
    "x": ("binary", (None, b"", b"a", b"b")),
}
COLUMNS = tuple(Column(name, kind) for name, (kind, _) in VALUES.items())
NAMES = tuple(VALUES)


def rows(dice: Random, count: int) -> Held:
    return held_rows(COLUMNS, [[dice.choice(of) for _, of in VALUES.values()] for _ in range(count)])


def parsed(text: str) -> Scalar:
    return sqlglot.parse_one(text, read="spark")


def scalar(dice: Random) -> str:
    one, other = dice.choice("yab"), dice.choice("yab")
    any_one = dice.choice(NAMES)
    return dice.choice(
        (
            *(
                any_one,
                f"{one} + {other}",
                f"{one} - 1",
                f"{one} * {other}",
                f"-{one}",
                f"coalesce({one}, 0)",
            ),
            *(f"coalesce({one}, {other}, -1)", f"CAST({one} AS BIGINT)", f"CAST({one} AS INT)"),
            *(f"CASE WHEN {condition(dice)} THEN {one} ELSE {other} END", "NULL", "7", "'z'", "3000000000"),
            *(
                f"CASE WHEN {condition(dice)} THEN {any_one} END",
                condition(dice),
                f"coalesce({any_one}, NULL)",
            ),
        )
    )


def condition(dice: Random, depth: int = 1) -> str:
    if depth and dice.random() < 0.5:
        one, other = condition(dice, depth - 1), condition(dice, depth - 1)
        return dice.choice((f"({one} AND {other})", f"({one} OR {other})", f"(NOT {one})"))
    of, number = dice.choice(NAMES), dice.choice("yab")
    compare = dice.choice(("=", "<>", "<", "<=", ">", ">=", "<=>"))
    return dice.choice(
        (
            *(f"({of} IS NULL)", f"({of} IS NOT NULL)", "g", f"({number} {compare} {dice.randint(-3, 3)})"),
            *(f"({number} {compare} {dice.choice('yab')})", f"({of} {compare} {of})", "(s = 'a')"),
            *(f"({of} IS DISTINCT FROM {of})", f"({of} {compare} NULL)", f"({number} {compare} 3000000000)"),
        )
    )


def call(dice: Random) -> str:
    of, number = dice.choice(NAMES), dice.choice("yab")
    plain = dice.choice(
        ("COUNT(*)", f"COUNT({of})", f"SUM({number})", f"MIN({of})", f"MAX({of})", f"MAX({scalar(dice)})")
    )
    if dice.random() < 0.3:
        return f"{plain} FILTER (WHERE {condition(dice)})"
    return dice.choice((plain, f"coalesce(SUM({number}), 0) - COUNT({of})", f"{plain} IS NULL"))


def plan(dice: Random, depth: int) -> Relation:
    """A plan that still has all columns of the table, but at its top."""
    if not depth:
        return Reference(dice.choice(("r", "q")), NAMES)
    below = plan(dice, depth - 1)
    match dice.randrange(4):
        case 0:
            return Filter(below, parsed(condition(dice)))
        case 1:
            return UnionAll((below, plan(dice, depth - 1)))
        case 2:
            other = named_like(plan(dice, depth - 1), tuple(f"{name}2" for name in NAMES))
            kind = dice.choice((JoinKind.SEMI, JoinKind.ANTI))
            return Join(below, other, kind, parsed(match(dice)))
        case _:
            return Project(below, (*same(NAMES[1:]), Named("y", parsed("CAST(y AS TINYINT)"))))


def match(dice: Random) -> str:
    pairs = ((name, dice.choice(("=", "=", "<=>"))) for name in dice.sample(NAMES, dice.choice((1, 1, 2))))
    return " AND ".join(f"{name} {equals} {name}2" for name, equals in pairs)


def top(dice: Random) -> Relation:
    below = plan(dice, dice.choice((0, 1, 1, 2)))
    match dice.randrange(5):
        case 0:
            return Distinct(Project(below, same(dice.sample(NAMES, 2))))
        case 1 | 2:
            keys = dice.sample(NAMES, dice.choice((0, 1, 1, 2)))
            calls = [Named(f"n{place}", parsed(call(dice))) for place in range(2)]
            return Aggregate(below, same(keys), tuple(calls))
        case 3:
            other = named_like(plan(dice, 0), tuple(f"{name}2" for name in NAMES))
            return Join(below, other, dice.choice((JoinKind.INNER, JoinKind.LEFT)), parsed(match(dice)))
        case _:
            return Project(below, tuple(Named(f"e{place}", parsed(scalar(dice))) for place in range(2)))


def text(value: object) -> str | None:
    """A value as Spark writes it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case bytes():
            return value.decode()
        case float() if value != value:
            return "NaN"
        case _:
            return str(value)


def written(held: Held) -> Counter[tuple[str | None, ...]]:
    values = [held.table[c.name].to_pylist() for c in held.columns]
    types = tuple(column.type for column in held.columns)
    return Counter((*types, *map(text, row)) for row in zip(*values, strict=True))


def asked(number: int, rel: Relation) -> str:
    """A plan's rows as texts, each after the types of its columns."""
    names = [column(name).sql(dialect="spark") for name in rel.columns]
    parts = [*(f"typeof({name})" for name in names), *(f"CAST({name} AS STRING)" for name in names)]
    return f"SELECT {number} AS n, array({', '.join(parts)}) AS row FROM ({render(rel)})"


def test_plans_that_agree_have_the_rows_that_spark_finds(spark: SparkSession) -> None:
    dice = Random(20261118)
    held = {"r": rows(dice, 12), "q": rows(dice, 6)}
    answers: dict[int, tuple[Relation, Held]] = {}
    tried = 0
    while len(answers) < PLANS:
        tried += 1
        rel = top(dice)
        found = here(rel, held)
        if found is not None and found.rows:
            answers[len(answers)] = rel, found
    assert tried < 30 * PLANS
    batch = " UNION ALL ".join(asked(number, rel) for number, (rel, _) in answers.items())
    with settings(spark):
        for name, own in held.items():
            spark.createDataFrame(own.table, ddl(COLUMNS)).createOrReplaceTempView(name)
        told: dict[int, Counter[tuple[str | None, ...]]] = {number: Counter() for number in answers}
        for number, row in spark.sql(batch).collect():
            told[number][tuple(row)] += 1
    for number, (rel, found) in answers.items():
        assert written(found) == told[number], render(rel)
