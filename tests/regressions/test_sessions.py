"""Wrong answers that were found once, against plain Spark on the views' own texts."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.mirrored import Mirrored


@pytest.fixture
def mirrored(warehouse: vk.Warehouse) -> Mirrored:
    return Mirrored(warehouse)


PATHS = """WITH RECURSIVE p(a, b, n) AS (
  SELECT a, b, 1 FROM e UNION ALL SELECT p.a, e.b, n + 1 FROM p JOIN e ON p.b = e.a WHERE n < 4) """


class TestFormsOfReading:
    """A relation that is read with its counts and without is two things to read."""

    def test_a_table_inside_a_recursion_and_beside_it(self, mirrored: Mirrored) -> None:
        mirrored.table("e", "a INT, b INT", [(1, 2), (2, 3), (3, 4), (4, 5), (2, 3)])
        mirrored.change("e", delete=[(2, 3)], insert=[(5, 6)])
        mirrored.change("e", delete=[(3, 4)], insert=[(3, 5)])
        mirrored.view("beside", PATHS + "SELECT p.a, p.b, e.b AS c FROM p JOIN e ON p.a = e.a")
        mirrored.view("above", PATHS + "SELECT a, b FROM p UNION ALL SELECT a, b FROM e")
        assert not mirrored.wrong(), "filled over pending deletions"
        mirrored.change("e", delete=[(1, 2)])
        mirrored.change("e", insert=[(1, 2), (1, 2)])
        mirrored.change("e", delete=[(1, 2)])
        assert not mirrored.refreshed(policy="full")
        assert all(mirrored.warehouse.verify(view) for view in mirrored.views)
        mirrored.change("e", delete=[(5, 6)], insert=[(5, 1)])
        assert not mirrored.refreshed(policy="incremental")

    def test_a_scalar_subquery_over_the_table_of_a_recursion(self, mirrored: Mirrored) -> None:
        mirrored.table("e", "a INT, b INT", [(1, 2), (2, 3), (2, 3)])
        counted = PATHS + "SELECT a, COUNT(*) AS n, (SELECT COUNT(*) FROM e) AS m FROM p GROUP BY a"
        mirrored.view("counted", counted, policy="full")
        mirrored.change("e", delete=[(2, 3)], insert=[(3, 1)])
        mirrored.change("e", delete=[(2, 3)])
        assert not mirrored.refreshed()
