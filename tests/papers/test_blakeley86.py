"""blakeley86 section 5: differential re-evaluation, with the paper's examples."""

from __future__ import annotations

from itertools import product

import pytest
import sqlglot

from tests.papers.example_database import Example
from viewkeeper.algebra.build import joined, restricted_to
from viewkeeper.algebra.expressions import Scalar, column, equal, replace_columns
from viewkeeper.algebra.relations import Filter, Join, JoinKind, Relation, State
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.delta import delta, old

R = frozenset({"r"})


def condition(text: str, *names: str) -> Scalar:
    return replace_columns(sqlglot.parse_one(text), {name: column(name) for name in names})


def test_section_5_1_a_select_view_is_updated_by_selected_changes() -> None:
    """v' = v ∪ σ(i_r) − σ(d_r)."""
    db = Example(r="a int, b int")
    db.load("r", [(1, 10), (2, 30)], {(3, 20): 1, (4, 5): 1, (2, 30): -1})
    view = Filter(db.scan("r"), condition("b > 10", "b"))
    assert db.value(delta(view, R)) == {(3, 20): 1, (2, 30): -1}


@pytest.mark.parametrize(
    ("deleted", "change", "after"),
    [
        ((3, 20), {(20,): -1}, {(10,): 2}),
        ((1, 10), {(10,): -1}, {(10,): 1, (20,): 1}),
    ],
    ids=["the only (3, 20)", "one of two tens"],
)
def test_example_5_1_multiplicity_counters_make_projections_deletable(deleted, change, after) -> None:
    db = Example(r="a int, b int")
    db.load("r", [(1, 10), (2, 10), (3, 20)], {deleted: -1})
    view = restricted_to(db.scan("r"), ("b",))
    assert db.value(old(view, R)) == {(10,): 2, (20,): 1}
    assert db.value(delta(view, R)) == change
    assert db.value(view) == after


def natural_join(db: Example) -> Relation:
    on = equal(column("b"), column("b2"))
    both = joined(db.scan("r", "a", "b"), db.scan("s", "b2", "c"), JoinKind.INNER, on)
    return restricted_to(both, ("a", "b", "c"))


def test_example_5_2_insertions_join_the_old_relation() -> None:
    """i_v = i_r ⋈ s."""
    db = Example(r="a int, b int", s="b int, c int")
    db.load("r", [(1, 10)], {(2, 10): 1, (3, 99): 1})
    db.load("s", [(10, 7), (10, 8)])
    change = delta(natural_join(db), R)
    assert {(scan.table, scan.at) for scan in scans(change)} == {("r", State.DELTA), ("s", State.NEW)}
    assert db.value(change) == {(2, 10, 7): 1, (2, 10, 8): 1}


def test_example_5_3_deletions_join_the_old_relation() -> None:
    """d_v = d_r ⋈ s."""
    db = Example(r="a int, b int", s="b int, c int")
    db.load("r", [(1, 10), (2, 10)], {(2, 10): -1})
    db.load("s", [(10, 7), (20, 8)])
    assert db.value(delta(natural_join(db), R)) == {(2, 10, 7): -1}


TAGS = {
    ("insert", "insert"): "insert",
    ("insert", "delete"): "ignore",
    ("insert", "old"): "insert",
    ("delete", "insert"): "ignore",
    ("delete", "delete"): "delete",
    ("delete", "old"): "delete",
    ("old", "insert"): "insert",
    ("old", "delete"): "delete",
    ("old", "old"): "old",
}
"""The paper's table: the tag of a joined tuple by the tags of its parts (Cases 1 to 6 of Example 5.4)."""
COUNTS = {"insert": 1, "delete": -1, "ignore": 0, "old": 0}


@pytest.mark.parametrize(("left", "right"), list(product(("insert", "delete", "old"), repeat=2)))
def test_example_5_4_signs_of_joined_tuples_are_the_papers_tags(left: str, right: str) -> None:
    """A pair of tuples, each inserted, deleted or old, gives what the table says, and nothing else."""
    db = Example(r="a int, b int", s="b int, c int")
    for table, row, tag in (("r", (1, 10), left), ("s", (10, 7), right)):
        db.load(table, [] if tag == "insert" else [row], {} if tag == "old" else {row: COUNTS[tag]})
    count = COUNTS[TAGS[left, right]]
    expected = {(1, 10, 7): count} if count else {}
    assert db.value(delta(natural_join(db), frozenset({"r", "s"}))) == expected


