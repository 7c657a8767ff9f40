"""Relations that are written anew, and what became of them: the exact change, for those who read them.

    Δ  =  value(new main)  −  value(before)

A bag logs the rows that came and went. Of a relation whose layers merge by a key the keys of other rows are
logged: readers look these up in both states. Where nothing is different nothing is logged, and nobody above
has anything to do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from viewkeeper.algebra.build import minus, restricted_to
from viewkeeper.algebra.counts import consolidated, weighted
from viewkeeper.algebra.merge.net_effect import net_effect
from viewkeeper.algebra.relations import Distinct, Reference, Relation
from viewkeeper.spark.layer_frames import cast_to, layer_columns, place
from viewkeeper.spark.read import Reader
from viewkeeper.spark.session import DataFrame
from viewkeeper.storage.delta_log import commit_main, main_files
from viewkeeper.storage.merge_plans import layer_schema
from viewkeeper.storage.relation import RelationState

if TYPE_CHECKING:
    from viewkeeper.spark.execute import Execution

BEFORE, AFTER = "before", "after"


def write_anew(execution: Execution, relation: str, frame: DataFrame, is_compared: bool = False) -> None:
    """Writes a relation anew. Where it is compared, its log goes on; else nobody knows what has changed."""
    engine, draft = execution.engine, execution.draft
    state = draft.relations[relation]
    files = engine.write(cast_to(frame, state.columns), state.folder, execution.expected)
    removed = main_files(engine.folder, state.folder, state.main_version)
    version = commit_main(engine.folder, state.folder, state.main_version, state.columns, files, removed)
    rows = sum(file.rows for file in files)
    main = replace(state, main_version=version, main_rows=rows, overlay=())
    draft.put(relation, replace(main, log=(), complete_since=draft.version))
    execution.rows_written += rows
    execution.forget(relation)
    if is_compared and not state.is_identified:
        _log_difference(execution, relation, state)


def _log_difference(execution: Execution, relation: str, before: RelationState) -> None:
    """Logs what is different in a relation that has just been written anew."""
    draft, reader = execution.draft, Reader(execution.engine)
    state = draft.relations[relation]
    was, now = reader.rows(before), reader.rows(state)
    frame = reader.compared(state, difference(state), {BEFORE: was.frame, AFTER: now.frame})
    number = draft.next_sequence(relation)
    at = place(number, replaces=True) if state.merge is not None else place(number) if state.key else {}
    rows = cast_to(frame, layer_columns(state, frame.columns))
    files = execution.engine.write(rows, state.folder, execution.expected, at)
    draft.log_difference(relation, before, files)
    execution.note_read(f"{relation}__old", was.rows)
    execution.note_read(relation, now.rows)
    execution.rows_written += sum(file.rows for file in files)


def difference(state: RelationState) -> Relation:
    """What a relation's log says of a change from one state to another."""
    change = minus(Reference(AFTER, state.names), Reference(BEFORE, state.names))
    if state.merge is None:
        return net_effect(change)
    columns = state.merge.key or tuple(c.name for c in layer_schema(state) if c.name in state.names)
    return Distinct(restricted_to(consolidated(weighted(change)), columns))
