"""Parts that scripts have in common are computed once, and nothing else changes."""

from __future__ import annotations

from hypothesis import given

from tests.laws.databases import History, histories
from tests.laws.harness import explicit_value, start, store
from tests.laws.plans import Typed, plans
from tests.laws.settings import cases
from viewkeeper.algebra.build import renamed, restricted_to
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.prune import pruned
from viewkeeper.algebra.relations import Relation
from viewkeeper.delta.rules import delta
from viewkeeper.maintenance.steps import AppendLayer
from viewkeeper.planning.shared_work import shared_work


def always(plan: Relation, users: int) -> float:
    return 1.0 + users


@cases(60)
@given(plans(budget=5), histories())
def test_a_pruned_plan_has_the_same_rows(view: Typed, history: History) -> None:
    changed = start(history)
    change = weighted(delta(view.rel, changed))
    few = restricted_to(change, change.columns[-1:])
    assert explicit_value(pruned(few)) == explicit_value(few)
    assert explicit_value(pruned(change)) == explicit_value(change)


@cases(60)
@given(plans(budget=5), histories())
def test_scripts_over_common_parts_have_the_same_rows(view: Typed, history: History) -> None:
    """One view shows all columns, one the last of them under another name, one is the first again."""
    changed = start(history)
    change = weighted(delta(view.rel, changed))
    other = renamed(restricted_to(change, change.columns[-2:]), {change.columns[-2]: "other"})
    scripts = {
        name: (AppendLayer(name, plan),) for name, plan in {"a": change, "b": other, "c": change}.items()
    }
    work = shared_work(scripts, always)
    results = [store(part.name, part.plan) for part in work.parts]
    assert [result.columns for result in results] == [part.plan.columns for part in work.parts]
    for name, (step,) in work.scripts.items():
        assert isinstance(step, AppendLayer)
        assert step.plan.columns == scripts[name][0].plan.columns
        assert explicit_value(step.plan) == explicit_value(scripts[name][0].plan)
