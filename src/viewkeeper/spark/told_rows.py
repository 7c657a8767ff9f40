"""Rows of states and of changes, told by Spark: where they cannot be told without it, or are many."""

from __future__ import annotations

import uuid

import pyarrow as pa

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import COUNT, is_hidden
from viewkeeper.publishing.table import Place, PublishedFile
from viewkeeper.spark.access import access_to
from viewkeeper.spark.failures import as_ours
from viewkeeper.spark.feed import signed_changes
from viewkeeper.spark.frames import quoted
from viewkeeper.spark.read import Reader
from viewkeeper.spark.stored_relations import ordered
from viewkeeper.storage.footers import null_counts, ranges, read_footer
from viewkeeper.storage.objects import join
from viewkeeper.storage.relation import RelationState


def rows_told(reader: Reader, state: RelationState) -> pa.Table:
    """The rows of a state, with all stored columns."""
    return reader.rows(state).frame.select(*state.names).toArrow()


def signed_told(reader: Reader, old: RelationState, new: RelationState) -> pa.Table:
    """The rows that came and went between two states, with counts."""
    return signed_changes(reader, old, new).frame.select(*new.names, COUNT).toArrow()


def files_told(reader: Reader, state: RelationState, place: Place) -> list[PublishedFile]:
    """The rows of a state as new files of a published table, which Spark writes; nothing names them yet."""
    engine = reader.engine
    names = [column.name for column in state.columns if not is_hidden(column.name)]
    rows = reader.rows(state).frame.selectExpr(*(f"{quoted(n)} AS {quoted(shown(n))}" for n in names))
    frame = ordered(rows, place.cluster)
    path = join(place.table, f"part-{uuid.uuid4()}")
    engine.count_action()
    with engine.settings(), as_ours():
        written = access_to(engine.spark, place.folder).write(frame, path)
    return [_published(place, path, size) for path, size in written]


def _published(place: Place, path: str, size: int) -> PublishedFile:
    footer = read_footer(place.folder, path, size)
    found = {name: ends for name, ends in ranges(footer).items() if not isinstance(ends[0], bool)}
    name = path.removeprefix(place.table).lstrip("/")
    return PublishedFile(name, footer.num_rows, size, found, null_counts(footer))
