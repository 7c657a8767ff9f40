"""What views get from the views that they waited for: changes, summary-deltas, whole states."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.maintenance.strategy import Batch
from viewkeeper.refresh.batches import batches
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task


def derive(state: RefreshState) -> RefreshState:
    """Adds what is known once the views that these wait for are done (mumick97 section 5.5)."""
    return batches(state).each(lambda task: replace(task, batch=_with_offer(state, task)))


def _with_offer(state: RefreshState, task: Task) -> Batch:
    """The batch with the summary-delta that comes from elsewhere, and with the rows of a view that derives
    all of this one."""
    batch, derivations = task.batch, state.derivations
    offer, stored = derivations.offer(task.name, batch.stored.counted), batch.stored
    rows = {name: known.stored_rows for name, known in derivations.rows_before(task.name).items()}
    parent = derivations.whole(task.name)
    if parent is not None:
        rows[parent] = state.draft.relations[parent].stored_rows
    stored = replace(stored, sizes={**stored.sizes, **rows})
    return replace(batch, offer=offer, stored=stored)
