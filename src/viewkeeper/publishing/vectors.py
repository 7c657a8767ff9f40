"""Deletion vectors as published tables have them: the places of rows of a file that no longer count.

A vector is a roaring bitmap in its portable 64-bit form, behind a magic number. A file holds several:

    1 (a byte) | size (4 bytes, big-endian) | magic (4 bytes), bitmap | CRC-32 (4 bytes) | size | …
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap64

from viewkeeper.errors import StorageError
from viewkeeper.storage.objects import Folder, join

MAGIC = (1681511377).to_bytes(4, "little")
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


@dataclass(frozen=True)
class RowVector:
    """Where a vector is: the file that holds it, its place and size there, and how many rows it names."""

    code: str
    offset: int
    size: int
    rows: int

    @property
    def file(self) -> str:
        return f"deletion_vector_{uuid.UUID(self.code)}.bin"

    def action(self) -> dict[str, Any]:
        """The vector as actions of a Delta log name it."""
        return {
            "storageType": "u",
            "pathOrInlineDv": z85(uuid.UUID(self.code).bytes),
            "offset": self.offset,
            "sizeInBytes": self.size,
            "cardinality": self.rows,
        }

    def to_json(self) -> list[Any]:
        return [self.code, self.offset, self.size, self.rows]


def write_vectors(folder: Folder, table: str, places: Sequence[BitMap64]) -> list[RowVector]:
    """Writes some vectors into one new file."""
    code, content, found = uuid.uuid4().hex, bytearray(b"\x01"), []
    for one in places:
        data = MAGIC + one.serialize()
        found.append(RowVector(code, len(content), len(data), len(one)))
        content += len(data).to_bytes(4) + data + zlib.crc32(data).to_bytes(4)
    if found:
        folder.create(join(table, found[0].file), bytes(content))
    return found


def read_vector(folder: Folder, table: str, vector: RowVector | None) -> BitMap64:
    """The places that a vector names; none where there is no vector."""
    if vector is None:
        return BitMap64()
    start = vector.offset + 4
    data = folder.range(join(table, vector.file), start, start + vector.size + 4)
    bitmap, check = data[: vector.size], data[vector.size :]
    if bitmap[:4] != MAGIC or zlib.crc32(bitmap).to_bytes(4) != check:
        raise StorageError(f"The deletion vector {join(table, vector.file)} is damaged.")
    return BitMap64.deserialize(bitmap[4:])


def z85(data: bytes) -> str:
    """Bytes as Z85 text: four bytes are five characters.

    >>> z85(bytes.fromhex("864fd26fb559f75b"))
    'HelloWorld'
    """
    found = []
    for start in range(0, len(data), 4):
        value = int.from_bytes(data[start : start + 4])
        found += [_ALPHABET[value // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(found)
