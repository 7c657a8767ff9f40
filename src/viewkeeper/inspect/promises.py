"""Whether what is declared of dimensions holds in the data, where a lattice would go by it."""

from __future__ import annotations

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.hierarchy import violations
from viewkeeper.maintenance.lattice.summary import is_exact
from viewkeeper.maintenance.strategy import bound
from viewkeeper.spark.execute import Execution
from viewkeeper.storage.draft import Draft
from viewkeeper.workspace import Workspace


def keeps_promises(work: Workspace, draft: Draft, edge: Edge) -> bool:
    """Whether an edge loses no digits, and the hierarchies along which it joins hold in the data."""
    return is_exact(edge) and all(
        _holds(work, draft, join.dimension.table, join.level, supplied)
        for join in edge.joins
        if join.level is not None
        for supplied in join.supplies
    )


def _holds(work: Workspace, draft: Draft, table: str, finer: str, coarser: str) -> bool:
    """Whether a declared hierarchy is true of a dimension; looked up once for each of its states."""
    state = draft.relations[table]
    names = tuple(name.rsplit("].", 1)[-1] for name in (finer, coarser))
    question = (table, state.folder, state.main_version, state.overlay, names)
    if question not in work.answers:
        counted = frozenset({table} if state.has_pending_deletes else ())
        plan: Relation = plain(bound(violations(draft.catalog.tables[table], *names), counted))
        frame = Execution(work.engine, draft, {}).frame(plan)
        work.answers[question] = not work.engine.rows(frame, 1)
    return work.answers[question]
