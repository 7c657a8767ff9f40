"""The shapes of views that random streams of changes are tried on, by name.

Four small tables: `sales` and `moves` are bags with duplicates and NULLs in every column, `items` a bag
whose names repeat, `stores` has a key.
"""

from __future__ import annotations

TABLES = {
    "sales": "store INT, item STRING, qty INT, price DECIMAL(8,2), day DATE, weight DOUBLE",
    "items": "name STRING, kind STRING, cost DECIMAL(6,2)",
    "stores": "id INT, city STRING, region STRING, PRIMARY KEY (id)",
    "moves": "src INT, dst INT, amount BIGINT",
}

JOINS = {
    "inner_join": "SELECT city, item, qty FROM sales JOIN stores ON store = id",
    "left_join": "SELECT item, qty, city FROM sales LEFT JOIN stores ON store = id AND qty > 1",
    "right_join": "SELECT kind, name, qty FROM sales RIGHT JOIN items ON item = name",
    "full_join": "SELECT s.item, s.qty, i.name, i.cost FROM sales s FULL JOIN items i ON s.item = i.name",
    "cross_join": "SELECT a.city, b.kind FROM stores a CROSS JOIN items b",
    "range_join": "SELECT i.name, s.qty FROM items i JOIN sales s ON s.price > i.cost AND s.qty < 4",
    "self_join": (
        "SELECT a.src, b.dst, a.amount + b.amount AS amount FROM moves a JOIN moves b ON a.dst = b.src"
    ),
    "null_safe_join": "SELECT a.src, a.dst, b.id FROM moves a LEFT JOIN stores b ON a.dst <=> b.id",
    "semi_join": (
        "SELECT item, qty FROM sales WHERE EXISTS (SELECT 1 FROM items WHERE name = item AND cost > 1)"
    ),
    "anti_join": (
        "SELECT id, city FROM stores WHERE NOT EXISTS (SELECT 1 FROM sales WHERE store = id AND qty > 1)"
    ),
    "in_list": "SELECT store, qty FROM sales WHERE item IN (SELECT name FROM items) AND day IS NOT NULL",
    "not_in": "SELECT src, dst FROM moves WHERE src NOT IN (SELECT store FROM sales WHERE qty > 2)",
    "outer_above_totals": (
        "SELECT id, city, t.n, t.q FROM stores LEFT JOIN"
        " (SELECT store, COUNT(*) AS n, SUM(qty) AS q FROM sales GROUP BY store) t ON t.store = id"
    ),
    "outer_below_totals": (
        "SELECT region, COUNT(item) AS n, SUM(price) AS p, MIN(day) AS d"
        " FROM stores LEFT JOIN sales ON store = id GROUP BY region"
    ),
    "totals_joined": (
        "SELECT a.store, a.q, b.m FROM (SELECT store, SUM(qty) AS q FROM sales GROUP BY store) a"
        " JOIN (SELECT dst, MAX(amount) AS m FROM moves GROUP BY dst) b ON a.store = b.dst"
    ),
    "totals_of_joined_totals": (
        "SELECT m, SUM(q) AS q, COUNT(*) AS n FROM"
        " (SELECT store, SUM(qty) AS q FROM sales GROUP BY store)"
        " JOIN (SELECT dst, MAX(amount) AS m FROM moves GROUP BY dst) ON store = dst GROUP BY m"
    ),
    "scalar_subquery": "SELECT item, qty FROM sales WHERE qty >= (SELECT AVG(qty) FROM sales)",
    "correlated_subquery": (
        "SELECT id, (SELECT SUM(qty) FROM sales WHERE store = id) AS q,"
        " (SELECT COUNT(*) FROM moves WHERE src = id) AS n FROM stores"
    ),
    "three_way": (
        "SELECT region, kind, COUNT(*) AS n, SUM(price - cost) AS gain FROM sales"
        " JOIN stores ON store = id JOIN items ON item = name GROUP BY region, kind"
    ),
}

