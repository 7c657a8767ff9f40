"""Figure 8, rewrite by rewrite; and what must stay as it is."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tests.maintenance.id_diffs.devices import table
from viewkeeper.algebra.build import empty, renamed
from viewkeeper.algebra.expressions import Scalar, column, equal, literal, null_safe_match
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Bound, Filter, Join, JoinKind, Reference, Relation, Scan, State
from viewkeeper.algebra.walk import scans
from viewkeeper.maintenance.id_diffs.diffs import DiffSchema, delete_schema, insert_schema, pre
from viewkeeper.maintenance.id_diffs.minimize import minimized
from viewkeeper.sql.show import show

R = table("r", ("i",), i="int", a="int", b="int")
SCHEMAS = {
    "ins": insert_schema("r", ("i",), ("a", "b")),
    "del": delete_schema("r", ("i",), ("a", "b")),
    "upd": DiffSchema(DiffKind.UPDATE, "r", ("i",), ("a", "b"), ("a", "b"), ("a",)),
    "part": DiffSchema(DiffKind.UPDATE, "r", ("i",), ("a",), ("a",), ("a",)),
}


def r(state: State = State.NEW) -> Relation:
    return Scan("r", tuple(Bound(f"r_{c.name}", c) for c in R.columns), state)


def diff(name: str) -> Relation:
    return Reference(name, SCHEMAS[name].columns)


def by_key(left: Relation, right: Relation, kind: JoinKind) -> Relation:
    mine = "r_i" if "r_i" in left.columns else "i"
    return Join(left, right, kind, null_safe_match([(mine, "i" if mine == "r_i" else "r_i")]))


def chosen(rel: Relation, name: str = "r_a") -> Relation:
    return Filter(rel, exp.GT(this=column(name), expression=literal(1)))


def after(rel: Relation) -> Relation:
    return minimized(rel, SCHEMAS)


@pytest.mark.parametrize("kind", [JoinKind.SEMI, JoinKind.INNER])
@pytest.mark.parametrize("name", ["ins", "upd"])
def test_a_table_joined_with_its_insertions_or_updates_is_not_read(name: str, kind: JoinKind) -> None:
    for rel in (by_key(r(), diff(name), kind), by_key(diff(name), chosen(r()), kind)):
        assert list(scans(after(rel))) == []
        assert after(rel).columns == rel.columns


def test_a_condition_on_the_table_becomes_one_on_the_diff() -> None:
    text = show(after(by_key(diff("upd"), chosen(r()), JoinKind.SEMI)))
    assert text == "filter a > 1\n  reference upd (i, __pre_a, __pre_b, a, b)"


def test_a_condition_on_the_diff_stays() -> None:
    text = show(after(by_key(r(), chosen(diff("ins"), "b"), JoinKind.SEMI)))
    assert text == "project i as r_i, a as r_a, b as r_b\n  filter b > 1\n    reference ins (i, a, b)"


@pytest.mark.parametrize("kind", [JoinKind.SEMI, JoinKind.INNER])
def test_deleted_rows_are_not_in_the_table(kind: JoinKind) -> None:
    rel = by_key(r(), diff("del"), kind)
    assert after(rel) == empty(rel.columns)
    assert after(by_key(diff("del"), r(), JoinKind.SEMI)) == empty(diff("del").columns)


def test_antisemijoins() -> None:
    assert after(by_key(diff("ins"), r(), JoinKind.ANTI)) == empty(diff("ins").columns)
    assert after(by_key(diff("del"), r(), JoinKind.ANTI)) == diff("del")
    assert after(by_key(r(), diff("del"), JoinKind.ANTI)) == r()
    text = show(after(by_key(diff("upd"), chosen(r()), JoinKind.ANTI)))
    assert text == "filter NOT COALESCE(a > 1, FALSE)\n  reference upd (i, __pre_a, __pre_b, a, b)"


def test_before_the_change_pre_state_values_stand_for_the_table() -> None:
    text = show(after(by_key(r(State.OLD), diff("del"), JoinKind.SEMI)))
    old = f"{pre('a')} as r_a, {pre('b')} as r_b"
    assert text == f"project i as r_i, {old}\n  reference del (i, __pre_a, __pre_b)"
    assert after(by_key(r(State.OLD), diff("ins"), JoinKind.SEMI)) == empty(r().columns)


def test_a_diff_that_does_not_know_all_attributes_does_not_stand_for_the_table() -> None:
    rel = by_key(r(), diff("part"), JoinKind.SEMI)
    assert after(rel) == rel


@pytest.mark.parametrize(
    "on",
    [equal(column("r_a"), column("a")), exp.true(), exp.GT(this=column("r_i"), expression=column("i"))],
    ids=["no key", "nothing", "no equality"],
)
def test_only_the_whole_key_tells_that_it_is_the_same_row(on: Scalar) -> None:
    rel = Join(r(), diff("upd"), JoinKind.SEMI, on)
    assert list(scans(after(rel))) == [r()]


def test_a_diff_of_another_table_tells_nothing() -> None:
    other = Reference("other", ("i", "a"))
    rel = by_key(r(), other, JoinKind.SEMI)
    assert after(rel) == rel


def test_a_semijoin_moves_down_to_the_table_that_the_diff_names() -> None:
    s = Scan("s", tuple(Bound(f"s_{c.name}", c) for c in R.columns))
    both = Join(r(), s, JoinKind.INNER, equal(column("r_a"), column("s_i")))
    keys = renamed(diff("upd"), {})
    found = after(Join(both, keys, JoinKind.SEMI, null_safe_match([("r_i", "i")])))
    assert [scan.table for scan in scans(found)] == ["s"]
