"""The net effect of signed rows on the driver: what cancels leaves no trace, and copies stay copies."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.laws.held import bag, held_rows
from viewkeeper.algebra.merge.net_effect import net_effect
from viewkeeper.algebra.relations import Reference
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.engine.local.run import here
from viewkeeper.engine.rows import Held

COLUMNS = (Column("a", "int"), Column("b", "string"), Column(COUNT, "bigint"))
PLAN = net_effect(Reference("staged", ("a", "b"), counted=True))


def net(held: Held) -> Held | None:
    return here(PLAN, {"staged": held})


@pytest.mark.parametrize("seed", range(30))
def test_equal_rows_add_up_and_cancel(seed: int) -> None:
    dice = Random(seed)
    rows = [
        (dice.choice([1, 2, None]), dice.choice(["x", "", None]), dice.choice([1, -1]))
        for _ in range(dice.randint(0, 12))
    ]
    expected: Counter[tuple[object, ...]] = Counter()
    for a, b, count in rows:
        expected[a, b] += count
    found = net(held_rows(COLUMNS, rows))
    assert found is not None
    assert found.has(COLUMNS)
    signed = {(*row, 1 if n > 0 else -1): abs(n) for row, n in expected.items() if n}
    assert bag(found) == Counter(signed), "one row per copy: layers that only insert are read as they are"


def test_values_that_spark_compares_in_another_way_are_left_to_it() -> None:
    columns = (Column("a", "int"), Column("b", "double"), Column(COUNT, "bigint"))
    assert net(held_rows(columns, [(1, 0.0, 1), (1, -0.0, -1)])) is None
