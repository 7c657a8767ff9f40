"""Few signed rows that the driver holds: what is given as a list need not pass through Spark to be written.

net(r₁:c₁, …, rₙ:cₙ)  =  γ_row, sum(c)  without those whose counts cancel
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.algebra.schema import COUNT
from viewkeeper.spark.layer_frames import placed_rows
from viewkeeper.storage.overlay import has_plain_equality


def signed(rows: pa.Table, count: int) -> pa.Table:
    """The rows with a count of their own."""
    return placed_rows(rows, {COUNT: count})


def are_unequal(rows: pa.Table) -> bool:
    """Whether no row can equal another one than itself: 0.0 equals −0.0."""
    floats = (values for values in rows.columns if pa.types.is_floating(values.type))
    return not any(pc.any(pc.equal(values, 0)).as_py() for values in floats)


def net_of(tables: Sequence[pa.Table]) -> pa.Table | None:
    """The net effect of signed rows; None where Spark finds other rows equal than the driver does."""
    rows = pa.concat_tables(tables)
    if not rows.num_rows or pc.min(rows[COUNT]).as_py() > 0:
        return rows
    names = [name for name in rows.column_names if name != COUNT]
    if not has_plain_equality(rows.schema):
        return None
    found = rows.group_by(names, use_threads=False).aggregate([(COUNT, "sum")])
    net = pa.table([*(found[name] for name in names), found[f"{COUNT}_sum"]], names=[*names, COUNT])
    return net.filter(pc.not_equal(net[COUNT], 0))
