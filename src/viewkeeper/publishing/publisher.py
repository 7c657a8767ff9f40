"""A published table follows its view: one commit for each change, of the rows that came and went.

    added files  =  the rows that came
    vectors      =  the places of the rows that went        or, by copy-on-write, their files anew

When the rows that are gone have become a share of a file, or small files many, a commit of its own writes
these anew; it changes no row.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from viewkeeper.algebra.schema import Column, is_hidden
from viewkeeper.errors import ConflictError
from viewkeeper.publishing.commits import FileChange, commit
from viewkeeper.publishing.feed import FOLDER, change_rows
from viewkeeper.publishing.files import read_columns, rows_left, write_files
from viewkeeper.publishing.layout import PLAIN, Layout
from viewkeeper.publishing.positions import Touched, touched_files
from viewkeeper.publishing.table import PublishedFile, PublishedTable, published_table
from viewkeeper.storage.deletion_vectors import encoded
from viewkeeper.storage.objects import Folder, join
from viewkeeper.storage.relation import RelationState

SHARE_GONE = 0.2
"""A file more of whose rows are gone is written anew."""

MOST_SMALL = 16
SMALL = 100_000
"""So many files of so few rows are written anew as one."""


@dataclass(frozen=True)
class Publisher:
    """Writes one published table; `relation` is the view's name, `key` what tells its rows apart."""

    folder: Folder
    table: str
    relation: str
    key: tuple[str, ...] = ()
    layout: Layout = PLAIN

    def current(self) -> PublishedTable | None:
        return published_table(self.folder, self.table)

    def replace(self, version: int, shown: RelationState, rows: pa.Table) -> PublishedTable:
        """Publishes all rows of a view anew, as a commit that readers of earlier versions do not notice."""
        return self.replace_files(version, shown, self._written(rows))

    def replace_files(
        self, version: int, shown: RelationState, files: Sequence[PublishedFile]
    ) -> PublishedTable:
        """The same with files that are written already."""
        old, added = self.current(), tuple(files)
        new = PublishedTable(
            0 if old is None else old.delta_version + 1,
            version,
            shown,
            published_columns(shown),
            added,
            str(uuid.uuid4()) if old is None else old.identity,
            self.layout,
            () if old is None else old.removed,
        )
        return self._commit(old, new, FileChange(() if old is None else old.files, added))

    def change(
        self, old: PublishedTable, version: int, shown: RelationState, came: pa.Table, went: pa.Table
    ) -> PublishedTable:
        """Publishes what changed since the version that a table shows."""
        if not (came.num_rows or went.num_rows):
            return old
        touched = touched_files(self.folder, self.table, old.files, went, self.key or went.column_names)
        removed = {one.file.path for one in touched}
        rest = [file for file in old.files if file.path not in removed]
        kept = self._with_vectors(touched) if self.layout.vectors else self._anew(touched, came.schema)
        added = (*kept, *self._written(came))
        newer = replace(old, delta_version=old.delta_version + 1, version=version, shown=shown)
        new = replace(newer, files=(*rest, *added))
        feed = self._feed(came, went) if self.layout.feed and touched else ()
        change = FileChange(tuple(one.file for one in touched), added, feed=feed)
        return self._compacted(self._commit(old, new, change), came.schema)

    def _written(self, rows: pa.Table) -> list[PublishedFile]:
        return write_files(self.folder, self.table, rows, self.layout)

    def _feed(self, came: pa.Table, went: pa.Table) -> tuple[PublishedFile, ...]:
        """The change as its feed tells it; of rows that only come the new files tell."""
        rows = change_rows(came, went, self.key)
        unordered = replace(self.layout, cluster=())
        return tuple(write_files(self.folder, self.table, rows, unordered, FOLDER))

    def _commit(self, old: PublishedTable | None, new: PublishedTable, change: FileChange) -> PublishedTable:
        return commit(self.folder, self.table, self.relation, old, new, change)

    def _with_vectors(self, touched: Sequence[Touched]) -> list[PublishedFile]:
        """The files with the places of what is gone; one of which nothing is left is not kept."""
        some = [one for one in touched if one.left.any()]
        places = [BitMap64(np.flatnonzero(~one.left).tolist()) for one in some]
        vectors, content = encoded(places)
        if vectors:
            self.folder.create(join(self.table, vectors[0].file), content)
        return [replace(one.file, gone=vector) for one, vector in zip(some, vectors, strict=True)]

    def _anew(self, touched: Sequence[Touched], schema: pa.Schema) -> list[PublishedFile]:
        """The rows that are left of some files, as new files."""
        found = []
        for one in touched:
            rows = read_columns(self.folder, self.table, one.file, schema).filter(pa.array(one.left))
            found += self._written(rows)
        return found

    def _compacted(self, table: PublishedTable, schema: pa.Schema) -> PublishedTable:
        """The table with few files, and few rows in them that are gone."""
        chosen = to_compact(table.files)
        if not chosen:
            return table
        rows = pa.concat_tables([schema.empty_table(), *rows_left(self.folder, self.table, chosen, schema)])
        added = tuple(self._written(rows))
        paths = {file.path for file in chosen}
        files = (*(file for file in table.files if file.path not in paths), *added)
        new = replace(table, delta_version=table.delta_version + 1, files=files)
        try:
            return self._commit(table, new, FileChange(tuple(chosen), added, False, "OPTIMIZE"))
        except ConflictError:
            return table  # another writer was first, and compacts when it is time to


def to_compact(files: Sequence[PublishedFile]) -> list[PublishedFile]:
    """The files that are written anew: those that lost a share of their rows, and many small ones."""
    worn = [file for file in files if file.left < (1 - SHARE_GONE) * file.rows]
    small = [file for file in files if file.left < SMALL]
    many = Counter(file.partition for file in small)
    crowded = [file for file in small if many[file.partition] >= MOST_SMALL]
    chosen = {file.path for file in (*worn, *crowded)}
    return [file for file in files if file.path in chosen]


def published_columns(state: RelationState) -> tuple[Column, ...]:
    """The columns that a published table has: those that users see."""
    return tuple(column for column in state.columns if not is_hidden(column.name))
