"""One pass over the changes gives every view the summary-delta that it has by itself."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.laws.stars import Change, Database, change, dimensions, facts, schemas, view
from tests.laws.test_stored_lattice import stored, summary
from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.delta import delta
from viewkeeper.delta.summary_delta import summary_delta
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.one_pass import one_pass
from viewkeeper.maintenance.lattice.summary import Summary
from viewkeeper.maintenance.numbered_parts import part_of

RANDOM = st.randoms(use_true_random=False)


@cache
def database() -> Database:
    return Database()


def of_facts(step: Change, before: dict) -> Change:  # type: ignore[type-arg]
    """The batch with the dimensions as they were: a pass is for changes of the fact table alone."""
    return Change({**before, "f": step.after["f"]}, frozenset({"f"}), step.insert_only)


def random_views(rng: Random, known: dict[str, TableSchema], extremes_of: frozenset[str]) -> list[Summary]:
    """Views that keep extremes of nothing but these columns."""
    views = [summary(view(rng, known, f"v{i}", fine=i == 0)) for i in range(rng.randint(2, 7))]
    return [one for one in views if one.extremes_of <= extremes_of]


def wrongly_passed(
    db: Database, views: list[Summary], changed: frozenset[str], constant: bool = True
) -> list[CubeView]:
    """The views whose part of the pass is not the summary-delta that they have by themselves."""
    looking = {one.cube.name for one in views} if not constant else set()
    found, wrong = one_pass("passed", views, constant, looking), []
    stored(db, "passed", found.plan)
    for number, one in enumerate(views):
        part = found.part(one.cube.name)
        taken = part_of(part)
        assert taken is not None
        assert (taken.result, taken.number) == ("passed", number)
        own = summary_delta(one.state, delta(one.state.aggregate.child, changed))
        expected = db.rows(plain(restricted_to(own, part.columns)))
        got = db.rows(part)
        if got != expected and (one.state.keys or got != Counter()):
            wrong.append(one.cube)
    return wrong


@cases(60)
@given(RANDOM)
def test_each_view_gets_its_own_summary_delta(rng: Random) -> None:
    db, known = database(), schemas(rng)
    views = random_views(rng, known, frozenset())
    assume(views)
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    step = of_facts(change(rng, known, before), before)
    db.load(before, step.after)
    assert wrongly_passed(db, views, step.changed) == []


@cases(60)
@given(RANDOM)
def test_insertions_of_one_value_have_it_as_their_extreme(rng: Random) -> None:
    db, known = database(), schemas(rng)
    views = random_views(rng, known, frozenset({"t", "m", "x"}))
    assume(any(one.state.extremes for one in views))
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    same = tuple(rng.randint(-2, 3) for _ in ("t", "m", "x"))
    new = [(a, b, *same) for a, b, *_ in facts(rng, known, rng.randint(1, 6))]
    db.load(before, {**before, "f": [*before["f"], *new]})
    assert wrongly_passed(db, views, frozenset({"f"})) == []


@cases(80)
@given(RANDOM)
def test_extremes_of_one_argument_are_summed_up_by_value(rng: Random) -> None:
    """Each view gets the extremes of what came and of what went, with the number of rows that hold them."""
    db, known = database(), schemas(rng)
    found = random_views(rng, known, frozenset({"t", "m", "x"}))
    views = [one for one in found if len({part.argument for part in one.state.extremes}) < 2]
    assume(any(one.state.extremes for one in views))
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    step = of_facts(change(rng, known, before), before)
    db.load(before, step.after)
    assert wrongly_passed(db, views, step.changed, constant=False) == []
