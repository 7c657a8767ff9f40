"""The files of an Iceberg snapshot, with the rows that deletes take out of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from struct import error as StructError
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from viewkeeper.errors import Unsupported
from viewkeeper.storage.deletion_vectors import INLINE, MAGIC, DeletionVector, z85
from viewkeeper.storage.following.delta_actions import Added
from viewkeeper.storage.following.state import SourceField

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

Key = tuple[str, str]

_KINDS = {"int", "bigint", "date", "string"}
"""Types whose bounds are values that sort as in Spark."""


def files_of_snapshot(table: Table, snapshot: Snapshot, fields: Sequence[SourceField]) -> Mapping[Key, Added]:
    """The data files of a snapshot, by their paths and by what is deleted of them."""
    from pyiceberg.manifest import DataFileContent

    entries = [
        entry
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    ]
    deletes = [one.data_file for one in entries if one.data_file.content is not DataFileContent.DATA]
    for file in deletes:
        if file.content is DataFileContent.EQUALITY_DELETES:
            raise _unread(table, file, "deletes rows by their values (equality deletes)")
    gone = deleted_places((_content(table, file) for file in deletes), deletes)
    found = {}
    for entry in entries:
        if entry.data_file.content is DataFileContent.DATA:
            file = entry.data_file
            if file.file_format.value.lower() != "parquet":
                raise _unread(table, file, f"is of the format {file.file_format.value}")
            own = _added(file, table, fields, gone.get(plain_path(file.file_path)))
            found[own.key] = own
    return found


def deleted_places(contents: Iterable[bytes], files: Sequence[DataFile]) -> dict[str, BitMap64]:
    """The places of rows that are gone, by the paths of data files. A deletion vector replaces others."""
    places: dict[str, BitMap64] = defaultdict(BitMap64)
    vectors: dict[str, BitMap64] = {}
    for content, file in zip(contents, files, strict=True):
        if file.file_format.value.lower() == "puffin":
            vectors |= {plain_path(path): rows for path, rows in _of_puffin(content)}
            continue
        rows = pq.read_table(pa.BufferReader(content), columns=["file_path", "pos"])
        for path, place in zip(*(rows[name].to_pylist() for name in ("file_path", "pos")), strict=True):
            places[plain_path(path)].add(place)
    return {**places, **vectors}


def _of_puffin(content: bytes) -> Iterator[tuple[str, BitMap64]]:
    from pyiceberg.table.puffin import PuffinFile

    for path, rows in PuffinFile(content).to_vector().items():
        yield path, BitMap64(rows.to_pylist())


def vector_of(places: BitMap64) -> DeletionVector:
    """A set of places as a vector that stands where it is named."""
    data = MAGIC.to_bytes(4, "little") + places.serialize()
    return DeletionVector(INLINE, z85(data + bytes(-len(data) % 4)), None, len(data), len(places))


def plain_path(address: str) -> str:
    """An address as Spark and the disk know it."""
    if not address.startswith("file:"):
        return address
    return "/" + address.removeprefix("file:").lstrip("/")


def _content(table: Table, file: DataFile) -> bytes:
    with table.io.new_input(file.file_path).open() as opened:
        return bytes(opened.read())


def _added(file: DataFile, table: Table, fields: Sequence[SourceField], gone: BitMap64 | None) -> Added:
    vector = vector_of(gone) if gone else None
    return Added(
        plain_path(file.file_path), int(file.file_size_in_bytes), (), _statistics(file, table, fields), vector
    )


def _statistics(file: DataFile, table: Table, fields: Sequence[SourceField]) -> str:
    """What the manifest tells of a file's values, by the names that the fields have."""
    own = {f.number: f.physical for f in fields if f.number is not None and f.type in _KINDS}
    low, high = (_bounds(told, table, own) for told in (file.lower_bounds, file.upper_bounds))
    counts = file.null_value_counts or {}
    nulls = {name: counts[number] for number, name in own.items() if number in counts}
    told = {"numRecords": file.record_count, "minValues": low, "maxValues": high, "nullCount": nulls}
    return json.dumps(told)


def _bounds(told: Mapping[int, bytes] | None, table: Table, own: Mapping[int, str]) -> dict[str, Any]:
    from pyiceberg.conversions import from_bytes

    found = {}
    types = {number: kind for schema in table.schemas().values() for number, kind in _types(schema)}
    for number, name in own.items():
        data = (told or {}).get(number)
        if data is None:
            continue
        try:
            value: Any = from_bytes(types[number], data)
        except (StructError, KeyError, ValueError):
            continue
        is_day = str(types[number]) == "date"
        found[name] = (date(1970, 1, 1) + timedelta(days=value)).isoformat() if is_day else value
    return found


def _types(schema: Any) -> Iterator[tuple[int, Any]]:
    for field in schema.fields:
        yield field.field_id, field.field_type


def _unread(table: Table, file: DataFile, why: str) -> Unsupported:
    return Unsupported(
        f"The Iceberg table {'.'.join(table.name())} cannot be followed.",
        f"Its file {file.file_path} {why}, which is not read.",
        "Rewrite the table's files, then refresh.",
    )