GROUPS = {
    "summary": (
        "SELECT store, item, COUNT(*) AS n, SUM(qty) AS q, SUM(price) AS p FROM sales GROUP BY store, item"
    ),
    "grand_total": (
        "SELECT COUNT(*) AS n, SUM(qty) AS q, MIN(day) AS d, MAX(price) AS p, AVG(weight) AS w FROM sales"
    ),
    "extremes": (
        "SELECT store, MIN(qty) AS a, MAX(qty) AS b, MIN(day) AS c, MAX(item) AS d, MIN(weight) AS e"
        " FROM sales GROUP BY store"
    ),
    "averages": "SELECT item, AVG(qty) AS a, AVG(price) AS b, AVG(weight) AS c FROM sales GROUP BY item",
    "spreads": (
        "SELECT store, STDDEV(qty) AS a, VAR_POP(price) AS b, STDDEV_POP(qty) AS c FROM sales GROUP BY store"
    ),
    "filtered": (
        "SELECT store, COUNT(*) FILTER (WHERE qty > 1) AS a, SUM(price) FILTER (WHERE item = 'a') AS b,"
        " MIN(qty) FILTER (WHERE weight > 0) AS c FROM sales GROUP BY store"
    ),
    "count_distinct": (
        "SELECT store, COUNT(DISTINCT item) AS a, SUM(DISTINCT qty) AS b FROM sales GROUP BY store"
    ),
    "having": "SELECT item, SUM(qty) AS q FROM sales GROUP BY item HAVING COUNT(*) > 1 AND MAX(qty) > 1",
    "nested": (
        "SELECT q, COUNT(*) AS n FROM (SELECT store, SUM(qty) AS q FROM sales GROUP BY store) GROUP BY q"
    ),
    "nested_extremes": (
        "SELECT item, MAX(q) AS a, MIN(n) AS b FROM"
        " (SELECT store, item, SUM(qty) AS q, COUNT(*) AS n FROM sales GROUP BY store, item) GROUP BY item"
    ),
    "no_duplicates": "SELECT DISTINCT store, item FROM sales WHERE qty IS NOT NULL OR price > 2",
    "distinct_counted": (
        "SELECT item, COUNT(*) AS n FROM (SELECT DISTINCT item, day FROM sales) GROUP BY item"
    ),
    "places": "SELECT store AS x FROM sales UNION SELECT dst FROM moves",
    "union_all": "SELECT store AS x, qty AS y FROM sales WHERE qty > 1 UNION ALL SELECT src, dst FROM moves",
    "union_totals": (
        "SELECT x, COUNT(*) AS n, SUM(y) AS y FROM"
        " (SELECT store AS x, CAST(qty AS BIGINT) AS y FROM sales UNION ALL SELECT dst, amount"
        " FROM moves) GROUP BY x"
    ),
    "common": "SELECT store FROM sales INTERSECT SELECT src FROM moves",
    "intersect_all": "SELECT store FROM sales INTERSECT ALL SELECT src FROM moves",
    "without": "SELECT src FROM moves EXCEPT SELECT id FROM stores",
    "except_all": "SELECT src FROM moves EXCEPT ALL SELECT store FROM sales",
    "row_number": (
        "SELECT item, qty, ROW_NUMBER() OVER (PARTITION BY item ORDER BY qty, price, day, weight, store) AS r"
        " FROM sales"
    ),
    "running": "SELECT src, amount, SUM(amount) OVER (PARTITION BY src ORDER BY amount) AS total FROM moves",
    "ranked": "SELECT src, dst, RANK() OVER (ORDER BY amount DESC) AS r FROM moves",
    "top_k": (
        "SELECT store, SUM(qty) AS q FROM sales GROUP BY store ORDER BY q DESC NULLS LAST, store LIMIT 2"
    ),
    "top_rows": "SELECT src, dst, amount FROM moves ORDER BY amount DESC, src, dst LIMIT 3",
    "cases": (
        "SELECT COALESCE(item, '-') AS i, YEAR(day) AS y, SUM(CASE WHEN qty > 1 THEN price ELSE 0 END) AS p"
        " FROM sales GROUP BY COALESCE(item, '-'), YEAR(day)"
    ),
    "rollup": "SELECT store, item, SUM(qty) AS q, COUNT(*) AS n FROM sales GROUP BY ROLLUP (store, item)",
    "exploded": "SELECT item, part FROM sales LATERAL VIEW EXPLODE(ARRAY(qty, store)) t AS part",
    "over_summary": "SELECT item, SUM(q) AS q, SUM(n) AS n, MAX(p) AS p FROM summary GROUP BY item",
    "over_both": "SELECT s.store, s.n, u.x FROM summary s FULL JOIN places u ON s.store = u.x",
}

GROUPS_OF_SHAPES = (JOINS, GROUPS)
