"""Layers laid over each other by the driver mean what they mean one by one."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from viewkeeper.storage.overlay import has_plain_equality, one_layer

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string()), ("__count", pa.int64())])

Row = tuple[int | None, str | None]
ROWS = st.tuples(st.sampled_from((1, 2, 3, None)), st.sampled_from(("a", "b", None)))


def table(rows: list[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def applied(rows: Counter[Row], layer: list[tuple[object, ...]], key: bool) -> Counter[Row]:
    """One layer after the other: what it deletes goes whole, then its insertions come."""
    gone = {row[0] if key else row[:2] for row in layer if row[2] < 0}
    left = Counter({row: n for row, n in rows.items() if (row[0] if key else row) not in gone})
    for *row, count in layer:
        if count > 0:
            left[tuple(row)] += count
    return left


@cases(300)
@given(
    main=st.lists(ROWS),
    batches=st.lists(st.tuples(st.sets(ROWS), st.dictionaries(ROWS, st.integers(1, 3))), min_size=1),
)
def test_one_layer_for_many_of_a_bag(main: list[Row], batches: list[tuple[set[Row], dict[Row, int]]]) -> None:
    layers = [
        [*((*row, -1) for row in gone if row not in new), *((*row, n) for row, n in new.items())]
        for gone, new in batches
    ]
    expected = Counter(main)
    for layer in layers:
        expected = applied(expected, layer, key=False)
    whole = one_layer([table(layer) for layer in layers], ())
    assert applied(Counter(main), [tuple(row.values()) for row in whole.to_pylist()], key=False) == expected


@cases(200)
@given(batches=st.lists(st.dictionaries(st.integers(1, 4), st.sampled_from("abx")), min_size=1))
def test_one_layer_for_many_of_a_keyed_table(batches: list[dict[int, str]]) -> None:
    """`x` deletes the key, another value inserts or replaces it."""
    main: Counter[Row] = Counter({(1, "m"): 1, (2, "n"): 1})
    expected, layers = main, []
    for batch in batches:
        held = {row[0]: row for row in expected}
        layer = [(*held[k], -1) for k in batch if k in held]
        layer += [(k, v, 1) for k, v in batch.items() if v != "x"]
        layers.append(layer)
        expected = applied(expected, layer, key=True)
    whole = one_layer([table(layer) for layer in layers], ("k",))
    assert applied(main, [tuple(row.values()) for row in whole.to_pylist()], key=True) == expected


@pytest.mark.parametrize(("kind", "plain"), [(pa.int64(), True), (pa.string(), True), (pa.float64(), False)])
def test_numbers_that_may_be_nan_are_left_to_spark(kind: pa.DataType, plain: bool) -> None:
    assert has_plain_equality(pa.schema([("v", kind)])) is plain
