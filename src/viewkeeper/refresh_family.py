"""Views that wait for the same others: planned together, they share what their scripts have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from viewkeeper.catalog import ViewDefinition
from viewkeeper.maintenance.lattice.one_pass import OnePass
from viewkeeper.planning.cost import saved_by_sharing, sizes_of
from viewkeeper.planning.shared_work import SharedWork, references_of, shared_work
from viewkeeper.planning.steps import Compute
from viewkeeper.refresh_view import Planned, Refresh, plan_view, run_view
from viewkeeper.report import ViewReport
from viewkeeper.spark.shared_results import SharedResults
from viewkeeper.storage.relation import RelationState


@dataclass(frozen=True)
class Family:
    """Planned views, and the results that they share."""

    refresh: Refresh
    planned: Mapping[str, Planned]
    shared: SharedResults

    def run(self, name: str) -> ViewReport:
        return run_view(self.refresh, self.planned[name], self.shared)


def plan_family(refresh: Refresh, definitions: Sequence[ViewDefinition]) -> Family:
    """Chooses a way for every view; what several scripts do is then done once."""
    planned = {definition.name: plan_view(refresh, definition) for definition in definitions}
    sharing = {name: view for name, view in planned.items() if view.may_share}
    results = SharedResults(with_passes(_in_common(sharing), refresh.deltas.passes))
    for name, script in results.work.scripts.items():
        planned[name] = replace(planned[name], script=script)
    return Family(refresh, planned, results)


def _in_common(views: Mapping[str, Planned]) -> SharedWork:
    sizes = sizes_of(view.batch for view in views.values() if view.batch is not None)
    scripts = {name: view.script for name, view in views.items()}
    pasts = {name: view.task.old for name, view in views.items()}
    return shared_work(
        scripts, lambda plan, users: saved_by_sharing(plan, users, sizes), sizes.keyed, numbered(pasts)
    )


def with_passes(work: SharedWork, passes: Mapping[str, OnePass]) -> SharedWork:
    """The same with the passes over changes that scripts take their summary-deltas from."""
    for one in {one.name: one for one in passes.values()}.values():
        users = tuple(view for view in one.columns if one.name in references_of(work.scripts.get(view, ())))
        part = Compute(one.name, one.plan, f"for {', '.join(users)}", shared=True, held=True)
        if users:
            work = replace(work, parts=(part, *work.parts), users={**work.users, one.name: users})
    return work


def numbered(pasts: Mapping[str, Mapping[str, RelationState]]) -> dict[str, dict[str, int]]:
    """The states of their inputs that views last read, as numbers: the same number for the same state."""
    known: dict[str, list[RelationState]] = defaultdict(list)
    for states in pasts.values():
        for table, state in states.items():
            if state not in known[table]:
                known[table].append(state)
    return {
        view: {table: known[table].index(state) for table, state in states.items()}
        for view, states in pasts.items()
    }
