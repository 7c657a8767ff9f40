"""One small view per operator, function and construct, over a retail database: what `support` asks about."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.views import STRATEGY, tables_of

Examples = dict[str, str]
"""Queries by the construct that they show."""


def _table(name: str, columns: str, key: str = "", references: str = "") -> TableSchema:
    """`columns` as in SQL; of `references`, each is a column and the table whose key it holds."""
    typed = (column.split() for column in columns.split(", "))
    tables = (reference.split(" > ") for reference in references.split(", ") if reference)
    return TableSchema(
        name,
        tuple(Column(column, type_) for column, type_ in typed),
        tuple(key.split()),
        tuple(ForeignKey((column,), table, (column,)) for column, table in tables),
    )


TABLES = (
    _table("stores", "storeID int, city string, region string", "storeID"),
    _table("items", "itemID int, category string, cost int", "itemID"),
    _table(
        "pos",
        "saleID int, storeID int, itemID int, day date, qty int, paid boolean, weight double",
        "saleID",
        "storeID > stores, itemID > items",
    ),
    _table("returns", "saleID int, qty int", "saleID", "saleID > pos"),
    _table("visits", "storeID int, day date, people int"),
    _table("roads", "a int, b int", "a b"),
    _table("grades", "weight double, grade string", "weight"),
)

SALES = "SELECT storeID, COUNT(*) AS n FROM pos GROUP BY storeID"
"""The view `sales`, which other views read."""


def defined(sql: str, catalog: Catalog, asked: str = "auto", name: str = "v") -> ViewDefinition:
    """A view of this query that asks for a strategy."""
    bare = ViewDefinition(name, sql, (), (), properties=((STRATEGY, asked),), keyed=True)
    return replace(bare, tables=tables_of(bare, catalog))


def _catalog() -> Catalog:
    tables = Catalog({table.name: table for table in TABLES})
    columns = (Column("storeID", "int"), Column("n", "bigint"))
    return tables.with_view(replace(defined(SALES, tables, name="sales"), columns=columns))


CATALOG = _catalog()

ROWS = {
    "filter": "SELECT * FROM pos WHERE qty > 5",
    "projection": "SELECT storeID, qty + 1 AS more FROM pos",
    "inner join": "SELECT saleID, city FROM pos JOIN stores USING (storeID)",
    "join on any condition": "SELECT saleID, category FROM pos JOIN items ON qty > cost",
    "self-join": "SELECT r.a, s.b FROM roads r JOIN roads s ON r.b = s.a",
    "cross join": "SELECT saleID, city FROM pos CROSS JOIN stores",
    "left join": "SELECT city, saleID FROM stores LEFT JOIN pos USING (storeID)",
    "right join": "SELECT category, saleID FROM pos RIGHT JOIN items USING (itemID)",
    "full join": "SELECT category, saleID FROM pos FULL JOIN items USING (itemID)",
    "semi join": "SELECT * FROM pos LEFT SEMI JOIN returns USING (saleID)",
    "anti join": "SELECT * FROM pos LEFT ANTI JOIN returns USING (saleID)",
    "join by numbers in floating point": "SELECT saleID, grade FROM pos JOIN grades USING (weight)",
    "table without a key": "SELECT day, people FROM visits WHERE people > 0",
    "lateral view": "SELECT saleID, n FROM pos LATERAL VIEW explode(sequence(1, qty)) e AS n",
    "`VALUES` in `FROM`": "SELECT saleID, word FROM pos JOIN (VALUES (1, 'one')) AS v(qty, word) USING (qty)",
    "no `FROM`": "SELECT 1 AS one",
    "view over a view": "SELECT storeID FROM sales WHERE n > 10",
}

SUBQUERIES = {
    "`IN`": "SELECT * FROM pos WHERE saleID IN (SELECT saleID FROM returns)",
    "`NOT IN`": "SELECT * FROM pos WHERE saleID NOT IN (SELECT saleID FROM returns)",
    "`EXISTS`": "SELECT * FROM stores s WHERE EXISTS (SELECT 1 FROM pos WHERE storeID = s.storeID)",
    "`NOT EXISTS`": "SELECT * FROM stores s WHERE NOT EXISTS (SELECT 1 FROM pos WHERE storeID = s.storeID)",
    "scalar, uncorrelated": "SELECT saleID FROM pos WHERE qty > (SELECT AVG(qty) FROM returns)",
    "scalar, correlated": (
        "SELECT city, (SELECT MAX(qty) FROM pos WHERE storeID = s.storeID) AS most FROM stores s"
    ),
}

SETS = {
    "`DISTINCT`": "SELECT DISTINCT category FROM items",
    "`UNION ALL`": "SELECT saleID FROM pos UNION ALL SELECT saleID FROM returns",
    "`UNION`": "SELECT saleID FROM pos UNION SELECT saleID FROM returns",
    "`INTERSECT ALL`": "SELECT saleID FROM pos INTERSECT ALL SELECT saleID FROM returns",
    "`INTERSECT`": "SELECT saleID FROM pos INTERSECT SELECT saleID FROM returns",
    "`EXCEPT ALL`": "SELECT saleID FROM pos EXCEPT ALL SELECT saleID FROM returns",
    "`EXCEPT`": "SELECT saleID FROM pos EXCEPT SELECT saleID FROM returns",
}

GROUPS = {
    "`GROUP BY`": "SELECT storeID, SUM(qty) AS q FROM pos GROUP BY storeID",
    "no `GROUP BY`": "SELECT COUNT(*) AS n, SUM(qty) AS q FROM pos",
    "over a star": "SELECT region, SUM(qty) AS q FROM pos JOIN stores USING (storeID) GROUP BY region",
    "over any join": "SELECT category, COUNT(*) AS n FROM pos JOIN items ON qty > cost GROUP BY category",
    "over an outer join": (
        "SELECT city, COUNT(saleID) AS n FROM stores LEFT JOIN pos USING (storeID) GROUP BY city"
    ),
    "over a union": "SELECT SUM(qty) AS q FROM (SELECT qty FROM pos UNION ALL SELECT -qty FROM returns)",
    "over an aggregate": "SELECT MAX(q) AS most FROM (SELECT SUM(qty) AS q FROM pos GROUP BY storeID)",
    "over a table without a key": "SELECT storeID, SUM(people) AS p FROM visits GROUP BY storeID",
    "over a view": "SELECT n, COUNT(*) AS stores FROM sales GROUP BY n",
    "`HAVING`": "SELECT storeID, SUM(qty) AS q FROM pos GROUP BY storeID HAVING COUNT(*) > 2",
    "`CUBE`": "SELECT storeID, itemID, SUM(qty) AS q FROM pos GROUP BY CUBE (storeID, itemID)",
    "`ROLLUP`": "SELECT storeID, itemID, SUM(qty) AS q FROM pos GROUP BY ROLLUP (storeID, itemID)",
    "`GROUPING SETS`": (
        "SELECT storeID, itemID, SUM(qty) AS q FROM pos GROUP BY GROUPING SETS ((storeID), (itemID))"
    ),
    "grouping sets without state": "SELECT storeID, MEDIAN(qty) AS m FROM pos GROUP BY ROLLUP (storeID)",
}

_CALLS = """COUNT(*); COUNT(qty); COUNT(qty) FILTER (WHERE paid); COUNT(DISTINCT qty); COUNT_IF(paid);
    SUM(qty); SUM(weight); SUM(qty) FILTER (WHERE paid); SUM(DISTINCT qty); AVG(qty); AVG(DISTINCT qty);
    MIN(qty); MIN(qty) FILTER (WHERE paid); MIN(DISTINCT qty); MAX(qty); MAX(DISTINCT qty); BOOL_AND(paid);
    BOOL_OR(paid); VAR_POP(qty); VAR_SAMP(qty); STDDEV_POP(qty); STDDEV_SAMP(qty); COVAR_POP(qty, weight);
    COVAR_SAMP(qty, weight); CORR(qty, weight); REGR_SLOPE(qty, weight); SKEWNESS(qty); KURTOSIS(qty);
    BIT_AND(qty); BIT_OR(qty); BIT_XOR(qty); MEDIAN(qty); PERCENTILE(qty, 0.9);
    PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY qty); MODE(qty); APPROX_COUNT_DISTINCT(qty);
    MIN_BY(qty, day); MAX_BY(qty, day); COLLECT_LIST(qty); COLLECT_SET(qty); LISTAGG(category);
    FIRST(qty); LAST(qty); ANY_VALUE(qty)"""
FUNCTIONS = {
    f"`{call}`": f"SELECT storeID, {call} AS v FROM {source} GROUP BY storeID"
    for call in (part.strip() for part in _CALLS.split(";"))
    for source in ("pos JOIN items USING (itemID)" if "category" in call else "pos",)
}

ORDER = {
    "rank": "SELECT saleID, RANK() OVER (PARTITION BY storeID ORDER BY qty) AS place FROM pos",
    "aggregate over a window": "SELECT saleID, SUM(qty) OVER (PARTITION BY storeID) AS q FROM pos",
    "no `PARTITION BY`": "SELECT saleID, RANK() OVER (ORDER BY qty) AS place FROM pos",
    "`ORDER BY … LIMIT`": "SELECT saleID, qty FROM pos ORDER BY qty DESC LIMIT 10",
    "a limit above 10,000": "SELECT saleID, qty FROM pos ORDER BY qty DESC LIMIT 10001",
}

_REACH = (
    "WITH RECURSIVE reach(a, b) AS (SELECT a, b FROM roads"
    " UNION SELECT reach.a, roads.b FROM reach JOIN roads ON reach.b = roads.a)"
)
RECURSION = {
    "`UNION`": f"{_REACH} SELECT a, b FROM reach",
    "aggregate above it": f"{_REACH} SELECT a, COUNT(*) AS n FROM reach GROUP BY a",
    "not linear": (
        "WITH RECURSIVE reach(a, b) AS (SELECT a, b FROM roads"
        " UNION SELECT r.a, s.b FROM reach r JOIN reach s ON r.b = s.a) SELECT a, b FROM reach"
    ),
    "mutual": (
        "WITH RECURSIVE odd(a, b) AS (SELECT a, b FROM roads"
        " UNION SELECT even.a, roads.b FROM even JOIN roads ON even.b = roads.a),"
        " even(a, b) AS (SELECT odd.a, roads.b FROM odd JOIN roads ON odd.b = roads.a) SELECT a, b FROM even"
    ),
    "`UNION ALL`": (
        "WITH RECURSIVE walk(b, steps) AS (SELECT b, 1 FROM roads WHERE a = 1 UNION ALL"
        " SELECT roads.b, steps + 1 FROM walk JOIN roads ON walk.b = roads.a WHERE steps < 5)"
        " SELECT b, steps FROM walk"
    ),
    "`UNION ALL`, not linear": (
        "WITH RECURSIVE walk(a, b) AS (SELECT a, b FROM roads"
        " UNION ALL SELECT r.a, s.b FROM walk r JOIN walk s ON r.b = s.a) SELECT a, b FROM walk"
    ),
    "negated inside itself": (
        "WITH RECURSIVE win(a) AS (SELECT a FROM roads"
        " UNION SELECT a FROM roads WHERE b NOT IN (SELECT a FROM win)) SELECT a FROM win"
    ),
}

SECTIONS: dict[str, Examples] = {
    "Rows and joins": ROWS,
    "Subqueries": SUBQUERIES,
    "Sets and bags": SETS,
    "Grouping": GROUPS,
    "Aggregate functions": FUNCTIONS,
    "Windows and limits": ORDER,
    "Recursion (`WITH RECURSIVE`)": RECURSION,
}

REDEFINED = (
    ("SELECT storeID FROM pos", SALES),
    ("SELECT saleID FROM pos WHERE qty > 5", "SELECT saleID FROM pos WHERE qty > 6"),
    ("SELECT s.storeID, COUNT(*) AS n FROM pos s GROUP BY s.storeID", SALES),
    (RECURSION["aggregate above it"], RECURSION["`UNION`"]),
)
"""Views that were first one query and are now another."""
