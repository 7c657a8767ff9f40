"""Small results that meet a large table are broadcast to it; everything else is left to Spark."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.common_subplans import shared
from viewkeeper.algebra.relations import Join, JoinKind, Relation, Scan, State
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import nodes, rewrite
from viewkeeper.limits import LIMITS
from viewkeeper.planning.physical import Facts, Input
from viewkeeper.planning.physical.broadcast import small_sides
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

TABLES = StaticCatalog(
    (
        TableSchema("part", (Column("pkey", "int"), Column("brand", "string"))),
        TableSchema("line", (Column("pkey", "int"), Column("qty", "int"))),
        TableSchema("mean", (Column("pkey", "int"), Column("avg", "double"))),
    )
)
STORED = {"part": 200_000.0, "line": 6_000_000.0, "mean": 200_000.0}


def changed(text: str, table: str) -> Relation:
    """The query over the change of one table."""
    query = parse_view(text, TABLES).relation
    assert query is not None

    def move(node: Relation) -> Relation:
        if isinstance(node, Scan) and node.table == table:
            return Scan(node.table, node.bound, State.DELTA)
        return node

    return rewrite(query, move)


def known(changes: dict[str, float], stored: dict[str, float] = STORED, key: str = "pkey") -> Facts:
    keys = {"part": (key,), "mean": ("pkey",)}
    now = {name: Input(rows, key=keys.get(name, ())) for name, rows in stored.items()}
    return Facts({**now, **{f"{name}__delta": Input(rows) for name, rows in changes.items()}})


def tables(rel: Relation) -> set[str]:
    return {node.table for node in nodes(rel) if isinstance(node, Scan)}


CHAIN = "SELECT line.qty FROM (mean JOIN part ON mean.pkey = part.pkey) JOIN line ON line.pkey = part.pkey"


def test_a_change_that_has_met_a_table_is_broadcast_to_the_next() -> None:
    plan = changed(CHAIN, "mean")
    [small] = small_sides(plan, known({"mean": 23_000.0}))
    assert tables(small) == {"mean", "part"}


def test_it_is_a_step_of_its_own() -> None:
    plan = changed(CHAIN, "mean")
    small = small_sides(plan, known({"mean": 23_000.0}))
    [step], rest = shared(plan, apart=small)
    assert step.before in small
    assert tables(rest) == {"line"}
    assert shared(plan)[0] == ()


def test_a_join_that_is_by_no_key_may_have_all_pairs() -> None:
    plan = changed(CHAIN, "mean")
    assert small_sides(plan, known({"mean": 10.0}, key="brand")) == frozenset()
    assert len(small_sides(plan, known({"mean": 10.0}, {**STORED, "part": 100.0}, key="brand"))) == 1


def test_a_change_of_the_keyed_side_may_meet_any_number() -> None:
    """Ten parts may be in all lines: what they met is not broadcast."""
    text = "SELECT avg FROM (part JOIN line ON line.pkey = part.pkey) JOIN mean ON mean.pkey = line.qty"
    assert small_sides(changed(text, "part"), known({"part": 10.0})) == frozenset()


def test_a_large_change_is_left_to_spark() -> None:
    plan = changed(CHAIN, "mean")
    assert small_sides(plan, known({"mean": 2.0 * LIMITS.broadcast})) == frozenset()


def test_a_small_table_is_left_to_spark() -> None:
    plan = changed(CHAIN, "mean")
    assert small_sides(plan, known({"mean": 10.0}, {**STORED, "line": 1000.0})) == frozenset()


def test_what_is_just_read_has_a_size_that_spark_knows() -> None:
    plan = changed("SELECT line.qty FROM mean JOIN line ON line.pkey = mean.pkey WHERE avg > 3", "mean")
    assert small_sides(plan, known({"mean": 10.0})) == frozenset()


@pytest.mark.parametrize("kind", [kind for kind in JoinKind if kind is not JoinKind.INNER])
def test_only_inner_joins_are_broadcast_from_either_side(kind: JoinKind) -> None:
    def outer(node: Relation) -> Relation:
        is_top = isinstance(node, Join) and "line" in tables(node)
        return Join(node.left, node.right, kind, node.on) if is_top and isinstance(node, Join) else node

    plan = rewrite(changed(CHAIN.replace("line.qty", "brand"), "mean"), outer)
    assert small_sides(plan, known({"mean": 10.0})) == frozenset()
