"""Medians, modes, lists and counts of distinct values from stored counts, which a view asks for."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from viewkeeper import errors

pytestmark = pytest.mark.usefixtures("maintained")

VIEWS = {
    "one_of_each": """
        SELECT g, COUNT(DISTINCT x) AS n, SUM(DISTINCT x) AS s, AVG(DISTINCT x) AS a, MEDIAN(x) AS m,
            PERCENTILE(x, ARRAY(0.1, 0.9)) AS p, MODE(x, true) AS o, SORT_ARRAY(COLLECT_SET(x)) AS cs,
            SORT_ARRAY(COLLECT_LIST(x)) AS cl, COUNT(*) AS c, SUM(d) AS t, AVG(d) AS v, MIN(s) AS low
        FROM r GROUP BY g""",
    "decimals": "SELECT g, MEDIAN(d) AS m, MODE(d, true) AS o, COUNT(DISTINCT d) AS n FROM r GROUP BY g",
    "texts": "SELECT MODE(s, true) AS o, SORT_ARRAY(ARRAY_AGG(s)) AS l, COUNT(DISTINCT s) AS n FROM r",
    "floats": "SELECT g, COUNT(DISTINCT f) AS n, COUNT(f) AS c FROM r GROUP BY g",
    "joined": """
        SELECT name, percentile_cont(0.5) WITHIN GROUP (ORDER BY x) AS m, COUNT(DISTINCT x) AS n
        FROM r JOIN names USING (g) GROUP BY name""",
    "nested": """
        SELECT n, COUNT(*) AS groups FROM (SELECT g, COUNT(DISTINCT x) AS n FROM r GROUP BY g) GROUP BY n""",
}
ASKED = "'viewkeeper.value-counts' = 'true', 'viewkeeper.populate' = 'false'"
BATCHES = (
    "INSERT INTO r VALUES (1, 9, 2.50, 'z', 0.0), (4, NULL, NULL, NULL, NULL), (4, 3, 0.10, 'a', 1.5)",
    "DELETE FROM r WHERE x = 9 OR g = 3 OR (g = 2 AND x = 5)",
    "UPDATE r SET x = 5, d = d + 1 WHERE g = 1",
    "UPDATE names SET name = 'a' WHERE g = 2",
    "DELETE FROM r",
    "INSERT INTO r VALUES (1, 1, 1.00, 'x', double('nan')), (NULL, 1, 1.00, 'x', -0.0)",
)


def shop(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE r (g INT, x INT, d DECIMAL(8,2), s STRING, f DOUBLE)")
    warehouse.sql("CREATE TABLE names (g INT, name STRING, PRIMARY KEY (g))")
    warehouse.sql("INSERT INTO names VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'c')")
    warehouse.sql(
        """INSERT INTO r VALUES
        (1, 3, 1.50, 'x', 0.0), (1, 3, 1.50, 'x', -0.0), (1, 7, 2.25, NULL, double('nan')),
        (1, NULL, 9.00, 'y', 1.5),
        (2, 5, NULL, 'y', double('nan')), (2, 5, 0.10, 'y', NULL), (2, 6, 0.20, 'x', -1.5),
        (3, NULL, NULL, NULL, NULL), (NULL, 4, 4.00, 'q', 2.5), (NULL, 4, 5.00, 'q', 2.5)"""
    )
    for name, text in VIEWS.items():
        warehouse.sql(f"CREATE MATERIALIZED VIEW {name} TBLPROPERTIES ({ASKED}) AS {text}")
    warehouse.refresh()


def test_no_base_row_is_read(filled) -> None:
    """Joins read the other table; the rest reads changes and what is stored of values."""
    wh = filled(shop)
    for batch in BATCHES:
        wh.sql(batch)
        report = wh.refresh()
        assert {entry.strategy for entry in report} <= {"counting", "summary-delta"}
        assert not any("r" in entry.details["reads"] for entry in report if entry.view != "joined")
        if not batch.startswith("UPDATE names"):
            assert "r" not in report.of("joined").details["reads"]
        assert [name for name in VIEWS if not wh.verify(name)] == [], batch


def test_a_view_has_them_only_where_it_asks_for_them_and_explain_says_where_it_cannot(filled) -> None:
    wh = filled(shop)
    texts = {
        "medians": "SELECT g, MEDIAN(x) AS m FROM r GROUP BY g",
        "two_bags": "SELECT g, COUNT(DISTINCT x) AS n, COUNT(DISTINCT s) AS k FROM r GROUP BY g",
    }
    wh.create_view("not_asked", texts["medians"], populate=False)
    for name, text in texts.items():
        wh.sql(f"CREATE MATERIALIZED VIEW {name} TBLPROPERTIES ({ASKED}) AS {text}")
    by_ids = f"{ASKED}, 'viewkeeper.strategy' = 'id-diffs'"
    wh.sql(f"CREATE MATERIALIZED VIEW by_ids TBLPROPERTIES ({by_ids}) AS SELECT name FROM names")
    wh.refresh()
    notes = {name: wh.explain(name) for name in ("not_asked", "medians", "two_bags", "by_ids")}
    assert [relation for relation, _ in notes["medians"].state] == ["__medians_1"]
    assert (notes["not_asked"].state, notes["not_asked"].note, notes["medians"].note) == ((), "", "")
    assert "no counts of values: none of its aggregates is over one bag" in str(notes["two_bags"])
    assert notes["by_ids"].note == "no counts of values: the view is kept by id-diffs"
    wrong = ASKED.replace("true", "yes", 1)
    with pytest.raises(errors.InvalidOption, match="value-counts cannot be 'yes'"):
        wh.sql(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ({wrong}) AS SELECT g FROM r")
