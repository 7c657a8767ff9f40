"""A result that the driver holds for several steps, and what is each one's part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from viewkeeper.algebra.schema import Column
from viewkeeper.maintenance.numbered_parts import PART, PartOf
from viewkeeper.spark.layer_frames import Place, placed_rows


@dataclass(frozen=True)
class Held:
    """Rows on the driver, and the columns that they have for Spark."""

    table: pa.Table
    columns: tuple[Column, ...]

    def part(self, part: PartOf) -> Held:
        """The rows of one step, with its columns."""
        rows = self.table.filter(pc.equal(self.table[PART], part.number))
        kinds = {column.name: column for column in self.columns}
        columns = (Column(mine, kinds[name].type, kinds[name].nullable) for mine, name in part.columns)
        table = pa.table([rows[name] for _, name in part.columns], names=[mine for mine, _ in part.columns])
        return Held(table, tuple(columns))

    def has(self, columns: Sequence[Column]) -> bool:
        """Whether these columns are here, and in the types that they are stored in."""
        kinds = {column.name: column.type for column in self.columns}
        return all(kinds.get(column.name) == column.type for column in columns)

    def layer(self, columns: Sequence[Column], at: Place) -> pa.Table:
        """The rows as a layer of a keyed relation, with its place in the order of layers."""
        return placed_rows(self.table.select([column.name for column in columns]), at)


@dataclass(frozen=True)
class Result:
    """What a script has computed, and how many rows it has; what is `held` is on the driver."""

    frame: DataFrame | None
    rows: int
    held: Held | None = None
