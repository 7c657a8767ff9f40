"""Signed rows are added up by what they show: −0.0 is another row than 0.0, in columns that hold floats."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from viewkeeper.algebra.counts import consolidated, plain
from viewkeeper.algebra.expressions import Named, Scalar, column
from viewkeeper.algebra.merge.net_effect import stored_rows
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Distinct,
    Filter,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.algebra.zeros import differs, float_columns, holds_floats, with_signs
from viewkeeper.sql.render import DUCKDB, render

ROWS = [(1, -0.0, 1), (1, 0.0, 1), (1, -0.0, 1), (2, -0.0, 1), (2, -0.0, -1), *[(3, math.nan, 1)] * 2]
GIVEN = [(1, 0.0), (1, 0.0), (2, 0.0)]
TYPES = {"t": {"k": "int", "x": "double", COUNT: "bigint"}}


def never(rel: Relation) -> dict[str, str]:
    raise AssertionError("types show in the plan")


def told(rel: Relation) -> Relation:
    return with_signs(rel, lambda leaf: TYPES[leaf.name] if isinstance(leaf, Reference) else {}, never)


def rows(rel: Relation) -> Counter[Any]:
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE t (k INT, x DOUBLE, {COUNT} BIGINT); CREATE TABLE given (k INT, x DOUBLE)"
    )
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    connection.executemany("INSERT INTO given VALUES (?, ?)", GIVEN)
    return Counter(tuple(map(repr, row)) for row in connection.execute(render(rel, DUCKDB)).fetchall())


LEAF = Reference("t", ("k", "x", COUNT))
BAG = Reference("t", ("k", "x"), counted=True)


def test_rows_are_added_up_by_the_signs_of_their_zeros() -> None:
    assert rows(told(consolidated(LEAF))) == Counter(
        {("1", "-0.0", "2"): 1, ("1", "0.0", "1"): 1, ("3", "nan", "2"): 1}
    )
    copies = Counter({("1", "-0.0"): 2, ("1", "0.0"): 1, ("3", "nan"): 2})
    assert rows(told(plain(BAG))) == copies
    assert sum(rows(told(plain(Distinct(BAG)))).values()) == 2
    assert rows(told(plain(Distinct(BAG, exact=True)))) == Counter(copies.keys())
    assert rows(told(Distinct(Reference("t", ("k", "x")), exact=True))) == Counter([*copies, ("2", "-0.0")])


def scan(kind: str) -> Scan:
    bound = (Column("k", "int"), Column("x", kind), Column(COUNT, "bigint"))
    return Scan("t", tuple(Bound(one.name, one) for one in bound))


def values(rel: Relation, expr: Scalar) -> Relation:
    return Project(rel, (Named("v", expr), Named(COUNT, column(COUNT))))


@pytest.mark.parametrize("kind", ["int", "decimal(10,2)", "string", "array<int>", "struct<float:int>"])
def test_plans_without_floats_stay_as_they_are(kind: str) -> None:
    stored = scan(kind)
    some = [
        stored,
        Filter(stored, exp.GT(this=column("k"), expression=exp.Literal.number(1))),
        UnionAll((stored, stored)),
        values(stored, exp.Add(this=column("k"), expression=exp.Literal.number("1.5"))),
        values(stored, exp.Coalesce(this=column("x"), expressions=[exp.null()])),
        values(stored, exp.cast(column("x"), "date")),
        values(stored, exp.EQ(this=column("x"), expression=column("k"))),
    ]
    for rel in some:
        assert told(consolidated(rel)) == consolidated(rel)


@pytest.mark.parametrize(
    "expr",
    [
        exp.Div(this=column("k"), expression=column("k")),
        exp.Add(this=column("k"), expression=exp.Literal.string("1")),
        exp.Mul(this=column("k"), expression=exp.Literal.number("1e0")),
        exp.func("sqrt", column("k")),
        exp.Coalesce(this=exp.cast(column("k"), "double"), expressions=[column("k")]),
    ],
)
def test_types_that_do_not_show_are_asked_for(expr: Scalar) -> None:
    """Asked once; what is a float is told apart, what is none is left."""
    plan = consolidated(values(scan("int"), expr))
    for kind in ("double", "bigint"):
        asked: list[Relation] = []

        def ask(rel: Relation, kind: str = kind, asked: list[Relation] = asked) -> dict[str, str]:
            asked.append(rel)
            return {"v": kind, COUNT: "bigint"}

        found = with_signs(plan, lambda leaf: {}, ask)
        assert [type(rel) for rel in asked] == [Aggregate]
        assert (found == plan) == (kind == "bigint")


def test_values_differ_by_the_signs_of_zeros() -> None:
    both = Project(LEAF, (Named("x", column("x")), Named("y", exp.Neg(this=column("x")))))
    for exact, number in ((True, 5), (False, 0)):
        test = Filter(both, differs(column("x"), column("y"), exact))
        plan = with_signs(test, lambda leaf: TYPES["t"], lambda rel: {"x": "double", "y": "double"})
        assert sum(rows(plan).values()) == number


def test_which_types_hold_floats() -> None:
    kinds = [
        "double",
        "array<float>",
        "struct<a:map<string,double>>",
        "int",
        "struct<double:int>",
        "decimal(3,1)",
    ]
    assert [holds_floats(kind) for kind in kinds] == [True, True, True, False, False, False]
    assert float_columns((Column("x", "float"), Column("k", "int"))) == {"x": "float"}


def test_given_rows_stand_for_the_same_ones_then_for_equal_ones() -> None:
    """(1, 0.0) is given twice: the 0.0 goes, and one of two −0.0. (2, 0.0) is not there, so it is missed."""
    plan = told(stored_rows(BAG, Reference("given", ("k", "x")), {"x": "double"}))
    assert rows(plan) == Counter({("1", "0.0"): 1, ("1", "-0.0"): 1, ("2", "0.0"): 1})
