"""Streams into tables: each micro-batch is one commit, which names it, so that it is applied once.

A stream is known by the id that Spark keeps in its checkpoint. A batch that was committed, and that Spark
brings again because it was stopped before it could note so, is found in the log and left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.collected import PendingChange
from viewkeeper.ddl.definitions import table_named, with_dependents
from viewkeeper.errors import InvalidChange, InvalidOption, StorageError
from viewkeeper.opening import opened
from viewkeeper.refresh.life import refresh
from viewkeeper.refresh.state import Request
from viewkeeper.spark.change_rows import Reading
from viewkeeper.spark.inputs import fitted, to_frame
from viewkeeper.spark.ordered_changes import OrderedChanges
from viewkeeper.spark.session import DataFrame, StreamingQuery
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.objects import Folder, join
from viewkeeper.transactions import MicroBatch, commit, commit_changes
from viewkeeper.workspace import Workspace

MODES = ("append", "upsert", "cdc")
CHECKPOINTS = "streams"
"""Where checkpoints are, below the warehouse, unless they are given another place."""


def apply_changes(
    work: Workspace, rows: Any, name: str, reading: Reading, batch: MicroBatch | None = None
) -> int:
    """Applies changes of keyed rows, in whatever order they come, as one commit."""
    base = work.log.latest()
    if batch is not None and batch.is_applied(base):
        return base.version
    schema = _keyed(table_named(base.catalog, name))
    with work.engine.keeping():
        frame = to_frame(work.engine.spark, rows)
        changes = OrderedChanges.read(work.engine, Draft(base, "transaction"), schema.name, frame, reading)
        return commit(work, lambda draft: changes.stage(work.engine, draft), batch)


def _keyed(schema: TableSchema) -> TableSchema:
    if not schema.key:
        raise InvalidChange(
            f"Changes cannot be applied to {schema.name}: it has no primary key, by which rows are found.",
            hint="Create it with a key, or append the changes as rows.",
            table=schema.name,
        )
    return schema


@dataclass(frozen=True)
class Ingestion:
    """What is done with each batch of a stream; plain data, which Spark Connect sends to its server."""

    path: str
    table: str
    mode: str
    reading: Reading
    checkpoint: str
    refresh: bool

    def __call__(self, rows: DataFrame, number: int) -> None:
        work = opened(self.path, rows.sparkSession)
        table = table_named(work.log.latest().catalog, self.table).name
        batch = MicroBatch(stream_of(self.checkpoint), number, table)
        if self.mode == "append":
            commit_changes(work, [PendingChange("insert", batch.table, rows)], batch)
        else:
            apply_changes(work, rows, self.table, self.reading, batch)
        catalog = work.log.latest().catalog
        views = with_dependents(catalog, batch.table)[1:]
        if self.refresh and views:
            refresh(work, Request(views))


def ingest(
    work: Workspace,
    frame: DataFrame,
    name: str,
    mode: str,
    reading: Reading,
    checkpoint: str | None,
    is_refreshed: bool,
    trigger: Mapping[str, Any] | None,
) -> StreamingQuery:
    """Starts the query; what is wrong with its columns or options is told before."""
    schema = table_named(work.log.latest().catalog, name)
    _check(frame, schema, mode, reading)
    place = Folder(checkpoint or join(work.log.folder.url, CHECKPOINTS, schema.name))
    batches = Ingestion(work.log.folder.url, shown(schema.name), mode, reading, place.url, is_refreshed)
    writer = frame.writeStream.foreachBatch(batches).option(
        "checkpointLocation", place.address("").rstrip("/")
    )
    if mode == "upsert":
        writer = writer.outputMode("update")
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()


def _check(frame: DataFrame, schema: TableSchema, mode: str, reading: Reading) -> None:
    if mode not in MODES:
        raise InvalidOption(f"mode cannot be {mode!r}.", f"It is one of {', '.join(MODES)}.")
    if not frame.isStreaming:
        raise InvalidChange(
            f"What is ingested into {schema.name} is no stream.",
            hint="Read it by spark.readStream; for rows that are there, use apply_changes().",
            table=schema.name,
        )
    if mode == "append" and reading != Reading(retention=reading.retention):
        raise InvalidOption(
            "Rows that are appended have no order, and none of them deletes.", hint="Use mode='cdc'."
        )
    if mode == "cdc" and not reading.order:
        raise InvalidOption(
            "mode='cdc' needs an order: the columns that say which of two changes of a row is the later one.",
            hint="Give order=…, or take mode='upsert' if each batch is later than those before.",
        )
    if mode == "append":
        fitted(frame, schema.columns, schema.name)
    else:
        reading.rows(frame, _keyed(schema))


def stream_of(checkpoint: str) -> str:
    """The id of the stream that has this checkpoint; another checkpoint is another stream."""
    folder = Folder(checkpoint, create=False)
    content = folder.read("metadata")
    try:
        return str(json.loads(content)["id"])
    except (ValueError, KeyError) as error:
        what = f"The checkpoint {folder.url} does not tell the id of its stream."
        raise StorageError(what, str(error), "Start the stream with another checkpoint.") from error
