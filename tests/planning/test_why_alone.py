"""What `explain` says of views that take part in no lattice."""

from __future__ import annotations

import pytest

from tests.planning.test_choice import batch, view
from viewkeeper.planning.explanation import explanation
from viewkeeper.planning.planner import choose

PARTS = "cannot be computed from the values of parts of a group [holistic]"


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("SELECT item, SUM(price) AS t FROM sales GROUP BY item", ""),
        (
            "SELECT id, category FROM sales JOIN items USING (item)",
            "no summary table: it does not end in one aggregation (GROUP BY) [no-aggregate]",
        ),
        (
            "SELECT item, SUM(price) AS t FROM sales GROUP BY item HAVING SUM(price) > 1",
            "in no lattice: its groups are filtered after aggregation (HAVING) [having]",
        ),
        (
            "SELECT item, SKEWNESS(price) AS m FROM sales GROUP BY item",
            f"no summary table: SKEWNESS(`price`) {PARTS}",
        ),
    ],
)
def test_why_a_view_is_in_no_lattice(sql: str, line: str) -> None:
    found = view(sql)
    shown = explanation(found, batch(10), choose(found, batch(10), "incremental"))
    assert shown.why_alone() == ([line] if line else [])
    assert f"  {line}\n" in str(shown) if line else "lattice" not in str(shown)
