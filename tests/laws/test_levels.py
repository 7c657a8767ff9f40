"""UNION ALL recursion: levels maintained by delta rules equal levels evaluated from scratch."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from tests.datalog.interpreter import Bag, Database
from tests.laws.settings import cases
from viewkeeper.algebra.build import union_all
from viewkeeper.algebra.expressions import Named, column, equal, function, literal, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Definition,
    Difference,
    Filter,
    Fixpoint,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    Values,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.errors import Diverged, Unsupported
from viewkeeper.maintenance.recursion.levels import evaluate_levels, maintain_levels
from viewkeeper.maintenance.recursion.port import Run

TREE = ("id", "parent")
TABLES = {"tree": TREE, "blocked": ("id",)}


def scan(table: str, *names: str) -> Scan:
    return Scan(
        table, tuple(Bound(name, Column(source, "int")) for name, source in zip(names, TABLES[table]))
    )


def rows_of(*names: str) -> Relation:
    return Project(
        Reference("t", ("id", "depth")), tuple(Named(n, column(c)) for n, c in zip(names, ("id", "depth")))
    )


ROOTS = Project(
    Filter(scan("tree", "id", "parent"), equal(column("parent"), literal(0))),
    (*same(("id",)), Named("depth", literal(0))),
)
DEEPER = Named("depth", exp.Add(this=column("d"), expression=literal(1)))
BELOW = Join(
    rows_of("up", "d"), scan("tree", "id", "parent"), JoinKind.INNER, equal(column("up"), column("parent"))
)
BOUNDED = Filter(BELOW, exp.LT(this=column("d"), expression=literal(4)))


def fixpoint(*branches: Relation) -> Fixpoint:
    body = union_all(branches, ("id", "depth"))
    return Fixpoint((Definition("t", ("id", "depth"), body),), "t", distinct=False)


STEP = Project(BOUNDED, (*same(("id",)), DEEPER))
UNBLOCKED = Project(
    Join(BOUNDED, scan("blocked", "stop"), JoinKind.ANTI, equal(column("id"), column("stop"))),
    (*same(("id",)), DEEPER),
)
EXCEPT = Difference(
    STEP, Project(scan("blocked", "id"), (*same(("id",)), Named("depth", literal(1)))), all=False
)
LIMIT = Aggregate(scan("blocked", "most"), (), (Named("top", function("max", column("most"))),))
COUNTING = Project(
    Join(rows_of("up", "d"), LIMIT, JoinKind.INNER, exp.LT(this=column("d"), expression=column("top"))),
    (Named("id", column("up")), DEEPER),
)
FIXPOINTS = {
    "tree": fixpoint(ROOTS, STEP),
    "with tests": fixpoint(ROOTS, UNBLOCKED),
    "with except": fixpoint(ROOTS, EXCEPT),
    "two branches": fixpoint(ROOTS, STEP, UNBLOCKED),
    "counting to an aggregate": fixpoint(Values(("id", "depth"), ((literal(1), literal(0)),)), COUNTING),
}

EDGES = st.dictionaries(
    st.tuples(st.integers(1, 4), st.integers(0, 4)), st.sampled_from((1, 1, 2)), max_size=6
)
BLOCKED = st.dictionaries(st.tuples(st.integers(1, 4)), st.just(1), max_size=2)


def difference(new: Bag, old: Bag) -> Bag:
    return {row: n for row in {**old, **new} if (n := new.get(row, 0) - old.get(row, 0))}


def evaluated(view: Fixpoint, tables: dict[str, Bag], limit: int = 40) -> Bag:
    db = Database(tables, TABLES)
    return db.value(evaluate_levels(view, Run(db, limit)))


@pytest.mark.parametrize("name", FIXPOINTS)
@cases(30)
@given(old_tree=EDGES, new_tree=EDGES, old_blocked=BLOCKED, new_blocked=BLOCKED)
@example({(1, 0): 1, (2, 1): 1}, {(2, 1): 1, (1, 2): 1, (3, 0): 1}, {}, {})
def test_levels_are_maintained(
    name: str, old_tree: Bag, new_tree: Bag, old_blocked: Bag, new_blocked: Bag
) -> None:
    view = FIXPOINTS[name]
    old = {"tree": old_tree, "blocked": old_blocked}
    new = {"tree": new_tree, "blocked": new_blocked}
    before, after = evaluated(view, old), evaluated(view, new)
    deltas = {table: difference(new[table], old[table]) for table in TABLES}
    states = {f"{table}__old": bag for table, bag in old.items()}
    states |= {f"{table}__delta": bag for table, bag in deltas.items()}
    db = Database({**new, **states, "stored": before}, TABLES)
    stored = Reference("stored", ("id", "depth", "__level"), counted=True)
    changed = frozenset(table for table, delta in deltas.items() if delta)
    done = maintain_levels(view, stored, changed, Run(db, 40))
    assert db.value(done.levels) == difference(after, before)
    db.drop(done.temporary)
    assert set(db.bags) == {*new, *states, "stored"}


def test_a_cycle_diverges() -> None:
    unbounded = fixpoint(ROOTS, Project(BELOW, (*same(("id",)), DEEPER)))
    cycle = {"tree": {(1, 0): 1, (2, 1): 1, (1, 2): 1}, "blocked": {}}
    with pytest.raises(Diverged, match="did not end within 40 rounds"):
        evaluated(unbounded, cycle)


def test_rows_that_would_support_each_other_go_with_their_root() -> None:
    """Deleting the root's edge while closing a cycle below it: counts alone would keep the cycle."""
    unbounded = fixpoint(ROOTS, Project(BELOW, (*same(("id",)), DEEPER)))
    old = {"tree": {(1, 0): 1, (2, 1): 1}, "blocked": {}}
    new = {"tree": {(2, 1): 1, (1, 2): 1}, "blocked": {}}
    db = Database({**new, "tree__old": old["tree"], "tree__delta": {(1, 0): -1, (1, 2): 1}}, TABLES)
    db.bags["stored"] = evaluated(unbounded, old)
    stored = Reference("stored", ("id", "depth", "__level"), counted=True)
    done = maintain_levels(unbounded, stored, frozenset({"tree"}), Run(db, 40))
    assert db.value(done.signed) == {(1, 0): -1, (2, 1): -1}


def test_non_linear_bags_are_refused() -> None:
    twice = Join(rows_of("a", "d"), rows_of("b", "e"), JoinKind.INNER, equal(column("a"), column("b")))
    with pytest.raises(Unsupported, match="more than once"):
        evaluated(
            fixpoint(ROOTS, Project(twice, (Named("id", column("a")), DEEPER))), {"tree": {}, "blocked": {}}
        )
