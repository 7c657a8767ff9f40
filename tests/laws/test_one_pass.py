"""One pass over the changes gives every view the summary-delta that it has by itself."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.laws.stars import Change, Database, change, dimensions, facts, schemas, view
from tests.laws.test_stored_lattice import stored, summary
from viewkeeper.algebra.counts import plain
from viewkeeper.delta import delta
from viewkeeper.delta.summary_delta import summary_delta
from viewkeeper.maintenance.lattice.one_pass import one_pass, part_of

RANDOM = st.randoms(use_true_random=False)


@cache
def database() -> Database:
    return Database()


def of_facts(step: Change, before: dict) -> Change:  # type: ignore[type-arg]
    """The batch with the dimensions as they were: a pass is for changes of the fact table alone."""
    return Change({**before, "f": step.after["f"]}, frozenset({"f"}), step.insert_only)


@cases(60)
@given(RANDOM)
def test_each_view_gets_its_own_summary_delta(rng: Random) -> None:
    db, known = database(), schemas(rng)
    views = [summary(view(rng, known, f"v{i}", fine=i == 0)) for i in range(rng.randint(2, 5))]
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    step = of_facts(change(rng, known, before), before)
    db.load(before, step.after)
    found = one_pass("passed", views)
    stored(db, "passed", found.plan)
    for number, one in enumerate(views):
        part = found.part(one.cube.name)
        taken = part_of(part)
        assert taken is not None
        assert (taken.result, taken.number) == ("passed", number)
        own = db.rows(plain(summary_delta(one.state, delta(one.state.aggregate.child, step.changed))))
        got = db.rows(part)
        assert got == own or (not one.state.keys and got == Counter()), one.cube
