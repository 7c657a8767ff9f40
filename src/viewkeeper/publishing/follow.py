"""Published tables brought to the newest entry of the log: one function from what they show to commits.

Called after an entry is committed, and whenever a refresh had nothing to do: what a crash left undone is made
up for. Each table remembers the state of its relation that it shows, so that the change is the difference of
two states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.counts import consolidated
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.relations import Reference
from viewkeeper.algebra.schema import COUNT
from viewkeeper.arrow.expressions import flat
from viewkeeper.arrow.plans import rows as plan_rows
from viewkeeper.arrow.states import States
from viewkeeper.arrow.types import stored_type
from viewkeeper.errors import MissingFile, NeedsSpark
from viewkeeper.publishing.options import Publication, checked_columns, checked_layout
from viewkeeper.publishing.publisher import Publisher, published_columns
from viewkeeper.publishing.table import Place, PublishedFile, PublishedTable
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.feed import visible_key
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState

LARGE = 1_000_000
"""The rows of a relation of more than so many are not held by the driver, except those that changed."""


@dataclass(frozen=True)
class StateReader:
    """Rows of states, and the signed rows between two; by Spark where Arrow cannot tell them."""

    states: States
    spark_rows: Callable[[RelationState], pa.Table]
    spark_signed: Callable[[RelationState, RelationState], pa.Table]
    spark_files: Callable[[RelationState, Place], list[PublishedFile]]

    def rows(self, state: RelationState) -> pa.Table:
        names = [column.name for column in published_columns(state)]
        try:
            return self.states.rows(state, names)
        except NeedsSpark:
            return self.spark_rows(state)

    def signed(self, old: RelationState, new: RelationState) -> pa.Table:
        """Of large relations Spark looks up what changed."""
        if new.stored_rows > LARGE:
            return self.spark_signed(old, new)
        try:
            return self.states.signed(old, new)
        except NeedsSpark:
            return self.spark_signed(old, new)


def follow_one(warehouse: Folder, one: Publication, entry: Entry, reader: StateReader) -> None:
    """Brings one published table to the state that an entry names."""
    state = entry.relations[one.relation]
    checked_columns(one.relation, published_columns(state))
    checked_layout(one.relation, one.layout, published_columns(state))
    publisher = publisher_of(warehouse, one, state)
    table = publisher.current()
    if table is None or table.columns != published_columns(state) or table.layout != one.layout:
        _anew(publisher, entry.version, state, reader)
    elif table.version < entry.version and table.shown != state:
        _change(publisher, table, entry.version, state, reader)


def _change(
    publisher: Publisher, table: PublishedTable, version: int, state: RelationState, reader: StateReader
) -> None:
    try:
        came, went = net(reader.signed(table.shown, state), state)
    except MissingFile:  # vacuum has left nothing of the state that the table shows
        _anew(publisher, version, state, reader)
        return
    publisher.change(table, version, state, came, went)


def _anew(publisher: Publisher, version: int, state: RelationState, reader: StateReader) -> None:
    """Publishes all rows; those of a large relation are written by Spark."""
    if state.stored_rows > LARGE and not publisher.layout.partition:
        place = Place(publisher.folder, publisher.table, publisher.layout.cluster)
        publisher.replace_files(version, state, reader.spark_files(state, place))
    else:
        publisher.replace(version, state, typed(reader.rows(state), state))


def publisher_of(warehouse: Folder, one: Publication, state: RelationState) -> Publisher:
    folder, table = one.home(warehouse)
    names = tuple(column.name for column in published_columns(state))
    key = tuple(shown(name) for name in visible_key(state, names) or ())
    return Publisher(folder, table, one.relation, key, one.layout)


def net(signed: pa.Table, state: RelationState) -> tuple[pa.Table, pa.Table]:
    """The rows that came, and those that went, each as often as it did."""
    names = [column.name for column in published_columns(state)]
    plan = consolidated(restricted_to(Reference("changes", tuple(signed.column_names)), (*names, COUNT)))
    rows = plan_rows(plan, {"changes": signed})
    counts = flat(rows[COUNT]).to_numpy(zero_copy_only=False)
    places = np.arange(rows.num_rows)
    came, went = (np.repeat(places, np.maximum(side, 0)) for side in (counts, -counts))
    return typed(rows.take(pa.array(came)), state), typed(rows.take(pa.array(went)), state)


def typed(rows: pa.Table, state: RelationState) -> pa.Table:
    """Rows as they are published: under the user's names, NOT NULL where columns are declared so."""
    columns = published_columns(state)
    fields = [pa.field(shown(c.name), stored_type(c.type), c.nullable) for c in columns]
    return pa.table([rows[c.name].cast(stored_type(c.type)) for c in columns], pa.schema(fields))
