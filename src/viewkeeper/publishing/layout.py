"""How a published table is written: partitions, order, what becomes of rows that go, and the change feed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from viewkeeper.arrow.equality import first_rows, group_codes
from viewkeeper.errors import Unsupported

NULL = "__HIVE_DEFAULT_PARTITION__"

Partition = tuple[tuple[str, str | None], ...]
"""The values of a file's partition columns, as the Delta log writes them."""


@dataclass(frozen=True)
class Layout:
    """`vectors`: rows that go are marked by deletion vectors. `feed`: changes are written down as such.

    Each file holds the rows of one value of the columns `partition`; rows are ordered by `cluster`.
    """

    vectors: bool = True
    feed: bool = False
    partition: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        lists = {"partition": list(self.partition), "cluster": list(self.cluster)}
        return {"vectors": self.vectors, "feed": self.feed, **lists}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Layout:
        lists = (tuple(data.get(name, ())) for name in ("partition", "cluster"))
        return Layout(data["vectors"], data.get("feed", False), *lists)

    def ordered(self, rows: pa.Table) -> pa.Table:
        """Rows in the order of files, so that the ranges of these hardly overlap."""
        return rows.sort_by([(name, "ascending") for name in self.cluster]) if self.cluster else rows

    def parts(self, rows: pa.Table) -> Iterator[tuple[Partition, pa.Table]]:
        """The rows of each partition, without the columns that tell it."""
        if not self.partition or not rows.num_rows:
            yield (), rows
            return
        own = rows.select(list(self.partition))
        codes = group_codes(own.columns, rows.num_rows, exact=True)
        order = np.argsort(codes, kind="stable")
        ends = np.append(np.searchsorted(codes[order], np.arange(codes.max() + 1)), rows.num_rows)
        rest = rows.drop_columns(list(self.partition))
        for number, first in enumerate(first_rows(codes)):
            chosen = pa.array(order[ends[number] : ends[number + 1]])
            values = own.slice(int(first), 1).to_pylist()[0]
            yield tuple((name, told(name, value)) for name, value in values.items()), rest.take(chosen)


def folder_of(partition: Partition) -> str:
    """The folder of a partition's files: some readers take the values from its name."""
    return "".join(f"{_escaped(name)}={_escaped(value)}/" for name, value in partition)


def _escaped(text: str | None) -> str:
    return NULL if text is None else quote(text, safe=" ")


def told(column: str, value: Any) -> str | None:
    """A value of a partition column as the Delta log writes it; it has no way to write an empty text."""
    match value:
        case "":
            raise Unsupported(
                f"The column {column} has an empty text, which no partition of a Delta table can have.",
                "Readers would take it for NULL.",
                "Publish the view without this partition column, or with NULLIF(column, '').",
                columns=[column],
            )
        case None:
            return None
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def with_partition(rows: pa.Table, partition: Partition, schema: pa.Schema) -> pa.Table:
    """Rows of a file with the columns that its partition tells, in the order of a schema."""
    values = dict(partition)

    def column(field: pa.Field) -> pa.ChunkedArray:
        if field.name not in values:
            return rows[field.name]
        one = pa.array([values[field.name]], pa.string()).cast(field.type)
        return pa.chunked_array([one.take(pa.array(np.zeros(rows.num_rows, dtype=np.int64)))])

    return pa.table([column(field) for field in schema], schema=schema)


PLAIN = Layout()

__all__ = ["PLAIN", "Layout", "Partition", "told", "with_partition"]
