"""Layers laid over each other mean what they mean one by one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.held import held_rows
from tests.laws.settings import cases
from viewkeeper.algebra.merge.overlay import laid_over
from viewkeeper.algebra.relations import Reference
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.engine.local.run import here

COLUMNS = (Column("k", "int"), Column("v", "string"), Column(COUNT, "bigint"))

Row = tuple[int | None, str | None]
ROWS = st.tuples(st.sampled_from((1, 2, 3, None)), st.sampled_from(("a", "b", None)))


def one_layer(layers: list[list[tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """The rows of all layers laid over each other, as the local engine finds them."""
    held = {f"layer{number}": held_rows(COLUMNS, layer) for number, layer in enumerate(layers)}
    leaves = [Reference(name, ("k", "v", COUNT)) for name in held]
    found = here(laid_over(leaves, ("k", "v")), held)
    assert found is not None
    assert found.has(COLUMNS)
    return [tuple(row.values()) for row in found.table.to_pylist()]


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
    assert applied(Counter(main), one_layer(layers), key=False) == expected


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
    whole = one_layer(layers)
    assert applied(main, whole, key=True) == expected
    assert applied(main, whole, key=False) == expected, "whoever reads it may not know the key"


def test_numbers_that_may_be_nan_are_left_to_spark() -> None:
    columns = (Column("v", "double"), Column(COUNT, "bigint"))
    held = {"layer0": held_rows(columns, [(float("nan"), 1)])}
    assert here(laid_over([Reference("layer0", ("v", COUNT))], ("v",)), held) is None
