"""Views kept by ID-based diffs that were wrong, or failed, where Spark's answer to their text did not."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.mirrored import Mirrored
from tests.sizes import SIZES
from viewkeeper import errors

MOST, LEAST = 2**63 - 1, -(2**63)
BY_IDS = ("id-diffs", "tuple-diffs")


@pytest.fixture
def mirrored(warehouse: vk.Warehouse) -> Mirrored:
    return Mirrored(warehouse)


TEXTS = {
    "one": "SELECT g, SUM(v) AS s, COUNT(*) AS n FROM p GROUP BY g",
    "whole": "SELECT SUM(v) AS s FROM p",
    "joined": "SELECT g, SUM(v) AS s, COUNT(v) AS n FROM q JOIN p ON q.p = p.id GROUP BY g",
    "halved": "SELECT g, SUM(v) / 2 AS h, SUM(q.id) AS k FROM q JOIN p ON q.p = p.id GROUP BY g",
}


def sums_near_the_ends(mirrored: Mirrored) -> None:
    mirrored.table("p", "id INT, g INT, v BIGINT", [(1, 1, MOST), (2, 1, -5), (3, 2, 0)], key="id")
    mirrored.table("q", "id INT, p INT", [(1, 1), (2, 2), (3, 3)], key="id")
    for name, text in TEXTS.items():
        for strategy in BY_IDS if name == "joined" or not SIZES.short else BY_IDS[:1]:
            mirrored.view(f"{strategy.replace('-', '_')}_{name}", text, strategy=strategy)


def test_sums_of_bigint_may_overflow_on_the_way(mirrored: Mirrored) -> None:
    sums_near_the_ends(mirrored)
    steps = [
        ([(1, 1, MOST)], [(1, 1, LEAST + 5)]),
        ([(1, 1, LEAST + 5), (2, 1, -5)], [(1, 1, LEAST), (2, 1, 0)]),
        ([(1, 1, LEAST)], [(1, 1, MOST)]),
        ([(3, 2, 0)], [(3, 1, LEAST)]),
        ([(1, 1, MOST), (2, 1, 0)], [(1, 2, MOST), (2, 2, None)]),
        ([(3, 1, LEAST)], [(4, 2, 0)]),
    ]
    for delete, insert in steps[:4] if SIZES.short else steps:
        mirrored.change("p", insert=insert, delete=delete)
        assert not mirrored.refreshed("strict"), (delete, insert)


def test_moves_that_add_up_to_more_than_there_is_room_for(mirrored: Mirrored) -> None:
    """Layers of moves are read, folded and written to main; the sums end within their type."""
    mirrored.table("p", "id INT, g INT, v BIGINT", [(1, 1, -MOST), (2, 1, 0)], key="id")
    mirrored.table("q", "id INT, p INT", [(1, 1), (2, 2)], key="id")
    mirrored.view(
        "moved",
        "SELECT g, SUM(v) AS s, COUNT(v) AS n FROM q JOIN p ON q.p = p.id GROUP BY g",
        strategy="id-diffs",
    )
    at, rows = -MOST, 5 if SIZES.short else 12
    for _ in range(rows):
        to = min(MOST, at + MOST // 2) if at < MOST - 1 else -MOST // 2
        mirrored.change("p", insert=[(1, 1, to)], delete=[(1, 1, at)])
        assert not mirrored.refreshed("strict"), (at, to)
        at = to
    mirrored.warehouse.compact("moved")
    assert not mirrored.wrong()


def test_a_sum_overflows_where_that_of_spark_does(mirrored: Mirrored) -> None:
    sums_near_the_ends(mirrored)
    before = mirrored.warehouse.table("id_diffs_one").collect()
    mirrored.change("p", insert=[(4, 1, 6)])
    with pytest.raises(errors.WrongType, match=r"(?i)overflow"):
        mirrored.warehouse.refresh(policy="strict")
    assert mirrored.warehouse.table("id_diffs_one").collect() == before
    mirrored.change("p", delete=[(4, 1, 6)])
    assert not mirrored.refreshed("strict")


def test_averages_of_bigint_whose_sums_do_not_fit(mirrored: Mirrored) -> None:
    """Spark averages doubles; powers of two keep them exact in whatever order."""
    great = 2**62
    mirrored.table("p", "id INT, g INT, v BIGINT", [(1, 1, great), (2, 1, great), (3, 1, great)], key="id")
    text = "SELECT g, AVG(v) AS a, COUNT(*) AS n FROM p GROUP BY g"
    for strategy in BY_IDS:
        mirrored.view(strategy.replace("-", "_"), text, strategy=strategy)
    assert not mirrored.wrong()
    for delete, insert in (
        ([(3, 1, great)], [(3, 1, -great), (4, 1, great), (5, 2, None)]),
        ([(1, 1, great), (5, 2, None)], [(5, 2, LEAST), (6, 2, LEAST)]),
        ([(3, 1, -great)], [(1, 1, great), (3, 1, great)]),
    ):
        mirrored.change("p", insert=insert, delete=delete)
        assert not mirrored.refreshed("strict"), (delete, insert)