@pytest.mark.parametrize(("tag", "rows"), [("insert", {(1,): 1}), ("delete", {(1,): -1}), ("old", {})])
def test_section_5_3_selections_and_projections_keep_tags(tag: str, rows: dict) -> None:
    db = Example(r="a int, b int")
    db.load("r", [] if tag == "insert" else [(1, 10)], {} if tag == "old" else {(1, 10): COUNTS[tag]})
    view = restricted_to(Filter(db.scan("r"), condition("b = 10", "b")), ("a",))
    assert db.value(delta(view, R)) == rows


def three_way(db: Example) -> Relation:
    first = joined(
        db.scan("r1", "a", "b"), db.scan("r2", "b2", "c"), JoinKind.INNER, equal(column("b"), column("b2"))
    )
    return joined(first, db.scan("r3", "c3", "d"), JoinKind.INNER, equal(column("c"), column("c3")))


def terms(rel: Relation) -> set[str]:
    """Each join of the delta, written as the states of its scans from left to right."""
    letters = {State.OLD: "old", State.NEW: "new", State.DELTA: "delta"}
    tops = [node for node in nodes(rel) if isinstance(node, Join) and node.kind is JoinKind.INNER]
    found = {" ".join(f"{scan.table}:{letters[scan.at]}" for scan in _in_order(node)) for node in tops}
    return {text for text in found if len(text.split()) == 3}


def _in_order(rel: Relation) -> list:
    if isinstance(rel, Join) and rel.kind is JoinKind.SEMI:
        return _in_order(rel.left)
    if isinstance(rel, Join):
        return _in_order(rel.left) + _in_order(rel.right)
    return [next(scans(rel))] if not hasattr(rel, "inputs") else []


def test_truth_table_only_rows_of_changed_relations_and_n_terms_instead_of_2_to_the_n() -> None:
    """r1 and r2 change: the paper computes rows 3, 5 and 7; new states to the left make two terms of them.

    Each term begins at its delta.
    """
    db = Example(r1="a int, b int", r2="b int, c int", r3="c int, d int")
    view = three_way(db)
    assert terms(delta(view, frozenset({"r3"}))) == {"r3:delta r2:new r1:new"}
    both = delta(view, frozenset({"r1", "r2"}))
    assert {scan.table for scan in scans(both) if scan.at is State.DELTA} == {"r1", "r2"}
    rows_3_5_7 = [("r1",), ("r2",), ("r1", "r2")]
    db.load("r1", [(1, 1)], {(2, 1): 1})
    db.load("r2", [(1, 1)], {(1, 2): 1})
    db.load("r3", [(1, 5), (2, 6)])
    expected = {(2, 1, 1, 1, 1, 5): 1, (1, 1, 1, 2, 2, 6): 1, (2, 1, 1, 2, 2, 6): 1}
    assert db.value(both) == expected
    assert len(expected) == len(rows_3_5_7)


def test_example_5_5_select_project_join() -> None:
    """v = π_A(σ_{C>10}(R ⋈ S)), insertions into r."""
    db = Example(r="a int, b int", s="b int, c int")
    db.load("r", [(1, 1)], {(2, 1): 1, (3, 2): 1, (3, 3): 1})
    db.load("s", [(1, 11), (1, 12), (2, 10), (3, 20)])
    view = restricted_to(Filter(natural_join(db), condition("c > 10", "c")), ("a",))
    assert db.value(delta(view, R)) == {(2,): 2, (3,): 1}
    assert db.value(view) == {(1,): 2, (2,): 2, (3,): 1}


def test_algorithm_5_1_insertions_and_deletions_of_several_relations() -> None:
    db = Example(r="a int, b int", s="b int, c int")
    db.load("r", [(1, 1), (2, 2)], {(2, 2): -1, (3, 1): 1})
    db.load("s", [(1, 11), (2, 12)], {(1, 11): -1, (1, 15): 1})
    view = restricted_to(Filter(natural_join(db), condition("c > 10", "c")), ("a", "c"))
    assert db.value(delta(view, frozenset({"r", "s"}))) == {
        (1, 11): -1,
        (1, 15): 1,
        (2, 12): -1,
        (3, 15): 1,
    }
