"""ORDER BY … LIMIT: what a refresh does where the first rows stay, and where they do not."""

from __future__ import annotations

import pytest

import viewkeeper as vk

pytestmark = pytest.mark.usefixtures("maintained")


@pytest.fixture
def ranked(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE scores (k INT NOT NULL PRIMARY KEY, team INT, v INT)")
    rows = warehouse.spark.range(200).selectExpr(
        "CAST(id AS INT) k", "CAST(id % 100 AS INT) team", "CAST(id AS INT) v"
    )
    with warehouse.transaction() as t:
        t.insert("scores", rows)
    warehouse.create_view(
        "best", "SELECT team, SUM(v) AS total FROM scores GROUP BY team ORDER BY total DESC LIMIT 3"
    )
    return warehouse


def test_a_change_behind_the_first_rows_ends_with_them(ranked: vk.Warehouse) -> None:
    """One action for the groups and one for the buffer: it stays, and so does the view."""
    ranked.sql("INSERT INTO scores VALUES (500, 1, 1)")
    report = ranked.refresh(policy="incremental")
    assert report.actions == 2
    assert report[0].rows_written == 1
    assert report[0].details["steps_skipped"] > 0
    assert ranked.verify("best")


def test_a_change_among_the_first_rows_is_shown(ranked: vk.Warehouse) -> None:
    ranked.sql("INSERT INTO scores VALUES (500, 1, 1000)")
    ranked.sql("DELETE FROM scores WHERE k = 199")
    report = ranked.refresh(policy="incremental")
    assert report.actions > 2
    assert ranked.verify("best")
    assert [tuple(row) for row in ranked.table("best").orderBy("total").collect()] == [
        (97, 294),
        (98, 296),
        (1, 1102),
    ]


def test_nothing_is_asked_above_groups_that_gain_nothing(ranked: vk.Warehouse) -> None:
    """One action for the sums and what is seen of them; the groups above have no rows, and take none."""
    sums = "SELECT team, SUM(v) AS total FROM scores GROUP BY team"
    ranked.create_view(
        "dear",
        f"SELECT total, COUNT(*) AS n FROM ({sums}) t WHERE total > 1000 GROUP BY total ORDER BY n LIMIT 3",
    )
    ranked.sql("INSERT INTO scores VALUES (500, 1, 1)")
    report = ranked.refresh("dear", policy="incremental")
    assert report.actions == 1
    assert ranked.verify("dear")
