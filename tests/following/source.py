"""Delta tables as others write them: by `deltalake`, and with deletion vectors, which that cannot write."""

from __future__ import annotations

import json
import struct
import time
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyroaring import BitMap64

from viewkeeper.storage.deletion_vectors import MAGIC


def orders(ids: Iterable[int], status: str = "new") -> pa.Table:
    """Orders of a few customers; every seventh has no amount."""
    numbers = list(ids)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "customer": pa.array([number % 5 for number in numbers], pa.int32()),
            "amount": pa.array([None if n % 7 == 0 else n * 10 for n in numbers], pa.int64()),
            "status": pa.array([status] * len(numbers), pa.string()),
        }
    )


def appended(path: Path, rows: pa.Table, **options: Any) -> None:
    write_deltalake(str(path), rows, mode="append", **options)


def merged(path: Path, rows: pa.Table) -> None:
    """Updates the orders that are there, and inserts the others."""
    merge = DeltaTable(str(path)).merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def bitmap(rows: Iterable[int]) -> bytes:
    return MAGIC.to_bytes(4, "little") + BitMap64(rows).serialize()


def vector_file(data: bytes) -> tuple[bytes, int]:
    """A file with one vector, and where in it that begins."""
    return b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data)), 1


def delete_by_vector(path: Path, rows: Iterable[int]) -> None:
    """A commit that takes rows, by their places, out of the only file of a table, or of its vector."""
    log = path / "_delta_log"
    version = max(int(file.stem) for file in log.glob("*.json"))
    adds, features = {}, False
    for number in range(version + 1):
        for line in (log / f"{number:020d}.json").read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                adds = {action["add"]["path"]: action["add"]}
            features = features or bool(action.get("protocol", {}).get("readerFeatures"))
    [file] = adds.values()
    name, data = uuid.uuid4(), bitmap(rows)
    content, offset = vector_file(data)
    (path / f"deletion_vector_{name}.bin").write_bytes(content)
    told = {
        "storageType": "p",
        "pathOrInlineDv": str(path / f"deletion_vector_{name}.bin"),
        "offset": offset,
        "sizeInBytes": len(data),
        "cardinality": len(BitMap64(rows)),
    }
    now = int(time.time() * 1000)
    known = {name: file.get(name) for name in ("path", "partitionValues", "size", "deletionVector")}
    gone = {name: value for name, value in known.items() if value is not None}
    actions: list[dict[str, Any]] = [
        {"remove": {**gone, "deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}},
        {"add": {**file, "deletionVector": told, "dataChange": True}},
    ]
    if not features:
        names = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
        actions.insert(0, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **names}})
    text = "\n".join(json.dumps(action) for action in actions)
    (log / f"{version + 1:020d}.json").write_text(text + "\n")
