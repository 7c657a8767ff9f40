"""ID-based diffs as a strategy: what is stored, and the Δ-script of a batch (katsis15, Figure 4).

    v(IDs, columns)   main, and layers that are i-diffs: a part of the IDs, and the columns that they set
    __v_n3(…)         intermediate caches, stored alike

The Δ-script is made when the view is defined. In a refresh the logs of the changed tables are taken
first, where it is not known how they changed: they tell which base-table diffs have rows, and the
script for these is what runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, literal, same
from viewkeeper.algebra.merge.spec import DiffKind, MergeSpec, Operator
from viewkeeper.algebra.relations import Project, Reference, Relation
from viewkeeper.algebra.walk import rewrite
from viewkeeper.maintenance.id_diffs import IdView
from viewkeeper.maintenance.id_diffs.diffs import Diff
from viewkeeper.maintenance.id_diffs.schemas import base_tables, belongs, modification_log
from viewkeeper.maintenance.refusals import replaced_input
from viewkeeper.maintenance.steps import ApplyDiffs, Compute, Script, Step
from viewkeeper.maintenance.strategy import Batch, Stratum, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.report import Reason

ID_DIFFS = "id-diffs"
TUPLE_DIFFS = "tuple-diffs"


class IdDiffs:
    """i-diffs, or with `tuple_based` the same scripts with one diff row for each view row."""

    def __init__(self, tuple_based: bool = False) -> None:
        self.name = TUPLE_DIFFS if tuple_based else ID_DIFFS

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        match view.by_ids:
            case IdView() if view.before is None:
                is_asked = view.asked in (ID_DIFFS, TUPLE_DIFFS)
                return replaced_input(batch) or (None if is_asked else _not_updates(view.by_ids, batch))
            case IdView():
                return Reason("redefined", "Its rows are those of another definition.")
            case Reason(code, sentence):
                return Reason(code, sentence)
            case None:
                return Reason("not-asked", "It is stored without IDs, and nobody asks for them.")

    def state(self, view: View) -> tuple[Stratum, ...]:
        return view.strata[:-1]

    def plan(self, view: View, batch: Batch) -> Script:
        assert isinstance(view.by_ids, IdView)
        return tuple(_steps(view.by_ids, batch))


def _not_updates(definition: IdView, batch: Batch) -> Reason | None:
    """Why a batch is left to signed rows where nobody asks for ID-based diffs."""
    known: set[str] = set()
    for name, change in batch.changes.items():
        if change.updates is None:
            return Reason("not-updates", f"The changes of {name} are not just updates of rows.")
        known |= _told(definition.diffs_of(name), change) or set()
    if definition.script(known).only_updates:
        return None
    return Reason("conditional", "A condition of the view looks at a column that was updated.")


def id_strata(definition: IdView) -> tuple[Stratum, ...]:
    """The caches and the view, each with the IDs that its rows are named by."""
    return tuple(
        Stratum(stored.name, stored.plan, merge=_spec(stored.plan.columns, stored.ids))
        for stored in definition.script().stored
    )


def _spec(columns: tuple[str, ...], ids: tuple[str, ...]) -> MergeSpec:
    sets = tuple((name, Operator.SET) for name in columns if name not in ids)
    return MergeSpec(ids, sets, identified=True)


def _steps(definition: IdView, batch: Batch) -> Iterator[Step]:
    known, flags = set(), []
    for table in base_tables(definition.top, definition.schemas):
        if table.name not in batch.changed:
            continue
        found = definition.diffs_of(table.name)
        told = _told(found, batch.changes[table.name])
        if told is not None:
            known |= told
            continue
        log = hidden_name(table.log.name)
        marks = {diff.name: f"__{diff.name}" for diff in found}
        tests = [Named(marks[diff.name], zero_or_one(belongs(diff.schema))) for diff in found]
        plan = Project(modification_log(table), (*same(table.log.columns), *tests))
        yield Compute(log, plan, "modification log", counted=True, flags=tuple(marks.values()), log=table)
        flags += [(name, log, mark) for name, mark in marks.items()]
    yield ApplyDiffs(definition, frozenset(known), tuple(flags))


def _told(diffs: Iterable[Diff], change: TableChange) -> set[str] | None:
    """The diffs that may have rows, where the kind of change is known before the log is taken."""
    if change.only_inserts:
        return {diff.name for diff in diffs if diff.schema.kind is DiffKind.INSERT}
    if change.updates is None:
        return None
    updates = (diff for diff in diffs if diff.schema.kind is DiffKind.UPDATE)
    return {diff.name for diff in updates if change.updates & set(diff.schema.updated)}


def zero_or_one(condition: exp.Expr) -> exp.Expr:
    """A flag: a column of 1 where a condition holds."""
    return exp.Case().when(condition, literal(1)).else_(literal(0))


def hidden_name(name: str) -> str:
    """Results of a script under names that no table, cache or state of a relation has."""
    return f"__{name}__"


def hidden(plan: Relation) -> Relation:
    """A plan of the script over results under their hidden names."""

    def rename(node: Relation) -> Relation:
        return Reference(hidden_name(node.name), node.columns) if isinstance(node, Reference) else node

    return rewrite(plan, rename)


__all__ = ["ID_DIFFS", "TUPLE_DIFFS", "IdDiffs", "hidden", "hidden_name", "id_strata"]
