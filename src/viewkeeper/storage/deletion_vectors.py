"""Deletion vectors of Delta tables: which rows of a data file do not count, by their place in it.

A vector is a set of 64-bit numbers, a roaring bitmap in its portable form behind a magic number. It stands in
the log itself, as Z85 text, or in a file beside the data, which may hold several:

    version 1 | … | size (4 bytes, big-endian) | bitmap | CRC-32 (4 bytes, big-endian) | …
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap64

from viewkeeper.errors import MissingFile, StorageError

MAGIC = 1681511377
INLINE, RELATIVE, ABSOLUTE = "i", "u", "p"

_UUID = 20
"""So many characters of Z85 are the 16 bytes of a UUID; a folder may stand before them."""

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}


@dataclass(frozen=True)
class DeletionVector:
    """What the log says of a vector: where it is, how large, and how many rows it names."""

    storage: str
    path: str
    offset: int | None
    size: int
    rows: int

    @property
    def identity(self) -> str:
        """A file of the log is one file with one vector: this tells vectors apart."""
        return f"{self.storage}{self.path}" + ("" if self.offset is None else f"@{self.offset}")

    @property
    def file(self) -> str:
        """The path of its file, from the table's folder or from the root; none where the log holds it."""
        if self.storage != RELATIVE:
            return self.path if self.storage == ABSOLUTE else ""
        folder, code = self.path[:-_UUID], self.path[-_UUID:]
        name = f"deletion_vector_{uuid.UUID(bytes=z85_decoded(code))}.bin"
        return f"{folder}/{name}" if folder else name

    def to_json(self) -> list[Any]:
        return [self.storage, self.path, self.offset, self.size, self.rows]

    def to_log(self) -> dict[str, Any]:
        """The vector as an action of the log names it."""
        return {
            "storageType": self.storage,
            "pathOrInlineDv": self.path,
            "offset": self.offset,
            "sizeInBytes": self.size,
            "cardinality": self.rows,
        }

    @staticmethod
    def from_json(data: list[Any] | None) -> DeletionVector | None:
        return None if data is None else DeletionVector(*data)

    @staticmethod
    def from_log(data: Mapping[str, Any] | None) -> DeletionVector | None:
        """A vector from what an action of the log says."""
        if data is None:
            return None
        kind, path, offset = data["storageType"], data["pathOrInlineDv"], data.get("offset")
        return DeletionVector(kind, path, offset, data["sizeInBytes"], data["cardinality"])


def encoded(places: Sequence[BitMap64]) -> tuple[list[DeletionVector], bytes]:
    """Some vectors, and the content of the one file that holds them; its name is new."""
    code, content, found = z85(uuid.uuid4().bytes), bytearray(b"\x01"), []
    for one in places:
        data = MAGIC.to_bytes(4, "little") + one.serialize()
        found.append(DeletionVector(RELATIVE, code, len(content), len(data), len(one)))
        content += len(data).to_bytes(4) + data + zlib.crc32(data).to_bytes(4)
    return found, bytes(content)


def rows_of(vector: DeletionVector, read: Callable[[str], bytes]) -> BitMap64:
    """The rows that a vector names; `read` gives the bytes of its file."""
    if vector.storage == INLINE:
        return decode(z85_decoded(vector.path)[: vector.size], "the log")
    if vector.storage not in (RELATIVE, ABSOLUTE):
        what = f"A deletion vector is stored in a way that is not known: {vector.storage!r}."
        raise StorageError(what, vector.path, "Upgrade Viewkeeper.")
    content, start = read(vector.file), vector.offset or 0
    size, data = int.from_bytes(content[start : start + 4]), content[start + 4 : start + 4 + vector.size]
    check = content[start + 4 + vector.size : start + 8 + vector.size]
    if size != vector.size or len(data) != size or int.from_bytes(check) != zlib.crc32(data):
        raise MissingFile(
            f"The deletion vector in {vector.file} at {start} is damaged.",
            f"By the log it has {vector.size} bytes, by the file {size}; or its checksum is wrong.",
            "Restore the file from a backup.",
        )
    return decode(data, vector.file)


def decode(data: bytes, where: str) -> BitMap64:
    """The numbers of a bitmap with its magic number."""
    if int.from_bytes(data[:4], "little") != MAGIC:
        raise StorageError(f"The deletion vector in {where} is of a form that is not known.", hint="Upgrade.")
    try:
        return BitMap64.deserialize(data[4:])
    except (ValueError, EOFError) as error:
        raise MissingFile(f"The deletion vector in {where} is damaged.", str(error)) from error


def z85(data: bytes) -> str:
    """Bytes as Z85 text: four bytes are five characters.

    >>> z85(bytes.fromhex("864fd26fb559f75b"))
    'HelloWorld'
    """
    values = (int.from_bytes(data[start : start + 4]) for start in range(0, len(data), 4))
    return "".join(_ALPHABET[value // 85**power % 85] for value in values for power in (4, 3, 2, 1, 0))


def z85_decoded(text: str) -> bytes:
    """The bytes of Z85 text: five characters are four bytes.

    >>> z85_decoded("HelloWorld").hex()
    '864fd26fb559f75b'
    """
    found = bytearray()
    try:
        for start in range(0, len(text), 5):
            value = 0
            for character in text[start : start + 5]:
                value = value * 85 + _DIGITS[character]
            found += value.to_bytes(4)
    except (KeyError, OverflowError) as error:
        raise StorageError(f"{text[:40]!r} is no Z85 text.", "A deletion vector is written so.") from error
    return bytes(found)
