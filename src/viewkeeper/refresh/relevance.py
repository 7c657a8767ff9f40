"""Leaving out changes that cannot matter (blakeley86 section 4), before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from viewkeeper import limits
from viewkeeper.algebra.expressions import Scalar, conjuncts, or_
from viewkeeper.algebra.walk import base_tables
from viewkeeper.maintenance.relevance.irrelevant_updates import Relevance, explained_relevance
from viewkeeper.maintenance.strategy import View
from viewkeeper.refresh.choose import was_maintained
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.spark.relevance import Question, relevant_rows
from viewkeeper.storage.relation import Layer, RelationState


def relevance(state: RefreshState) -> RefreshState:
    """Leaves out the changes that provably do not matter to a view: one action for all views."""
    if state.work.engine.is_netting:
        return state
    tasks = state.through_tables()
    filters: dict[Question, Scalar] = {}
    counted = {}
    for task in tasks:
        for table, (relation, layers) in _pending(state, task).items():
            found = view_relevance(task.view, table)
            if found is not None and not _keeps_all(found, layers):
                filters[task.name, table] = found.filter
                if _is_counted(task, table) and found.filter != exp.false():
                    counted[task.name, table] = (relation, layers)
    decided = {question: 0 for question, found in filters.items() if found == exp.false()}
    kept = {**relevant_rows(state.work.engine, filters, counted), **decided}
    return state.with_tasks(_reduced(task, filters, kept) for task in tasks)


def _pending(state: RefreshState, task: Task) -> dict[str, tuple[RelationState, tuple[Layer, ...]]]:
    """The layers of its tables that a view has not seen."""
    tables = [table for table, change in task.batch.changes.items() if not change.replaced]
    states = {table: state.draft.relations[table] for table in tables}
    return {table: (new, state.draft.between(task.old[table], new)) for table, new in states.items()}


def _is_counted(task: Task, table: str) -> bool:
    """Whether it is found out how many changes matter, which takes an action. Where that hardly leaves out a
    whole table, those that do not are left out while the others are computed with."""
    rows = task.batch.changes[table].rows
    return not was_maintained(task.earlier) or rows <= limits.LIMITS.relevance_counted


def _keeps_all(relevance: Relevance, layers: tuple[Layer, ...]) -> bool:
    """Whether the files' footers show that no change can be dropped: it is only about NULLs."""
    nulls = {name for layer in layers for file in layer.files for name in file.nulls}
    return _holds(relevance.filter, nulls)


def _holds(condition: Scalar, nulls: set[str]) -> bool:
    """Whether a condition holds in every row, as far as only `nulls` are NULL anywhere."""
    condition = condition.unnest()
    if isinstance(condition, exp.Or):
        return _holds(condition.left, nulls) or _holds(condition.right, nulls)
    return all(_is_present(part, nulls) for part in conjuncts(condition))


def _is_present(part: Scalar, nulls: set[str]) -> bool:
    if isinstance(part.unnest(), exp.Or):
        return _holds(part, nulls)
    tested = part.this.unnest() if isinstance(part, exp.Not) else None
    if not isinstance(tested, exp.Is) or not isinstance(tested.expression, exp.Null):
        return False
    return isinstance(tested.this, exp.Column) and tested.this.name not in nulls


def view_relevance(view: View, table: str) -> Relevance | None:
    """Which changes of a table may matter to a view or to its state; None where that cannot be said.

    Each stratum is taken by itself: state must be exact even where the view does not show it.
    """
    queries = [s.query for s in view.strata if s.query is not None and table in base_tables(s.query)]
    if view.query is None or not queries:
        return None
    found = [explained_relevance(query, table) for query in queries]
    if any(one.drops_nothing for one in found):
        return None
    some = [one for one in found if not one.drops_everything]
    condition = or_(*(one.filter for one in some)) if some else exp.false()
    return Relevance(table, tuple(o for one in found for o in one.occurrences), condition)


def _reduced(task: Task, filters: Mapping[Question, Scalar], kept: Mapping[Question, int]) -> Task:
    """Tables without a relevant change count as unchanged; the others keep their filter, but for those of
    which all changes are known to matter."""
    changes, dropped = {}, 0
    for table, change in task.batch.changes.items():
        question = (task.name, table)
        rows = kept.get(question, change.rows)
        dropped += change.rows - rows
        if rows:
            is_filtered = rows < change.rows or question not in kept
            changes[table] = replace(
                change, rows=rows, relevant=filters.get(question) if is_filtered else None
            )
    return replace(task, batch=replace(task.batch, changes=changes), rows_dropped=dropped)
