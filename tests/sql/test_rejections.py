"""What cannot be a view is refused when it is defined, with an error that names the thing."""

from __future__ import annotations

import pytest

from tests.sql.database import CATALOG
from viewkeeper.errors import (
    AmbiguousColumn,
    InvalidSQL,
    NotDeterministic,
    UnknownColumn,
    UnknownTable,
    ViewkeeperError,
)
from viewkeeper.sql.parse import parse_view

REJECTED: list[tuple[str, type[ViewkeeperError], str]] = [
    ("SELECT rand() AS x FROM r", NotDeterministic, "rand"),
    ("SELECT uuid() AS x FROM r", NotDeterministic, "uuid"),
    ("SELECT a FROM r WHERE b < randn()", NotDeterministic, "randn"),
    ("SELECT current_timestamp() AS x FROM r", NotDeterministic, "current_timestamp"),
    ("SELECT current_timestamp AS x FROM r", NotDeterministic, "current_timestamp"),
    ("SELECT now() AS x FROM r", NotDeterministic, "is not deterministic"),
    ("SELECT current_date AS x FROM r", NotDeterministic, "current_date"),
    ("SELECT curdate() AS x FROM r", NotDeterministic, "is not deterministic"),
    ("SELECT monotonically_increasing_id() AS x FROM r", NotDeterministic, "monotonically_increasing_id"),
    ("SELECT input_file_name() AS x FROM r", NotDeterministic, "input_file_name"),
    ("SELECT spark_partition_id() AS x FROM r", NotDeterministic, "spark_partition_id"),
    ("SELECT unix_timestamp() AS x FROM r", NotDeterministic, "is not deterministic"),
    ("SELECT current_user() AS x FROM r", NotDeterministic, "is not deterministic"),
    ("SELECT shuffle(list) AS x FROM xs", NotDeterministic, "shuffle"),
    ("SELECT a FROM r TABLESAMPLE (10 PERCENT)", NotDeterministic, "TABLESAMPLE"),
    ("SELECT a FROM (SELECT a, rand() AS x FROM r) AS q", NotDeterministic, "rand"),
    ("SELECT a FROM nowhere", UnknownTable, "nowhere"),
    ("SELECT src FROM edges", UnknownTable, "Did you mean edge?"),
    ("SELECT a FROM r WHERE EXISTS (SELECT 1 FROM nowhere)", UnknownTable, "nowhere"),
    ("SELECT a FROM db.r", UnknownTable, "db.r"),
    ("SELECT z FROM r", UnknownColumn, "z"),
    ("SELECT nme FROM t", UnknownColumn, "Did you mean Name?"),
    ("SELECT r.d FROM r, s", UnknownColumn, "r.d"),
    ("SELECT q.a FROM r", UnknownColumn, "q.a"),
    ("SELECT a FROM r WHERE z > 1", UnknownColumn, "z"),
    ("SELECT a FROM r GROUP BY z", UnknownColumn, "z"),
    ("SELECT q.* FROM r", UnknownColumn, "q"),
    ("SELECT * FROM r JOIN s USING (b)", UnknownColumn, "b"),
    ("SELECT b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.z = r.a)", UnknownColumn, "s.z"),
    ("SELECT a FROM r, s", AmbiguousColumn, "r.a or s.a"),
    ("SELECT r.a FROM r JOIN s ON a = d", AmbiguousColumn, "ambiguous"),
    ("SELECT b FROM r AS p, r AS q", AmbiguousColumn, "p.b or q.b"),
    ("SELECT a, b AS A FROM r", InvalidSQL, "two columns named A"),
    ("SELECT * FROM r, s", InvalidSQL, "two columns named a"),
    ("SELECT a FROM r WHERE", InvalidSQL, "Syntax error at line 1"),
    ("SELECT a\nFROM r WHERE (a >", InvalidSQL, "Syntax error at line 2"),
    ("SELEC a FROM r", InvalidSQL, ""),
    ("", InvalidSQL, "no statement"),
    ("SELECT a FROM r; SELECT b FROM r", InvalidSQL, "several statements"),
    ("DELETE FROM r", InvalidSQL, "not a query"),
    ("CREATE TABLE x (a INT)", InvalidSQL, "not a query"),
    ("SELECT a, COUNT(*) AS n FROM r", InvalidSQL, "neither grouped"),
    ("SELECT a, b FROM r GROUP BY a", InvalidSQL, "neither grouped"),
    ("SELECT SUM(COUNT(*)) AS n FROM r", InvalidSQL, "inside another aggregate"),
    ("SELECT a FROM r GROUP BY SUM(b)", InvalidSQL, "cannot contain an aggregate"),
    ("SELECT a FROM r GROUP BY 2", InvalidSQL, "position 2"),
    ("SELECT a FROM r ORDER BY 5 LIMIT 1", InvalidSQL, "position 5"),
    ("SELECT a FROM r UNION SELECT a, d FROM s", InvalidSQL, "different numbers of columns"),
    ("SELECT x FROM (SELECT a, b FROM r) AS q(x)", InvalidSQL, "lists 1"),
    ("WITH q(x) AS (SELECT a, b FROM r) SELECT x FROM q", InvalidSQL, "lists 1"),
    ("WITH q AS (SELECT a FROM r), q AS (SELECT b FROM r) SELECT 1 AS o FROM q", InvalidSQL, "twice"),
    ("SELECT DISTINCT a FROM r ORDER BY b LIMIT 1", InvalidSQL, "DISTINCT"),
]


@pytest.mark.parametrize(("sql", "error", "part"), REJECTED)
def test_rejected_with_a_clear_error(sql: str, error: type[ViewkeeperError], part: str) -> None:
    with pytest.raises(error) as caught:
        parse_view(sql, CATALOG)
    assert part in str(caught.value)


KEPT_AS_TEXT = [
    ("SELECT a, first(b) AS f FROM r GROUP BY a", "order of the rows", ("r",)),
    ("SELECT a, LAST_VALUE(b) OVER (ORDER BY a) AS l FROM r", "order of ties", ("r",)),
    ("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a) AS m FROM r", "written back", ("r",)),
    (
        "SELECT r.a FROM r LEFT JOIN s ON r.a = s.a AND s.d IN (SELECT x FROM t)",
        "outer join",
        ("r", "s", "t"),
    ),
]


@pytest.mark.parametrize(("sql", "reason", "tables"), KEPT_AS_TEXT)
def test_valid_but_without_algebra(sql: str, reason: str, tables: tuple[str, ...]) -> None:
    view = parse_view(sql, CATALOG)
    assert view.relation is None
    assert reason in (view.untranslatable or "")
    assert view.tables == tables
