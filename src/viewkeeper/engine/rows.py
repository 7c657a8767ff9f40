"""Rows on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.algebra.schema import Column
from viewkeeper.engine.types import empty_table


@dataclass(frozen=True, eq=False)
class Held:
    """Rows that the driver holds, and the columns that they have for Spark."""

    table: pa.Table
    columns: tuple[Column, ...]

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def types(self) -> dict[str, str]:
        return {column.name: column.type for column in self.columns}

    def has(self, columns: Sequence[Column]) -> bool:
        """Whether these columns are here, and in the types that they are stored in."""
        return all(self.types.get(column.name) == column.type for column in columns)

    def select(self, columns: Sequence[Column]) -> Held:
        """The rows with these columns of them, in order."""
        return Held(self.table.select([column.name for column in columns]), tuple(columns))

    def is_zero(self, name: str) -> bool:
        """Whether a column is 0 in all rows."""
        return not pc.any(pc.not_equal(self.table[name], 0)).as_py()


def nothing(columns: Sequence[Column]) -> Held:
    """No rows of these columns."""
    return Held(empty_table(columns), tuple(columns))
