"""Definitions of views against what is stored: made, changed, and brought into the form of today.

Another version of Viewkeeper may have kept other state for the same text: other columns, or other ways in
which layers merge. What it stored can be read, for a relation says itself how, but changes cannot be merged
into it. Such a view is made anew, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.prune import over_used_columns, pruned
from viewkeeper.algebra.schema import Column, is_hidden
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.errors import AmbiguousColumn, DependencyError, InvalidSQL, UnknownColumn
from viewkeeper.maintenance.recursion.stored_strata import stored_names
from viewkeeper.maintenance.refusals import redefined
from viewkeeper.maintenance.strategy import Stratum, View
from viewkeeper.maintenance.typed_calls import types_of, with_types
from viewkeeper.spark.analysis import (
    StoredColumns,
    analysed_columns,
    kept_columns,
    other_schema,
    strata_columns,
    summed_types,
)
from viewkeeper.spark.calls import other_calls
from viewkeeper.spark.stored_relations import new_relation
from viewkeeper.storage.clocks import set_clocks
from viewkeeper.storage.column_types import check_types
from viewkeeper.storage.draft import Draft, propagated_name
from viewkeeper.storage.relation import RelationState
from viewkeeper.views import IDS, as_written, clocks_of, compiled, is_beyond_spark, over_base_tables
from viewkeeper.workspace import Workspace


def renewed(work: Workspace, draft: Draft, outdated: ViewDefinition) -> None:
    """Makes a view whose state has not the form that is asked for now anew, still empty."""
    _without_rows(draft, outdated)
    define(work, draft, _bare(outdated))


def without_plan(work: Workspace, draft: Draft, known: ViewDefinition, why: str) -> None:
    """Makes a view whose plan cannot be run, though its text can, one whose text is run; still empty."""
    _without_rows(draft, known)
    define(work, draft, _bare(known), unplanned=why)


def is_outdated(definition: ViewDefinition, catalog: Catalog, relations: Mapping[str, RelationState]) -> bool:
    """Whether what is stored of a view is not what its definition asks for now."""
    view = compiled(definition, catalog)
    if {stratum.name for stratum in view.strata} != {definition.name, *definition.state}:
        return True
    return _lacks_types(definition, view) or not all(_fits(one, relations[one.name]) for one in view.strata)


def _lacks_types(definition: ViewDefinition, view: View) -> bool:
    """Whether Spark was never asked for the types of what a view sums up, and they may matter.

    It is not asked for those of sums that the view keeps for others.
    """
    if definition.types or definition.hidden or view.query is None:
        return False
    known = types_of(view.query, lambda _, arguments: ("double",) * len(arguments))
    return with_types(view.query, known) != view.query


def _fits(stratum: Stratum, stored: RelationState) -> bool:
    is_of_form = (stored.merge, stored.key) == (stratum.merge, stratum.key)
    return is_of_form and set(_columns_read(stratum)) <= set(stored.names)


def _columns_read(stratum: Stratum) -> tuple[str, ...]:
    """The columns that maintenance reads of a stratum."""
    if stratum.state is not None:
        return stratum.state.columns
    if stratum.fixpoint is not None:
        return stored_names(stratum.fixpoint, stratum.fixpoint.result)
    return stratum.query.columns if stratum.query is not None else ()


def redefine(work: Workspace, draft: Draft, known: ViewDefinition, changed: ViewDefinition) -> None:
    """Gives a view another definition. Its rows stay where the change can be maintained."""
    rows = _without_rows(draft, known)
    define(work, draft, _bare(changed))
    _redefine_dependents(work, draft, known.name)
    new = draft.catalog.views[known.name]
    view = replace(compiled(new, draft.catalog), before=compiled(known, draft.base.catalog))
    fits = {name: draft.relations[name].columns for name in (new.name, *new.state)} == {
        name: state.columns for name, state in rows.items()
    }
    if known.position is not None and fits and _same_meaning(new, known) and redefined(view) is None:
        draft.relations.update(rows)
        draft.put_view(replace(new, position=known.position, published=known.published))
        draft.redefined[known.name] = known
    elif _is_of_form(draft.relations[known.name], rows[known.name]):
        draft.put(known.name, rows[known.name])  # what it is filled with is compared with them


def _is_of_form(one: RelationState, other: RelationState) -> bool:
    """Whether rows of the one can be held against rows of the other."""
    return (one.columns, one.merge, one.key) == (other.columns, other.merge, other.key)


def _same_meaning(one: ViewDefinition, other: ViewDefinition) -> bool:
    """Whether the rows of both were found under the same settings."""
    return one.settings == other.settings


def _without_rows(draft: Draft, known: ViewDefinition) -> dict[str, RelationState]:
    """Takes what is stored of a view out of the draft."""
    rows = {name: draft.relations.pop(name) for name in (known.name, *known.state)}
    for name in rows:
        draft.relations.pop(propagated_name(name), None)
    return rows


def _bare(definition: ViewDefinition) -> ViewDefinition:
    """The definition as it is before Spark is asked about it, and before it is filled."""
    return replace(definition, position=None, published=None, propagated=None, state=(), columns=())


def define(work: Workspace, draft: Draft, definition: ViewDefinition, unplanned: str = "") -> None:
    """Checks the query, asks Spark for its types, and makes the relations that it needs. `unplanned` says why
    its text is to be run as it is."""
    keyed = dict(definition.properties).get(IDS) == "auto"
    hidden, bare = definition.hidden, replace(definition, unplanned="", keyed=keyed)
    definition = as_written(bare, draft.catalog)
    made = [clock for clock in clocks_of(definition) if clock.relation not in draft.relations]
    set_clocks(draft, made, datetime.now(UTC))
    with work.under(definition):
        analysed = _analysed(work, draft, definition)
        definition = replace(over_base_tables(analysed, draft.catalog), hidden=hidden)
        view = compiled(definition, draft.catalog)
        asked = kept_columns if analysed.columns else strata_columns
        stored = unplanned or asked(work.engine, draft, view)
        if isinstance(stored, str):
            definition = replace(analysed, unplanned=stored)
            view = compiled(definition, draft.catalog)
            stored = strata_columns(work.engine, draft, view)
        _make_relations(work, draft, view, stored)
    columns = definition.columns or _visible(draft.relations[view.name].columns)
    draft.put_view(replace(definition, columns=columns, state=tuple(s.name for s in view.strata[:-1])))


def _analysed(work: Workspace, draft: Draft, definition: ViewDefinition) -> ViewDefinition:
    """The definition with what Spark says about it: its columns, and the types of what it sums up."""
    if not is_beyond_spark(definition, draft.catalog):
        columns = analysed_columns(work.engine, draft, definition.sql)
        check_types(columns, definition.name)
        definition = replace(definition, columns=columns)
        written = compiled(definition, draft.catalog)
        unplanned = other_schema(work.engine, draft, written) or other_calls(work.engine, draft, written)
        definition = replace(definition, unplanned=unplanned)
    plan = compiled(definition, draft.catalog).query
    return definition if plan is None else replace(definition, types=summed_types(work.engine, draft, plan))


def _visible(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(column for column in columns if not is_hidden(column.name))


def _make_relations(work: Workspace, draft: Draft, view: View, columns: StoredColumns) -> None:
    for stratum in view.strata:
        own = columns[stratum.name]
        state = new_relation(work.engine, stratum.name, own, draft.version, stratum.key, stratum.merge)
        draft.put(stratum.name, state)


def _redefine_dependents(work: Workspace, draft: Draft, name: str) -> None:
    """Views that read a view must still be valid over it; what summarizes it may now be another summary."""
    for dependent in (draft.catalog.views[other] for other in draft.catalog.dependents(name)):
        written = as_written(dependent, draft.catalog)
        _must_be_valid(work, draft, written)
        if name in dependent.above or _has_other_columns(work, draft, written):
            redefine(work, draft, dependent, replace(dependent, hidden=()))


def redefine_readers(work: Workspace, draft: Draft, name: str, is_anew: bool) -> None:
    """A table got other columns: views must still be valid over it, and those of which it makes something
    else are defined anew; `is_anew`: all are, for columns have other types."""
    for dependent in (draft.catalog.views[other] for other in draft.catalog.dependents(name)):
        written = as_written(dependent, draft.catalog)
        try:
            _must_be_valid(work, draft, written)
            if is_anew or _has_other_columns(work, draft, written) or _means_else(dependent, draft):
                redefine(work, draft, dependent, replace(dependent, hidden=()))
        except InvalidSQL as problem:
            raise DependencyError(
                f"The view {dependent.name} cannot be kept: {name} has other columns now.",
                str(problem),
                "Alter or drop the view, then refresh.",
                view=dependent.name,
                table=name,
            ) from problem


def _means_else(view: ViewDefinition, draft: Draft) -> bool:
    """Whether the plan of a view is another one with the columns that its tables have now."""
    before, after = compiled(view, draft.base.catalog).query, compiled(view, draft.catalog).query
    if before is None or after is None:
        return before is not after
    try:
        return over_used_columns(pruned(before)) != over_used_columns(pruned(after))
    except MalformedPlan:
        return True


def _has_other_columns(work: Workspace, draft: Draft, view: ViewDefinition) -> bool:
    """Whether Spark now gives other columns to a text: what it reads has changed."""
    if is_beyond_spark(view, draft.catalog):
        return False
    with work.under(view):
        return analysed_columns(work.engine, draft, view.sql) != view.columns


def _must_be_valid(work: Workspace, draft: Draft, view: ViewDefinition) -> None:
    """Refuses what makes a view read columns that are not there; Spark may know names that we do not."""
    try:
        compiled(replace(view, columns=()), draft.catalog)
    except (UnknownColumn, AmbiguousColumn) as problem:
        try:
            analysed_columns(work.engine, draft, view.sql)
        except InvalidSQL:
            raise problem from None
