"""Views that wait for the same others: planned together, they share what their scripts have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from viewkeeper.maintenance.lattice.one_pass import OnePass
from viewkeeper.maintenance.steps import Compute
from viewkeeper.planning.cost import saved_by_sharing, sizes_of
from viewkeeper.planning.shared_work import SharedWork, references_of, shared_work
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.spark.shared_results import SharedResults
from viewkeeper.storage.relation import RelationState


def share(state: RefreshState) -> RefreshState:
    """Adds what several scripts do, which is then done once, and leaves it out of these scripts.

    A script can share where it goes from one state of its inputs to another, as those of other views do.
    """
    sharing = {
        name: task
        for name, task in state.tasks.items()
        if task.choice is not None and not task.is_first and not task.is_redefined
    }
    work = with_passes(_in_common(sharing), state.derivations.passes)
    tasks = [replace(sharing[name], script=script) for name, script in work.scripts.items()]
    return replace(state.with_tasks(tasks), shared=SharedResults(work))


def _in_common(tasks: Mapping[str, Task]) -> SharedWork:
    sizes = sizes_of(task.batch for task in tasks.values())
    scripts = {name: task.script for name, task in tasks.items()}
    pasts = {name: task.old for name, task in tasks.items()}
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
