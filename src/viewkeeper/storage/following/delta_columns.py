"""What the files of a Delta table call its columns."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa

from viewkeeper.errors import StorageError
from viewkeeper.storage.following.places import address_of, footer
from viewkeeper.storage.following.state import SourceField
from viewkeeper.storage.objects import Folder


def names_in_file(folder: Folder, fields: tuple[SourceField, ...], path: str, size: int) -> tuple[str, ...]:
    """What a file calls the columns that it holds: in tables that go by numbers, the file itself is asked."""
    own = [field for field in fields if not field.partition]
    if all(field.number is None for field in own):
        return tuple(field.physical for field in own)
    return _names_by_number(folder, tuple(own), path, size)


@lru_cache(maxsize=10_000)
def _names_by_number(
    folder: Folder, fields: tuple[SourceField, ...], path: str, size: int
) -> tuple[str, ...]:
    schema = footer(folder, path, size).schema.to_arrow_schema()
    numbers = {(field.metadata or {}).get(b"PARQUET:field_id", b"").decode(): field for field in schema}
    for field in fields:
        known = numbers.get(str(field.number))
        if known is not None and not all(f"`{name}`" in field.type for name in _inner(known.type)):
            raise StorageError(
                f"The file {address_of(folder, path)} cannot be read.",
                f"Parts of its column {known.name} are called otherwise than the table's log says.",
                "Rewrite the table's files (OPTIMIZE or REORG).",
            )
    found = (numbers.get(str(field.number)) for field in fields)
    return tuple(
        field.physical if known is None else known.name for field, known in zip(fields, found, strict=True)
    )


def _inner(kind: pa.DataType) -> Iterable[str]:
    """The names of a type's parts that have one of their own."""
    if pa.types.is_struct(kind):
        for part in kind:
            yield part.name
            yield from _inner(part.type)
    elif pa.types.is_map(kind):
        yield from (*_inner(kind.key_type), *_inner(kind.item_type))
    elif pa.types.is_list(kind):
        yield from _inner(kind.value_type)
