"""Stored relations at the states that a script was made for, and what is known of them unopened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from viewkeeper.algebra.relations import Form, Scan, State
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.read import Read, Reader, Source
from viewkeeper.sql.render import relation_name
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.following.known import in_the_form_of
from viewkeeper.storage.footers import OneOf
from viewkeeper.storage.relation import Layer, RelationState


def _at_once(table: str) -> None:
    """Rows that nobody has to wait for."""


@dataclass
class Pinned:
    """The stored relations that a script reads: as they are, and, in `old`, as they were at the last refresh
    of its view. `ready` returns when the new rows of a relation are there."""

    engine: SparkEngine
    draft: Draft
    old: Mapping[str, RelationState]
    rows_read: int = 0
    reads: dict[str, int] = field(default_factory=dict)
    sources: dict[Read, Source] = field(default_factory=dict)
    ready: Callable[[str], None] = _at_once

    def source(
        self, scan: Scan, columns: frozenset[str] | None = None, wanted: OneOf | None = None
    ) -> Source:
        """The stored relation behind a scan, in the form that the scan asks for; `columns` are those that
        must be right, where not all need be. Of a bag, files without `wanted` rows are left out."""
        wanted = None if self._state(scan).merge is not None else wanted
        read = Read(scan.table, scan.at, scan.form, columns, wanted)
        if read not in self.sources:
            self.sources[read] = source = self._open(read)
            self.note_read(relation_name(scan), source.rows)
        return self.sources[read]

    def note_read(self, name: str, rows: int) -> None:
        """Rows of files that were opened, for the report."""
        self.rows_read += rows
        self.reads[name] = self.reads.get(name, 0) + rows

    def _open(self, read: Read) -> Source:
        if read.at is State.NEW:
            self.ready(read.table)
        if self.engine.is_netting:
            return self._open_net(read)
        reader, state = Reader(self.engine), self._state(read)
        match read.form:
            case Form.CHANGES:
                old = self.old.get(read.table, state)
                return reader.changes(old, state, self.draft.between(old, state))
            case Form.SIGNED:
                return reader.counted(state, read.wanted)
            case Form.ROWS:
                return reader.rows(state, read.wanted, read.columns)

    def _open_net(self, read: Read) -> Source:
        """The same, net of what came and went, and written out: Spark would move conditions before that."""
        reader, state = Reader(self.engine), self._state(read)
        match read.form:
            case Form.CHANGES:
                old = self.old.get(read.table, state)
                found = reader.netted(reader.changes(old, state, self.draft.between(old, state)))
            case Form.SIGNED | Form.ROWS:
                found = reader.rows(state, needed=read.columns)
        has_gone = state.has_pending_deletes or (state.merge is None and state.has_diffs)
        is_whole = read.form is not Form.CHANGES and not has_gone
        rows = found if is_whole else replace(found, opened=self.engine.written_out(found.frame), held=None)
        return reader.signed(rows, state.names) if read.form is Form.SIGNED else rows

    def _state(self, read: Read | Scan) -> RelationState:
        """The state of a stored relation that is read."""
        new = self.draft.relations[read.table]
        return in_the_form_of(new, self.old.get(read.table, new)) if read.at is State.OLD else new

    def only_gained(self, relation: str) -> bool:
        """Whether a bag has gained rows and lost none, as the footers of its layers tell."""
        layers = self.layers(relation)
        return bool(layers) and all(layer.only_inserts for layer in layers)

    def only_lost(self, relation: str) -> bool:
        """Whether a bag has lost rows and gained none."""
        layers = self.layers(relation)
        return bool(layers) and all(layer.only_deletes for layer in layers)

    def layers(self, relation: str) -> tuple[Layer, ...]:
        """What happened to a relation since; none where that is not known."""
        state = self.draft.relations[relation]
        return self.draft.between(self.old.get(relation, state), state)

    def size(self, scan: Scan) -> int:
        """The rows of the files behind a scan, without opening them."""
        return self._state(scan).stored_rows

    def forget(self, relation: str) -> None:
        """A relation that was written to must be opened anew."""
        for read in [read for read in self.sources if read.table == relation]:
            del self.sources[read]

    def _forget_new(self, relation: str) -> None:
        """What the relation was before can still be read."""
        for read in [r for r in self.sources if r.table == relation and r.at is State.NEW]:
            del self.sources[read]
