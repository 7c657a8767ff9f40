"""Joins whose inputs are in one task send nothing; what reads a large relation is left to Spark."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.relations import Filter, Join, Relation
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import nodes
from viewkeeper.planning.physical.co_locate import hashed, is_in_one_place, met_in_place, occurrences
from viewkeeper.planning.physical.gather import are_in_listed, are_looked_up
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import render

TABLES = StaticCatalog(
    tuple(TableSchema(name, (Column("k", "int"), Column(name + "v", "int"))) for name in ("a", "b", "c"))
)
FIRST = "SELECT a.av, b.bv FROM a JOIN b ON a.k = b.k"
SECOND = "SELECT a.av FROM a JOIN b ON a.k = b.k JOIN c ON a.k = c.k"


def query(text: str) -> Relation:
    found = parse_view(text, TABLES).relation
    assert found is not None
    return plain(found)


def test_a_join_of_two_small_relations_is_made_where_they_are() -> None:
    plan = query(FIRST)
    [join] = met_in_place(plan, {"a", "b"})
    assert isinstance(join, Join)
    assert is_in_one_place(plan, {"a", "b"})
    assert render(plan, pretty=False, in_place={join}).startswith("SELECT /*+ MERGE(b_2), COALESCE(1) */")


def test_a_join_with_a_large_relation_is_left_to_spark() -> None:
    plan = query(FIRST)
    assert not met_in_place(plan, {"a"})
    assert not is_in_one_place(plan, {"a"})
    assert "/*+" not in render(plan, pretty=False)


def test_of_a_chain_the_joins_before_the_large_relation_are_made_in_place() -> None:
    plan = query(SECOND)
    found = met_in_place(plan, {"a", "b"})
    assert len(found) == 1
    assert len(met_in_place(plan, {"a", "b", "c"})) == 2
    text = render(plan, pretty=False, in_place=met_in_place(plan, {"a", "b", "c"}))
    assert "(SELECT /*+ MERGE(b_2), COALESCE(1) */" in text
    assert text.startswith("SELECT /*+ MERGE(c_4), COALESCE(1) */")


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("SELECT a.av FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.bv > a.av)", True),
        ("SELECT a.av FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", True),
        ("SELECT a.av, b.bv FROM a LEFT JOIN b ON a.k = b.k", True),
        ("SELECT a.av, b.bv FROM a FULL JOIN b ON a.k = b.k", False),
        ("SELECT a.av, b.bv FROM a JOIN b ON a.k < b.k", False),
    ],
)
def test_equalities_are_needed_and_full_joins_are_left_alone(text: str, is_met: bool) -> None:
    assert bool(met_in_place(query(text), {"a", "b"})) is is_met


def test_few_rows_that_are_looked_up_in_many_are_hashed() -> None:
    plan = query(FIRST)
    met = met_in_place(plan, {"a", "b"})
    assert hashed(met, {"b"}, 2) == met
    assert not hashed(met, {"a"}, 2), "the left input is not what is hashed"
    assert not hashed(met, {"a", "b"}, 2), "both are few: sorting them costs nothing"
    text = render(plan, pretty=False, in_place=met, hashed=met)
    assert text.startswith("SELECT /*+ SHUFFLE_HASH(b_2), COALESCE(1) */")
    several = met_in_place(query(SECOND), {"a", "b", "c"})
    assert len(hashed(several, {"b", "c"}, 2)) == 2


def test_hash_tables_hold_on_to_their_memory_so_that_there_are_few() -> None:
    several = met_in_place(query(SECOND), {"a", "b", "c"})
    assert not hashed(several, {"b", "c"}, 1)


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("SELECT a.av FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", True),
        ("SELECT b.bv FROM b WHERE EXISTS (SELECT 1 FROM a WHERE b.k = a.k)", False),
        ("SELECT a.av, b.bv FROM b JOIN a ON a.k = b.k", False),
        ("SELECT a.av, b.bv FROM a JOIN b ON a.k = b.k", True),
        (
            "SELECT cv FROM c WHERE k IN (SELECT av FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k))",
            True,
        ),
        ("SELECT c.cv FROM c WHERE c.k IN (SELECT a.av FROM a)", False),
    ],
)
def test_a_large_relation_meets_few_rows_first(text: str, is_met: bool) -> None:
    """`a` is large; `b` is few rows, and is what must be hashed for it."""
    assert are_looked_up(query(text), {"a", "b", "c"}, {"b"}, {"a"}, 2) is is_met


def test_an_in_list_of_the_user_is_no_list_of_known_keys() -> None:
    """Both look alike; only the second leaves few rows of `a`."""
    plan = query("SELECT a.av, b.bv FROM (SELECT * FROM a WHERE av IN (1, 2)) a JOIN b ON a.k = b.k")
    lists = [node for node in nodes(plan) if isinstance(node, Filter)]
    assert lists
    assert not are_in_listed(plan, {"a"}, frozenset())
    assert are_in_listed(plan, {"a"}, frozenset(lists))


def test_an_input_is_counted_as_often_as_the_query_has_it() -> None:
    twice = query("SELECT av FROM a UNION ALL SELECT av FROM a UNION ALL SELECT bv FROM b")
    assert occurrences(twice) == {"a": 2, "b": 1}
