"""The machinery of DRed: what it asks of the evaluator, where it stops, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.datalog.interpreter import Bag, Database
from tests.datalog.programs import TABLES
from tests.datalog.views import TABLE_COLUMNS, fixpoints, naive
from tests.reference.redefine import rule_added, rule_dropped, with_rule, without_rule
from viewkeeper.algebra.relations import Definition, Distinct, Fixpoint, Join, Reference
from viewkeeper.algebra.walk import nodes
from viewkeeper.datalog.parse import parse_program
from viewkeeper.delta.rules import delta
from viewkeeper.errors import Diverged, NotFound, Unsupported
from viewkeeper.maintenance.dred.algorithm import Abandoned, Maintained, maintain
from viewkeeper.maintenance.dred.changed_subgoals import Changes
from viewkeeper.maintenance.recursion.port import Derivation, Run
from viewkeeper.maintenance.recursion.seminaive import evaluate_fixpoint
from viewkeeper.maintenance.recursion.unfold import branches, rules_of

CLOSURE = "path(X, Y) :- link(X, Y). path(X, Y) :- path(X, Z), link(Z, Y), Y < 100."
"""Not a plain closure, which has phases of its own (`test_closure`)."""
CHAIN: Bag = {(node, node + 1): 1 for node in range(8)}
LINK = frozenset({"link"})
STORED = {"path": Reference("stored", ("x", "y"))}


def closure() -> Fixpoint:
    return fixpoints(parse_program(CLOSURE))[0]


def database(old: Bag, delta: Bag, **more: Bag) -> Database:
    new = {row: n for row in {**old, **delta} if (n := old.get(row, 0) + delta.get(row, 0))}
    bags = {"link": new, "link__old": old, "link__delta": delta, **more}
    return Database({**{name: {} for name in TABLES}, **bags}, TABLE_COLUMNS)


def pairs(links: Bag) -> Bag:
    return naive(parse_program(CLOSURE), {**{name: {} for name in TABLES}, "link": links})["path"]


def test_insertions_alone_ask_only_for_the_insert_phase() -> None:
    db = database(CHAIN, {(8, 9): 1}, stored=pairs(CHAIN))
    lines: list[str] = []
    done = maintain(closure(), STORED, Changes(inserted=LINK), Run(db, progress=lines.append))
    assert isinstance(done, Maintained)
    assert (done.overdeleted, done.rederived, done.inserted) == (0, 0, 9)
    assert db.calls == 2  # the seed finds all nine; one round finds that nothing follows
    assert lines == ["inserted, round 1: path +9", "inserted, round 2: path +0"]


def test_a_round_is_one_call_whatever_the_number_of_definitions() -> None:
    mutual = """odd(X, Y) :- link(X, Y).  odd(X, Y) :- even(X, Z), link(Z, Y).
                even(X, Y) :- odd(X, Z), link(Z, Y)."""
    db = database(CHAIN, {})
    evaluate_fixpoint(fixpoints(parse_program(mutual))[0], Run(db))
    assert db.calls == len(CHAIN) + 1


def test_nothing_is_asked_when_nothing_relevant_changed() -> None:
    db = database(CHAIN, {}, stored=pairs(CHAIN))
    done = maintain(closure(), STORED, Changes(inserted=frozenset({"cost"})), Run(db))
    assert isinstance(done, Maintained)
    assert db.calls == 0
    assert db.value(done.deltas["path"].signed) == {}


def test_temporary_relations_are_named_and_can_be_dropped() -> None:
    db = database(CHAIN, {(3, 4): -1, (3, 5): 1}, stored=pairs(CHAIN))
    before = set(db.bags)
    done = maintain(closure(), STORED, Changes(LINK, LINK), Run(db))
    assert isinstance(done, Maintained)
    db.drop(done.temporary)
    assert set(db.bags) == before


def test_too_much_overdeletion_is_abandoned() -> None:
    db = database(CHAIN, {(0, 1): -1}, stored=pairs(CHAIN))
    before = set(db.bags)
    done = maintain(closure(), STORED, Changes(deleted=LINK), Run(db), enough=3)
    assert isinstance(done, Abandoned)
    assert done.overdeleted > 3
    assert set(db.bags) == before


def test_a_keyed_relation_is_not_looked_up_for_copies() -> None:
    db = database(CHAIN, {(7, 8): -1}, stored=pairs(CHAIN))
    changes = Changes(deleted=LINK, keys={"link": ("src", "dst")})
    done = maintain(closure(), STORED, changes, Run(db))
    assert isinstance(done, Maintained)
    assert db.value(done.deltas["path"].signed) == {(node, 8): -1 for node in range(8)}


def test_divergence_ends_with_an_error_and_the_stored_rows_unchanged() -> None:
    program = parse_program("n(X) :- mark(X).  n(X + 1) :- n(X).")
    db = Database({**{name: {} for name in TABLES}, "mark": {(1,): 1}}, TABLE_COLUMNS)
    with pytest.raises(Diverged) as error:
        evaluate_fixpoint(fixpoints(program)[0], Run(db, limit=25))
    assert str(error.value).splitlines() == [
        "The recursion of n did not end within 25 rounds.",
        "It was stopped while rows were still being derived (phase rows); nothing was changed.",
        "Bound what grows in it (a counter, a length), or raise the limit on iterations.",
    ]


def test_divergence_during_maintenance_leaves_nothing_behind() -> None:
    program = parse_program("n(X, Y) :- link(X, Y).  n(X, Y + 1) :- n(X, Y), link(X, X).")
    (fixpoint,) = fixpoints(program)
    db = database({(1, 2): 1}, {(1, 1): 1, (1, 2): -1}, stored={(1, 2): 1})
    before = dict(db.bags)
    with pytest.raises(Diverged, match="phase inserted"):
        maintain(fixpoint, {"n": Reference("stored", ("x", "y"))}, Changes(LINK, LINK), Run(db, limit=20))
    assert db.bags == before


def test_rules_are_added_and_dropped() -> None:
    fixpoint = closure()
    base, recursive = branches(fixpoint.definitions[0].body)
    without = without_rule(fixpoint, "path", recursive)
    db = database(CHAIN, {}, stored=CHAIN)
    added = rule_added(without, "path", recursive, STORED, Run(db))
    assert isinstance(added, Maintained)
    assert db.value(added.deltas["path"].signed) == {row: 1 for row in pairs(CHAIN) if row not in CHAIN}
    db = database(CHAIN, {}, stored=pairs(CHAIN))
    dropped = rule_dropped(fixpoint, "path", base, STORED, Run(db))
    assert isinstance(dropped, Maintained)
    assert db.value(dropped.deltas["path"].signed) == dict.fromkeys(pairs(CHAIN), -1)
    assert with_rule(without, "path", recursive) == fixpoint


def test_a_rule_that_is_not_there_cannot_be_dropped() -> None:
    fixpoint = closure()
    base, _ = branches(fixpoint.definitions[0].body)
    with pytest.raises(NotFound, match="no such rule"):
        without_rule(without_rule(fixpoint, "path", base), "path", base)
    with pytest.raises(NotFound, match="no definition of other"):
        without_rule(fixpoint, "other", base)


def test_recursion_through_an_aggregate_is_refused() -> None:
    (aggregate,) = fixpoints(parse_program("d(X, N) :- groupby(link(X, Y), [X], N = count())."))
    inner = next(node for node in nodes(aggregate.definitions[0].body) if type(node).__name__ == "Aggregate")
    looped = type(inner)(Reference("d", ("s1_src", "s1_dst")), inner.keys, inner.aggregates)
    with pytest.raises(Unsupported, match="not monotone"):
        rules_of(Definition("d", looped.columns, looped), frozenset({"d"}))


def test_joins_begin_at_the_change() -> None:
    """The first leaf of a plan is what it starts from; the frontier in every step of every loop."""
    seen: list[str] = []

    class Watching(Database):
        def evaluate(self, plans: Mapping[str, Derivation]) -> Mapping[str, int]:
            for derivation in plans.values():
                joins = [n for n in nodes(derivation.candidates) if isinstance(n, Join)]
                seen.extend(n.left.name for n in joins if isinstance(n.left, Reference))
            return super().evaluate(plans)

    db = database(CHAIN, {(3, 4): -1}, stored=pairs(CHAIN))
    watching = Watching(db.bags, db.columns)
    maintain(closure(), STORED, Changes(deleted=LINK, keys={"link": ("src", "dst")}), Run(watching))
    assert set(seen) >= {"path__overdeleted_frontier"}


@pytest.mark.parametrize(
    "batch", [{(0, 1): -1}, {(0, 2): 1, (4, 5): -1}, {(1, 1): 1, (2, 3): -1, (3, 4): -1}]
)
def test_counting_and_dred_agree_on_a_nonrecursive_set_view(batch: Bag) -> None:
    program = parse_program("hop(X, Y) :- link(X, Z), link(Z, Y).  hop(X, X) :- link(X, _), not link(_, X).")
    (fixpoint,) = fixpoints(program)
    body = fixpoint.definitions[0].body
    assert isinstance(body, Distinct)
    rows = naive(program, {**{name: {} for name in TABLES}, "link": CHAIN})["hop"]
    db = database(CHAIN, batch, stored=rows)
    done = maintain(fixpoint, {"hop": Reference("stored", ("x", "y"))}, Changes(LINK, LINK), Run(db))
    assert isinstance(done, Maintained)
    assert db.value(done.deltas["hop"].signed) == db.value(delta(body, LINK))
