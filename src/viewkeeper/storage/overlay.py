"""The layers of a bag laid over each other by the driver: few rows, one layer that means the same.

    (main ▷ D₁ ∪ … ∪ Dₙ)  ∪  (I₁ ▷ D₂ ∪ … ∪ Dₙ)  ∪  …  ∪  Iₙ    =    (main ▷ D)  ∪  I

Spark would join every layer with main on its own. Only layers that leave no copy of what they delete can be
laid over each other so (`layers.bag_in_turn`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from viewkeeper.algebra.schema import COUNT

Row = tuple[Any, ...]


def has_plain_equality(schema: pa.Schema) -> bool:
    """Whether rows are equal here exactly when Spark finds them so: there NaN equals itself, and 0.0 −0.0."""
    return not any(pa.types.is_floating(field.type) for field in schema)


def one_layer(layers: Sequence[pa.Table], key: Sequence[str]) -> pa.Table:
    """All deletions of some layers, oldest first, and the insertions that no later layer deletes."""
    schema = layers[0].schema
    names = [name for name in schema.names if name != COUNT]
    by = [names.index(name) for name in key or names]
    gone: dict[Row, Row] = {}
    kept: dict[Row, list[tuple[Row, int]]] = {}
    for layer in layers:
        counts: list[int] = layer.column(COUNT).to_pylist()
        rows = list(zip(*(layer.column(name).to_pylist() for name in names), strict=True))
        for row in (row for row, count in zip(rows, counts, strict=True) if count < 0):
            named = tuple(row[place] for place in by)
            gone[named] = row
            kept.pop(named, None)
        for row, count in zip(rows, counts, strict=True):
            if count > 0:
                kept.setdefault(tuple(row[place] for place in by), []).append((row, count))
    result = [(*row, -1) for row in gone.values()]
    result += [(*row, count) for copies in kept.values() for row, count in copies]
    values = zip(*result, strict=True) if result else ((),) * (len(names) + 1)
    columns = dict(zip((*names, COUNT), values, strict=True))
    return pa.table([pa.array(columns[f.name], type=f.type) for f in schema], schema=schema)
