"""Table 1, hidden columns, components, multi-valued dependencies, refusals."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tests.maintenance.id_diffs.devices import table
from viewkeeper.algebra.expressions import Named, column, equal, literal, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Difference,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    TopK,
    UnionAll,
)
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.maintenance.id_diffs import Caching, IdView, define
from viewkeeper.maintenance.id_diffs.caches import ChangeSource
from viewkeeper.maintenance.id_diffs.ids import Component, Subview, multivalued
from viewkeeper.maintenance.id_diffs.infer import infer_ids
from viewkeeper.report import Reason

TABLES = {
    "r": table("r", ("i",), i="int", a="int", b="int"),
    "s": table("s", ("j", "k"), j="int", k="int", c="int"),
    "f": table("f", ("m",), m="int", x="double"),
    "loose": TableSchema("loose", (Column("z", "int"),)),
}


def scan(name: str, *columns: str) -> Scan:
    wanted = columns or TABLES[name].names
    return Scan(name, tuple(Bound(c, TABLES[name].column(c)) for c in wanted))


def inferred(plan: Relation) -> Subview:
    found = infer_ids(plan, TABLES)
    assert isinstance(found, Subview), found
    return found


def joined(on: exp.Expr, kind: JoinKind = JoinKind.INNER) -> Relation:
    return Join(scan("r"), scan("s"), kind, on)


def only(name: str, *columns: str) -> Relation:
    return Project(scan(name), same(columns))


I_IS_J = equal(column("i"), column("j"))
TABLE_1 = {
    "scan": (scan("s"), ("j", "k")),
    "selection": (Filter(scan("r"), equal(column("a"), literal(1))), ("i",)),
    "projection": (Project(scan("r"), same(("i", "a"))), ("i",)),
    "product": (joined(exp.true()), ("i", "j", "k")),
    "join": (joined(equal(column("a"), column("c"))), ("i", "j", "k")),
    "join that equates IDs": (joined(I_IS_J), ("i", "k")),
    "antisemijoin": (joined(I_IS_J, JoinKind.ANTI), ("i",)),
    "semijoin": (joined(I_IS_J, JoinKind.SEMI), ("i",)),
    "union": (UnionAll((only("r", "i"), only("f", "m"))), ("i", "__branch")),
    "group by": (Aggregate(scan("r"), same(("a",)), ()), ("a",)),
    "one group": (Aggregate(scan("r"), (), (Named("n", exp.Max(this=column("a"))),)), ()),
    "duplicate elimination": (Distinct(Project(scan("r"), same(("a", "b")))), ("a", "b")),
    "difference": (Difference(only("r", "a"), only("s", "c"), all=False), ("a",)),
}  # fmt: skip


@pytest.mark.parametrize("operator", TABLE_1)
def test_table_1(operator: str) -> None:
    plan, ids = TABLE_1[operator]
    assert inferred(plan).ids == ids


def test_a_view_that_lacks_an_id_holds_it_hidden() -> None:
    found = inferred(Project(scan("r", "a"), same(("a",))))
    assert found.columns == ("a", "__id_i")
    assert found.ids == ("__id_i",)


def test_a_name_that_means_something_else_is_not_taken_for_the_id() -> None:
    found = inferred(Project(scan("r"), (Named("i", column("a")),)))
    assert found.columns == ("i", "__id_i")
    assert found.ids == ("__id_i",)


def test_a_union_keeps_ids_apart_that_are_attributes_in_another_branch() -> None:
    found = inferred(UnionAll((Project(scan("r"), same(("i",))), Project(scan("s"), same(("c",))))))
    assert found.columns == ("i", "__id_i", "__id_j_2", "__id_k_2", "__branch")
    assert found.ids == ("__id_i", "__id_j_2", "__id_k_2", "__branch")


def test_components_have_their_own_attributes_and_functions_span_them() -> None:
    plan = Project(
        joined(equal(column("a"), column("c"))),
        (*same(("i", "j", "k", "b")), Named("f", exp.Add(this=column("b"), expression=column("c")))),
    )
    assert inferred(plan).components == (
        Component(("i",), ("b",)),
        Component(("j", "k"), ()),
        Component(("i", "j", "k"), ("f",)),
    )


REFUSED = {
    "no-key": scan("loose"),
    "outer-join": joined(I_IS_J, JoinKind.LEFT),
    "operator": TopK(scan("r"), (), 3),
}


@pytest.mark.parametrize("code", REFUSED)
def test_refusals_are_values_with_a_code_and_a_sentence(code: str) -> None:
    found = define("v", Filter(REFUSED[code], exp.true()), TABLES)
    assert isinstance(found, Reason)
    assert found.code == code
    assert found.sentence.endswith(".")


@pytest.mark.parametrize(
    ("on", "many"),
    [
        (equal(column("a"), column("c")), True),
        (exp.true(), True),
        (equal(column("i"), column("c")), False),
        (equal(column("a"), column("j")), True),
        (exp.and_(equal(column("a"), column("j")), equal(column("b"), column("k"))), False),
    ],
    ids=["attributes", "product", "key of the left", "part of a key", "key of the right"],
)
def test_multivalued_dependencies(on: exp.Expr, many: bool) -> None:
    plan = joined(on)
    assert multivalued(inferred(plan)) == many
    grouped = Aggregate(plan, same(("b",)), (Named("n", exp.Sum(this=column("c"))),))
    whole = define("v", grouped, TABLES)
    assert isinstance(whole, IdView)
    assert set(whole.caches.sources.values()) == {ChangeSource.QUERIED if many else ChangeSource.STORED}
    assert bool(whole.script().caches) == (not many)
    always = define("v", grouped, TABLES, caching=Caching.ALWAYS)
    assert isinstance(always, IdView)
    assert len(always.script().caches) == 1


def test_an_aggregate_of_one_table_needs_no_cache() -> None:
    whole = define("v", Aggregate(scan("r"), same(("a",)), (Named("n", exp.Sum(this=column("b"))),)), TABLES)
    assert isinstance(whole, IdView)
    assert whole.script().caches == ()
    assert set(whole.caches.sources.values()) == {ChangeSource.TABLES}


def test_having_needs_a_cache_after_the_aggregate() -> None:
    grouped = Aggregate(scan("r"), same(("a",)), (Named("n", exp.Sum(this=column("b"))),))
    whole = define("v", Filter(grouped, exp.GT(this=column("n"), expression=literal(3))), TABLES)
    assert isinstance(whole, IdView)
    assert [cache.ids for cache in whole.script().caches] == [("a",)]


def test_floating_point_sums_are_computed_again() -> None:
    exact = inferred(Aggregate(scan("r"), same(("a",)), (Named("n", exp.Sum(this=column("b"))),)))
    floating = inferred(Aggregate(scan("f"), same(("m",)), (Named("n", exp.Sum(this=column("x"))),)))
    assert exact.columns == ("a", "n", "__n", "__rows")
    assert floating.columns == ("m", "n")
