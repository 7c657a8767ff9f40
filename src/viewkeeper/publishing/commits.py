"""Delta commits put together action by action: what appears, what goes, and which warehouse version that is.

The commit file is created with put-if-absent. It names the warehouse's version twice: as a `txn` of the
application `viewkeeper`, and in `commitInfo`, where readers find it to line several views up.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column
from viewkeeper.errors import ConflictError
from viewkeeper.publishing.files import statistics
from viewkeeper.publishing.layout import Layout
from viewkeeper.publishing.table import PublishedFile, PublishedTable, log_path
from viewkeeper.storage.delta_log import delta_schema, delta_table
from viewkeeper.storage.objects import Folder, join

APPLICATION = "viewkeeper"
CHECKPOINT_EVERY = 10
KEPT_MILLISECONDS = 7 * 24 * 3600 * 1000
"""So long files that are removed stay for readers of earlier versions."""

_STATES = "_viewkeeper"
_NTZ = "timestampNtz"
_VECTORS = "deletionVectors"
_FEED = "changeDataFeed"


@dataclass(frozen=True)
class FileChange:
    """What a commit does: the files that go and come; `new_rows`: other rows are seen after it.

    `feed` are files that tell readers of the change feed what the others cannot.
    """

    removed: tuple[PublishedFile, ...] = ()
    added: tuple[PublishedFile, ...] = ()
    new_rows: bool = True
    operation: str = "WRITE"
    feed: tuple[PublishedFile, ...] = ()


def commit(
    folder: Folder,
    table: str,
    relation: str,
    old: PublishedTable | None,
    new: PublishedTable,
    change: FileChange,
) -> PublishedTable:
    """Makes the next version of a table; raises where another writer made it."""
    now = int(time.time() * 1000)
    version = new.delta_version
    gone = {file.path for file in change.removed} - {file.path for file in change.added}
    gone |= {file.path for file in change.feed}
    past = [pair for pair in new.removed if now - pair[1] < KEPT_MILLISECONDS]
    expired = [path for path, at in new.removed if now - at >= KEPT_MILLISECONDS]
    new = replace(new, removed=(*past, *((path, now) for path in sorted(gone))))
    state = f"{_STATES}/{version:020d}-{uuid.uuid4()}.json"
    folder.create(join(table, state), new.to_bytes())
    actions = [_info(relation, new, change, state, now), *_definition(old, new, now)]
    actions += [_remove(file, change.new_rows, now) for file in change.removed]
    actions += [_add(file, change.new_rows, now) for file in change.added]
    actions += [_feed(file) for file in change.feed]
    actions.append({"txn": {"appId": APPLICATION, "version": new.version, "lastUpdated": now}})
    content = "\n".join(json.dumps(action, separators=(",", ":")) for action in actions)
    if not folder.create(log_path(table, version), content.encode()):
        raise ConflictError(f"Another writer was first to publish version {version} of {relation}.")
    _clean(folder, table, version, expired)
    return new


def _clean(folder: Folder, table: str, version: int, expired: list[str]) -> None:
    """Keeps the log short, and removes what no reader needs any more."""
    if version and version % CHECKPOINT_EVERY == 0:
        log = delta_table(folder, table, version)
        log.create_checkpoint()
        log.cleanup_metadata()
    states = [path for path, _ in folder.listed(join(table, _STATES))]
    old = [path for path in states if int(path.rsplit("/", 1)[-1][:20]) < version - 1]
    folder.delete([*old, *(join(table, path) for path in expired)])


def _info(relation: str, new: PublishedTable, change: FileChange, state: str, now: int) -> dict[str, Any]:
    told = {"version": new.version, "relation": shown(relation), "state": state}
    info = {"timestamp": now, "operation": change.operation, "operationParameters": {}}
    return {"commitInfo": {**info, "engineInfo": APPLICATION, APPLICATION: told}}


def _definition(old: PublishedTable | None, new: PublishedTable, now: int) -> Iterable[Mapping[str, Any]]:
    """Protocol and schema, where they are new."""
    if old is not None and (old.columns, old.layout) == (new.columns, new.layout):
        return
    yield {"protocol": _protocol(new)}
    schema = delta_schema(replace(column, name=shown(column.name)) for column in new.columns)
    yield {
        "metaData": {
            "id": new.identity,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.to_json(),
            "partitionColumns": list(new.layout.partition),
            "configuration": _configuration(new.layout),
            "createdTime": now,
        }
    }


def _configuration(layout: Layout) -> dict[str, str]:
    known = {"delta.enableDeletionVectors": layout.vectors, "delta.enableChangeDataFeed": layout.feed}
    return {name: "true" for name, is_set in known.items() if is_set}


def _protocol(table: PublishedTable) -> dict[str, Any]:
    features = [_VECTORS] if table.layout.vectors else []
    features += [_NTZ] if any(_has_ntz(column) for column in table.columns) else []
    if not features:
        return {"minReaderVersion": 1, "minWriterVersion": 4 if table.layout.feed else 2}
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
        "writerFeatures": [*features, *([_FEED] if table.layout.feed else [])],
    }


def _has_ntz(column: Column) -> bool:
    return "timestamp_ntz" in column.type


def _add(file: PublishedFile, new_rows: bool, now: int) -> dict[str, Any]:
    return {
        "add": {
            "path": _encoded(file.path),
            "partitionValues": dict(file.partition),
            "size": file.bytes,
            "modificationTime": now,
            "dataChange": new_rows,
            "stats": statistics(file),
            **_vector(file),
        }
    }


def _remove(file: PublishedFile, new_rows: bool, now: int) -> dict[str, Any]:
    return {
        "remove": {
            "path": _encoded(file.path),
            "deletionTimestamp": now,
            "dataChange": new_rows,
            "extendedFileMetadata": True,
            "partitionValues": dict(file.partition),
            "size": file.bytes,
            **_vector(file),
        }
    }


def _feed(file: PublishedFile) -> dict[str, Any]:
    told = {"path": _encoded(file.path), "partitionValues": dict(file.partition), "size": file.bytes}
    return {"cdc": {**told, "dataChange": False}}


def _encoded(path: str) -> str:
    """A path as the log has it: a URI, relative to the table."""
    return quote(path, safe="/=")


def _vector(file: PublishedFile) -> dict[str, Any]:
    return {} if file.gone is None else {"deletionVector": file.gone.to_log()}
