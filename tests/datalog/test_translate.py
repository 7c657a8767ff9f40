"""Datalog as algebra, in the plans' own text."""

from __future__ import annotations

from textwrap import dedent

from tests.datalog.interpreter import Bag, Database
from viewkeeper.algebra.relations import Fixpoint
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import scans
from viewkeeper.datalog.parse import parse_program
from viewkeeper.datalog.translate import DerivedPredicate, translate
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.show import show

CATALOG = StaticCatalog(
    [
        TableSchema("link", (Column("src", "int"), Column("dst", "int"))),
        TableSchema("pos", (Column("storeID", "int"), Column("qty", "int"), Column("__count", "bigint"))),
    ]
)


def translated(text: str) -> tuple[DerivedPredicate, ...]:
    return translate(parse_program(text), CATALOG)


def shown(text: str) -> str:
    return show(translated(text)[-1].relation)


def value(text: str, **tables: Bag) -> Bag:
    columns = {"link": ("src", "dst"), "pos": ("storeID", "qty")}
    db = Database({"link": {}, "pos": {}, **tables}, columns)
    for predicate in translated(text):
        db.bags[predicate.name] = db.value(predicate.relation)
        db.columns[predicate.name] = predicate.columns
    return db.bags[translated(text)[-1].name]


def plan(text: str) -> str:
    return dedent(text).strip()


def test_a_join_with_a_test_and_a_condition() -> None:
    assert shown("p(X, Z + 1) :- link(X, Y), link(Y, Z), not link(Z, X), Z > 3.") == plan(
        """
        distinct
          project s1_src as x, s2_dst + 1 as c2
            anti join on s2_dst = s3_src AND s1_src = s3_dst
              inner join on s1_dst = s2_src
                scan link [new] (src as s1_src, dst as s1_dst)
                filter s2_dst > 3
                  scan link [new] (src as s2_src, dst as s2_dst)
              scan link [new] (src as s3_src, dst as s3_dst)
        """
    )


def test_recursion_is_a_fixpoint() -> None:
    (reach,) = translated("reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y).")
    assert show(reach.relation) == plan(
        """
        fixpoint reach (set)
          reach(x, y) =
            union all
              project s1_src as x, s1_dst as y
                scan link [new] (src as s1_src, dst as s1_dst)
              project s1_x as x, s2_dst as y
                inner join on s1_y = s2_src
                  project x as s1_x, y as s1_y
                    reference reach (x, y)
                  scan link [new] (src as s2_src, dst as s2_dst)
        """
    )


def test_mutual_recursion_is_one_fixpoint_with_two_results() -> None:
    odd, even, far = translated(
        """far(X) :- odd(X, _), not even(X, X).
           odd(X, Y) :- link(X, Y).
           odd(X, Y) :- even(X, Z), link(Z, Y).
           even(X, Y) :- odd(X, Z), link(Z, Y)."""
    )
    assert isinstance(odd.relation, Fixpoint)
    assert isinstance(even.relation, Fixpoint)
    assert odd.relation.definitions == even.relation.definitions
    assert (odd.relation.result, even.relation.result) == ("odd", "even")
    assert (odd.stratum, even.stratum, far.stratum) == (1, 1, 2)
    assert odd.component == even.component == ("odd", "even")


def test_unused_columns_are_not_read() -> None:
    assert shown("p(S) :- pos(storeID: S).") == plan(
        """
        distinct
          project s1_storeID as s
            scan pos [new] (storeID as s1_storeID)
        """
    )


def test_several_aggregates() -> None:
    assert shown("p(S, M, N) :- groupby(pos(S, Q), [S], M = min(Q * 2), N = count()), M < 9.") == plan(
        """
        distinct
          project s1_key1 as s, s1_result1 as m, s1_result2 as n
            filter s1_result1 < 9
              aggregate by (s1_storeID as s1_key1) MIN(s1_qty * 2) as s1_result1, COUNT(*) as s1_result2
                scan pos [new] (storeID as s1_storeID, qty as s1_qty)
        """
    )


def test_columns_are_named_after_the_first_head() -> None:
    (predicate,) = translated("p(X, 1, X, Long_Name, Y + 1) :- link(X, Y), Long_Name = Y. p(1, 2, 3, 4, 5).")
    assert predicate.columns == ("x", "c2", "x2", "long_name", "c5")
    (kept,) = translate(parse_program("p(A, B) :- link(A, B)."), CATALOG, {"p": ("x", "y")})
    assert kept.columns == ("x", "y")


def test_types_of_derived_columns() -> None:
    *_, top = translated(
        """a(X, N) :- groupby(link(X, Y), [X], N = count()).
           top(X, N) :- a(X, N)."""
    )
    (scan,) = scans(top.relation)
    assert [bound.source.type for bound in scan.bound] == ["int", "bigint"]


def test_facts_constants_and_repeated_variables() -> None:
    links = {(1, 1): 1, (1, 2): 2, (3, 3): 1}
    assert value("p(X) :- link(X, X). p(7). p(8).", link=links) == {(1,): 1, (3,): 1, (7,): 1, (8,): 1}
    assert value("p(X) :- link(1, X).", link=links) == {(1,): 1, (2,): 1}
    assert value("p(X) :- link(X, Y), Y = X + 1.", link=links) == {(1,): 1}
    assert value("p(X) :- link(X, X + 1).", link=links) == {(1,): 1}
    assert value("p(Z) :- link(X, _), Z = Y * 2, Y = X + 1.", link=links) == {(4,): 1, (8,): 1}
    assert value("p(1) :- not link(5, _). p(2) :- not link(3, _).", link=links) == {(1,): 1}
    assert value("p(X) :- X = 3.") == {(3,): 1}
    assert value("p(1) :- link(_, _).", link=links) == {(1,): 1}
    assert value("p(X) :- link(X, _), not link(X, _).", link=links) == {}


def test_groupby_counts_the_rows_of_a_table_and_the_set_of_a_predicate() -> None:
    rows = {(1, 5): 2, (2, 5): 1}
    assert value("p(S, T) :- groupby(pos(S, Q), [S], T = sum(Q)).", pos=rows) == {(1, 10): 1, (2, 5): 1}
    derived = "q(S, Q) :- pos(S, Q). p(S, T) :- groupby(q(S, Q), [S], T = sum(Q))."
    assert value(derived, pos=rows) == {(1, 5): 1, (2, 5): 1}
    assert value("p(N) :- groupby(pos(_, _), [], N = count()).", pos=rows) == {(3,): 1}
    assert value("p(N) :- groupby(pos(_, _), [], N = count()).") == {}
    assert value("p(N, A) :- groupby(pos(1, Q), [], N = count(), A = avg(Q)).", pos=rows) == {(2, 5.0): 1}


def test_null_joins_with_nothing() -> None:
    links = {(1, None): 1, (None, 2): 1}
    assert value("p(X, Z) :- link(X, Y), link(Y, Z).", link=links) == {}
    assert value("p(X) :- link(_, X), not link(X, _).", link=links) == {(None,): 1, (2,): 1}
