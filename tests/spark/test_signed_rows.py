"""The net effect of signed rows on the driver, against counting them one by one."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest

from viewkeeper.algebra.schema import COUNT
from viewkeeper.spark.signed_rows import net_of, signed

KINDS = pa.schema([("a", pa.int32()), ("b", pa.string())])


def table(rows: list[tuple[int | None, str | None]]) -> pa.Table:
    values = [list(column) for column in zip(*rows, strict=True)] if rows else [[], []]
    return pa.table(dict(zip(KINDS.names, values, strict=True)), schema=KINDS)


@pytest.mark.parametrize("seed", range(30))
def test_equal_rows_add_up_and_cancel(seed: int) -> None:
    dice = Random(seed)
    expected: Counter[tuple[int | None, str | None]] = Counter()
    parts = []
    for _ in range(dice.randint(1, 4)):
        rows = [(dice.choice([1, 2, None]), dice.choice(["x", "", None])) for _ in range(dice.randint(0, 6))]
        count = dice.choice([1, -1])
        parts.append(signed(table(rows), count))
        for row in rows:
            expected[row] += count
    net = net_of(parts)
    assert net is not None
    assert net.column_names == ["a", "b", COUNT]
    found: Counter[tuple[int | None, str | None]] = Counter()
    for a, b, count in zip(*(net[name].to_pylist() for name in net.column_names), strict=True):
        assert count
        found[a, b] += count
    assert found == Counter({row: count for row, count in expected.items() if count})


def test_values_that_spark_compares_in_another_way_are_left_to_it() -> None:
    floats = pa.table({"x": [0.0, float("nan")]})
    assert net_of([signed(floats, 1), signed(floats, -1)]) is None
    only_inserted = net_of([signed(floats, 1), signed(floats, 1)])
    assert only_inserted is not None
    assert only_inserted.num_rows == 4
