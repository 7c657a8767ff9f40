"""Queries of every shape that the front end takes, as text. `$join`-like parts are spelled out by code."""

from __future__ import annotations

JOIN_CONDITIONS = (
    "ON r.a = s.a",
    "ON r.a = s.a AND r.b < s.d",
    "ON r.a < s.d",
    "ON r.a = s.a OR r.b = s.d",
    "ON r.a <=> s.a",
    "ON r.a + 1 = s.d AND r.b IS NOT NULL",
)
JOINS = [
    f"SELECT r.a AS ra, b, s.a AS sa, d FROM r {kind} JOIN s {on}"
    for kind in ("INNER", "LEFT", "RIGHT", "FULL", "LEFT OUTER", "FULL OUTER")
    for on in JOIN_CONDITIONS
]
USING = [
    f"SELECT {what} FROM r {kind} JOIN s USING (a)"
    for kind in ("", "LEFT", "RIGHT", "FULL")
    for what in ("*", "a, b, d", "a, r.a AS ra, s.a AS sa", "s.d, a + 1 AS e")
]
NATURAL = [f"SELECT * FROM r NATURAL {kind} JOIN s" for kind in ("", "LEFT", "RIGHT", "FULL")]
HALF_JOINS = [
    f"SELECT * FROM r LEFT {kind} JOIN s ON {on}"
    for kind in ("SEMI", "ANTI")
    for on in ("r.a = s.a", "r.a = s.a AND r.b > s.d", "r.a < s.d")
]
MORE_JOINS = [
    "SELECT r.a, s.d FROM r, s",
    "SELECT r.a, s.d FROM r CROSS JOIN s WHERE r.a = s.a",
    "SELECT r.a, s.d, x FROM r, s, t WHERE r.a = s.a AND s.d = t.g",
    "SELECT one.a AS p, two.a AS q FROM r AS one JOIN r AS two ON one.b = two.b",
    "SELECT * FROM r JOIN s USING (a) JOIN (SELECT a, d AS e FROM s) AS u USING (a)",
    "SELECT a, b, d, g FROM r FULL JOIN s USING (a) FULL JOIN (SELECT x AS a, g FROM t) AS u USING (a)",
    "SELECT r.a, x FROM r LEFT JOIN (s JOIN t ON s.d = t.x) ON r.a = s.a",
    "SELECT r.a, d, x FROM r LEFT JOIN s ON r.a = s.a RIGHT JOIN t ON s.d = t.x",
    "SELECT q.a, q.d FROM (SELECT * FROM r NATURAL JOIN s) AS q WHERE q.b > 0",
    "SELECT r.* FROM r JOIN s ON r.a = s.a",
    "SELECT s.*, r.b FROM r JOIN s USING (a)",
    "SELECT * EXCEPT (c) FROM r",
    "SELECT r.a FROM r JOIN s ON r.a = s.a AND r.b IN (SELECT g FROM t)",
    "SELECT r.a FROM r JOIN s ON r.a = s.a AND EXISTS (SELECT 1 FROM t WHERE t.g = s.d)",
    "SELECT a FROM r LEFT ANTI JOIN s USING (a)",
    "SELECT a FROM r LEFT SEMI JOIN s USING (a)",
]
PLAIN = [
    "SELECT a FROM r",
    "SELECT a, b FROM r WHERE a > 1",
    "SELECT A, B FROM R WHERE A IS NULL",
    "SELECT a AS x, a AS y, a + b AS z FROM r",
    "SELECT name, NAME AS other FROM t",
    "SELECT DISTINCT a, b FROM r",
    "SELECT DISTINCT a + 1 AS a FROM r WHERE b IS NOT NULL",
    "SELECT a, CASE WHEN b > 1 THEN 'big' WHEN b IS NULL THEN 'none' ELSE c END AS size FROM r",
    "SELECT coalesce(a, b, 0) AS v, nullif(a, b) AS w, if(a > b, a, b) AS m FROM r",
    "SELECT upper(c) AS u, length(c) AS l, concat(c, '-', c) AS cc, substring(c, 1, 1) AS f FROM r",
    "SELECT a FROM r WHERE a BETWEEN 1 AND 2 AND NOT (b = 2 OR c LIKE 'v%')",
    "SELECT a FROM r WHERE a IN (1, 2) OR b NOT IN (1, 3)",
    "SELECT CAST(a AS STRING) AS t, CAST(b AS DOUBLE) AS d FROM r",
    "SELECT a + 1 AS p, p * 2 AS q, q - p AS o FROM r",
    "SELECT a AS b2, b2 + 1 AS b3 FROM r WHERE b > 0",
    "SELECT 1 AS one, 'x' AS x",
    "SELECT 1 AS one FROM r",
    "SELECT q.n FROM (SELECT a + b AS n FROM r) AS q WHERE n > 2",
    "SELECT n FROM (SELECT a, b FROM r) AS q(m, n)",
    "SELECT x FROM (VALUES (1, 'a'), (2, NULL)) AS v(x, y)",
    "SELECT * FROM VALUES (1, 2), (3, 4) AS v(p, q)",
    "VALUES (1, 2), (1, 2)",
    "SELECT v.p, r.b FROM r JOIN (VALUES (1, 10), (2, 20)) AS v(a, p) ON r.a = v.a",
    "SELECT greatest(a, b) AS g, least(a, b) AS l, abs(a - b) AS d FROM r",
    "SELECT a, b FROM r WHERE (a, b) IN ((1, 2), (2, 2))",
    "SELECT a FROM r WHERE a <=> b",
    "SELECT a IS DISTINCT FROM b AS differs FROM r",
    "SELECT a FROM r ORDER BY a",
    "SELECT t.k, t.Name AS n FROM t WHERE t.g % 2 = 1",
]
GROUPS = [
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
    "SELECT COUNT(*) AS n, COUNT(a) AS m, SUM(a) AS s, MIN(b) AS lo, MAX(b) AS hi, AVG(a) AS av FROM r",
    "SELECT a, SUM(b) + COUNT(*) * 2 AS v FROM r GROUP BY a",
    "SELECT a + b AS k, SUM(a) AS s FROM r GROUP BY a + b",
    "SELECT a + b AS k, SUM(a) AS s FROM r GROUP BY k",
    "SELECT a + b AS k, c, SUM(a) AS s FROM r GROUP BY 1, 2",
    "SELECT a, c, COUNT(*) AS n FROM r GROUP BY ALL",
    "SELECT COUNT(*) AS n FROM r GROUP BY a",
    "SELECT a FROM r GROUP BY a",
    "SELECT a + 1 AS p FROM r GROUP BY a",
    "SELECT (a + b) * 2 AS p FROM r GROUP BY a + b",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING COUNT(*) > 1",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING n > 1",
    "SELECT a, SUM(b) AS b FROM r GROUP BY a HAVING SUM(b) > 1",
    "SELECT a FROM r GROUP BY a HAVING MAX(b) > MIN(b)",
    "SELECT SUM(b) AS s FROM r HAVING COUNT(*) > 100",
    "SELECT COUNT(DISTINCT a) AS n, COUNT(DISTINCT b) AS m, SUM(DISTINCT a) AS s FROM r",
    "SELECT a, COUNT(*) FILTER (WHERE b > 1) AS n, SUM(b) FILTER (WHERE c = 'v') AS s FROM r GROUP BY a",
    "SELECT a, SUM(CASE WHEN b > 1 THEN 1 ELSE 0 END) AS n FROM r GROUP BY a",
    "SELECT r.a, SUM(d) AS s FROM r JOIN s ON r.a = s.a GROUP BY r.a",
    "SELECT r.a, COUNT(s.d) AS n FROM r LEFT JOIN s ON r.a = s.a GROUP BY r.a",
    "SELECT a, SUM(d) AS s FROM r FULL JOIN s USING (a) GROUP BY a",
    "SELECT n, COUNT(*) AS m FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) AS q GROUP BY n",
    "SELECT MAX(n) AS m FROM (SELECT COUNT(*) AS n FROM r GROUP BY a) AS q",
    "SELECT DISTINCT COUNT(*) AS n FROM r GROUP BY a",
    "SELECT c, COUNT(*) AS n, n * 2 AS m FROM r GROUP BY c",
    "SELECT upper(c) AS u, COUNT(*) AS n FROM r GROUP BY upper(c)",
    "SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END AS k, COUNT(*) AS n FROM r GROUP BY CASE WHEN"
    " a > 1 THEN 'x' ELSE 'y' END",
    "SELECT a, b, COUNT(*) AS n FROM r GROUP BY b, a, a",
    "SELECT bool_and(a > 0) AS ba, bool_or(b > 2) AS bo FROM r GROUP BY c",
    "SELECT a, max_by(k, k) AS m FROM (SELECT g AS a, k FROM t) AS q GROUP BY a",
    "SELECT a, stddev_pop(b) AS sd, var_samp(b) AS vs FROM r GROUP BY a",
    "SELECT a, COUNT(*) AS n FROM r WHERE b IS NOT NULL GROUP BY a HAVING COUNT(*) < 3 AND a IS NOT NULL",
]
GROUPING_SETS = [
    "SELECT a, c, COUNT(*) AS n FROM r GROUP BY ROLLUP (a, c)",
    "SELECT a, c, SUM(b) AS s FROM r GROUP BY CUBE (a, c)",
    "SELECT a, c, COUNT(*) AS n FROM r GROUP BY GROUPING SETS ((a, c), (a), ())",
    "SELECT a, b, c, COUNT(*) AS n FROM r GROUP BY a, ROLLUP (b, c)",
    "SELECT a, c, grouping(a) AS ga, grouping(c) AS gc, COUNT(*) AS n FROM r GROUP BY CUBE (a, c)",
    "SELECT a, c, COUNT(*) AS n FROM r GROUP BY ROLLUP (a, c) HAVING COUNT(*) > 1",
    "SELECT a + 1 AS k, c, SUM(a) AS s FROM r GROUP BY ROLLUP (a + 1, c)",
    "SELECT a, c, COUNT(*) AS n FROM r GROUP BY GROUPING SETS (a, c)",
    "SELECT coalesce(c, 'all') AS c2, MAX(a) AS m FROM r GROUP BY ROLLUP (c)",
]
SETS = [
    f"SELECT a FROM r {one} SELECT {two} FROM s"
    for one in ("UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
    for two in ("a", "d", "a + 1")
] + [
    "SELECT a, b FROM r UNION SELECT a, d FROM s UNION ALL SELECT g, x FROM t",
    "SELECT a FROM r UNION SELECT a FROM s INTERSECT SELECT g FROM t",
    "SELECT a FROM r EXCEPT SELECT a FROM s EXCEPT SELECT g FROM t",
    "(SELECT a FROM r UNION ALL SELECT a FROM s) EXCEPT ALL SELECT g FROM t",
    "SELECT a FROM r MINUS SELECT a FROM s",
    "SELECT q.a, COUNT(*) AS n FROM (SELECT a FROM r UNION ALL SELECT a FROM s) AS q GROUP BY q.a",
    "SELECT a, 'r' AS which FROM r UNION ALL SELECT d, 's' FROM s",
    "SELECT a FROM r UNION ALL SELECT a FROM s ORDER BY a LIMIT 4",
    "SELECT a FROM r WHERE a IN (SELECT a FROM s UNION SELECT g FROM t)",
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a UNION ALL SELECT 1 FROM t"
    " WHERE t.g = r.b)",
]
CTES = [
    "WITH q AS (SELECT a, b FROM r WHERE a > 0) SELECT * FROM q",
    "WITH q(m, n) AS (SELECT a, b FROM r) SELECT m FROM q WHERE n > 1",
    "WITH q AS (SELECT a FROM r), p AS (SELECT a, COUNT(*) AS n FROM q GROUP BY a) SELECT * FROM p",
    "WITH q AS (SELECT a, COUNT(*) AS n FROM r GROUP BY a) SELECT x.a, y.n FROM q AS x JOIN q"
    " AS y ON x.n = y.n",
    "WITH q AS (SELECT a, COUNT(*) AS n FROM r GROUP BY a) SELECT a FROM q WHERE n = (SELECT MAX(n) FROM q)",
    "WITH r AS (SELECT d AS a FROM s) SELECT a FROM r",
    "SELECT * FROM (WITH q AS (SELECT a FROM r) SELECT a, a + 1 AS b FROM q) AS z",
    "WITH q AS (SELECT a FROM r) SELECT a FROM q UNION ALL SELECT a + 1 FROM q",
]
EXISTENCE = [
    "SELECT * FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    "SELECT * FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    "SELECT * FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.d > r.b)",
    "SELECT * FROM r WHERE EXISTS (SELECT 1 FROM s)",
    "SELECT * FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE d > 100)",
    "SELECT * FROM r WHERE EXISTS (SELECT a FROM s WHERE s.a = r.a GROUP BY a HAVING COUNT(*) > 1)",
    "SELECT * FROM r WHERE EXISTS (SELECT COUNT(*) FROM s WHERE s.a = r.a)",
    "SELECT * FROM r WHERE EXISTS (SELECT COUNT(*) FROM s WHERE s.a = r.a HAVING COUNT(*) > 1)",
    "SELECT * FROM r WHERE a IN (SELECT a FROM s)",
    "SELECT * FROM r WHERE a NOT IN (SELECT a FROM s)",
    "SELECT * FROM r WHERE a NOT IN (SELECT a FROM s WHERE a IS NOT NULL)",
    "SELECT * FROM r WHERE a NOT IN (SELECT d FROM s WHERE s.a = r.b)",
    "SELECT * FROM r WHERE a IN (SELECT d FROM s WHERE s.a = r.b)",
    "SELECT * FROM r WHERE a NOT IN (SELECT a FROM s WHERE d > 100)",
    "SELECT * FROM r WHERE (a, b) IN (SELECT a, d FROM s)",
    "SELECT * FROM r WHERE (a, b) NOT IN (SELECT a, d FROM s)",
    "SELECT * FROM r WHERE a + 1 IN (SELECT d FROM s WHERE a > 0)",
    "SELECT * FROM r WHERE a IN (SELECT MAX(a) FROM s GROUP BY d)",
    "SELECT * FROM r WHERE a IN (SELECT DISTINCT a FROM s WHERE s.d = r.b)",
    "SELECT * FROM r WHERE a IN (SELECT a FROM s ORDER BY a, d LIMIT 2)",
    "SELECT * FROM r WHERE a > 1 OR EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    "SELECT * FROM r WHERE a > 1 OR NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.d > r.b)",
    "SELECT * FROM r WHERE b = 1 OR a IN (SELECT a FROM s)",
    "SELECT * FROM r WHERE b = 1 OR a NOT IN (SELECT a FROM s)",
    "SELECT * FROM r WHERE NOT (b = 1 AND a IN (SELECT a FROM s WHERE a IS NOT NULL))",
    "SELECT a, EXISTS (SELECT 1 FROM s WHERE s.a = r.a) AS e FROM r",
    # As values IN and NOT IN are never NULL in Spark: what SQL leaves open is false.
    "SELECT a, coalesce(a IN (SELECT a FROM s), false) AS i, coalesce(a NOT IN (SELECT d FROM s), false) AS n"
    " FROM r",
    "SELECT a, coalesce(a IN (SELECT a FROM s WHERE a > 0), false) AS i FROM r",
    "SELECT a, coalesce(a IN (SELECT d FROM s WHERE s.a = r.b), false) AS i FROM r",
    "SELECT a, coalesce((a, b) IN (SELECT a, d FROM s), false) AS i FROM r",
    "SELECT a, coalesce(NOT (a IN (SELECT d FROM s) OR b > 1), false) AS i FROM r WHERE b IS NOT NULL",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM s WHERE s.a = r.a) THEN 'yes' ELSE 'no' END AS e FROM r",
    "SELECT * FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND EXISTS (SELECT 1 FROM t"
    " WHERE t.g = s.d))",
    "SELECT * FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND EXISTS (SELECT 1 FROM t"
    " WHERE t.g = r.b))",
    "SELECT * FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.d > r.b AND s.a NOT IN (SELECT g"
    " FROM t WHERE t.x = r.a))",
    "SELECT * FROM r WHERE EXISTS (SELECT 1 FROM (SELECT d FROM s WHERE s.a = r.a) AS q WHERE q.d > 0)",
    "SELECT a, COUNT(*) AS n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a) GROUP BY a",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING a IN (SELECT a FROM s) AND COUNT(*) > 0",
    "SELECT a, SUM(b) AS v FROM r GROUP BY a HAVING SUM(b) IN (SELECT d FROM s)",
    "SELECT * FROM r WHERE NOT (NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a))",
    "SELECT * FROM r LEFT JOIN s ON r.a = s.a WHERE s.d IN (SELECT x FROM t)".replace("*", "b, d"),
]
SCALARS = [
    "SELECT a, (SELECT MAX(d) FROM s) AS m FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a) AS n FROM r",
    "SELECT a, (SELECT COUNT(*) + 1 FROM s WHERE s.a = r.a) AS n FROM r",
    "SELECT a, (SELECT SUM(d) FROM s WHERE s.a = r.a) AS n FROM r",
    "SELECT a, (SELECT coalesce(SUM(d), 0) FROM s WHERE s.a = r.a) AS n FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a AND s.d > r.b) AS n FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s WHERE s.d < r.b) AS n FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a OR s.d = r.b) AS n FROM r",
    "SELECT a, (SELECT SUM(d + r.b) FROM s WHERE s.a = r.a) AS n FROM r",
    "SELECT a, (SELECT COUNT(d) FROM s WHERE s.a <=> r.a) AS n FROM r",
    "SELECT a, (SELECT MAX(d) FROM s WHERE s.a + 1 = r.a * 2) AS n FROM r",
    "SELECT * FROM r WHERE b > (SELECT AVG(d) FROM s WHERE s.a = r.a)",
    "SELECT * FROM r WHERE b = (SELECT MAX(b) FROM r AS q WHERE q.a = r.a)",
    "SELECT * FROM r WHERE (SELECT COUNT(*) FROM s WHERE s.a = r.a) = 0",
    "SELECT * FROM r WHERE b < (SELECT COUNT(*) FROM s)",
    "SELECT a, (SELECT x FROM t WHERE t.k = r.a) AS x FROM r",
    "SELECT a, (SELECT x FROM t WHERE k = 2) AS x FROM r",
    "SELECT a, (SELECT d FROM s ORDER BY d, a LIMIT 1) AS x FROM r",
    "SELECT a, (SELECT d FROM s WHERE s.a = r.a ORDER BY d DESC LIMIT 1) AS x FROM r",
    "SELECT a, (SELECT d FROM s WHERE s.d > r.a ORDER BY d LIMIT 1) AS x FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a HAVING COUNT(*) > 1) AS n FROM r",
    "SELECT a, (SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM s WHERE s.a = r.a GROUP BY d) AS"
    " q) AS m FROM r",
    "SELECT a, SUM(b) AS v, (SELECT MAX(d) FROM s) AS m FROM r GROUP BY a",
    "SELECT a, SUM(b) AS v, (SELECT MAX(d) FROM s WHERE s.a = r.a) AS m FROM r GROUP BY a",
    "SELECT a, SUM(b) AS v FROM r GROUP BY a HAVING SUM(b) > (SELECT AVG(d) FROM s)",
    "SELECT a, SUM(b) AS v FROM r GROUP BY a HAVING SUM(b) > (SELECT AVG(d) FROM s WHERE s.a = r.a)",
    "SELECT SUM((SELECT COUNT(*) FROM s WHERE s.a = r.a)) AS n FROM r",
    "SELECT MAX((SELECT MAX(d) FROM s WHERE s.a = r.a)) AS n, c FROM r GROUP BY c",
    "SELECT CASE WHEN a > (SELECT AVG(a) FROM s) THEN 1 ELSE 0 END AS f, COUNT(*) AS n FROM r"
    " GROUP BY CASE WHEN a > (SELECT AVG(a) FROM s) THEN 1 ELSE 0 END",
    "SELECT a, (SELECT MIN(g) FROM t WHERE t.x = (SELECT MAX(d) FROM s WHERE s.a = r.a)) AS m FROM r",
    "SELECT a, (SELECT COUNT(*) FROM t WHERE t.g = r.a AND t.x > (SELECT AVG(d) FROM s WHERE"
    " s.a = r.b)) AS m FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s JOIN t ON s.d = t.g WHERE s.a = r.a) AS m FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s LEFT JOIN t ON s.d = t.g AND t.x > r.b WHERE s.a = r.a) AS m FROM r",
    "SELECT a, (SELECT COUNT(*) FROM s FULL JOIN t ON s.d = t.g WHERE s.a = r.a) AS m FROM r",
    "SELECT a, (SELECT COUNT(DISTINCT d) FROM s WHERE s.a >= r.a) AS m FROM r",
    "SELECT a + (SELECT COUNT(*) FROM s) AS p FROM r",
    "SELECT (SELECT MAX(a) FROM r) - (SELECT MIN(a) FROM s) AS d",
    "SELECT a, (SELECT SUM(v) FROM (SELECT d AS v FROM s WHERE s.a = r.a UNION ALL SELECT x"
    " FROM t WHERE t.g = r.b) AS q) AS m FROM r",
]
LATERALS = [
    "SELECT r.a, q.d FROM r, LATERAL (SELECT d FROM s WHERE s.a = r.a) AS q",
    "SELECT r.a, q.d FROM r LEFT JOIN LATERAL (SELECT d FROM s WHERE s.a = r.a) AS q ON TRUE",
    "SELECT r.a, q.n FROM r, LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.a = r.a) AS q",
    "SELECT r.a, q.n, q.m FROM r, LATERAL (SELECT COUNT(*) AS n, MAX(d) AS m FROM s WHERE s.d > r.a) AS q",
    "SELECT r.a, q.d FROM r, LATERAL (SELECT d FROM s WHERE s.a = r.a ORDER BY d LIMIT 1) AS q",
    "SELECT r.a, q.d FROM r LEFT JOIN LATERAL (SELECT d FROM s WHERE s.a > r.a ORDER BY d DESC"
    " LIMIT 2) AS q ON TRUE",
    "SELECT r.a, q.d FROM r JOIN LATERAL (SELECT d FROM s WHERE s.a = r.a ORDER BY d LIMIT 2"
    " OFFSET 1) AS q ON q.d > 0",
    "SELECT r.a, q.e FROM r, LATERAL (SELECT d + r.b AS e FROM s WHERE s.a = r.a) AS q",
    "SELECT r.a, q.e FROM r, LATERAL (SELECT r.a + r.b AS e) AS q",
    "SELECT r.a, q.d, p.n FROM r, LATERAL (SELECT d FROM s WHERE s.a = r.a) AS q, LATERAL"
    " (SELECT COUNT(*) AS n FROM t WHERE t.g = q.d) AS p",
    "SELECT r.a, q.a2, q.n FROM r, LATERAL (SELECT a AS a2, COUNT(*) AS n FROM s WHERE s.d >"
    " r.b GROUP BY a) AS q",
    "SELECT r.a, q.d FROM r, LATERAL (SELECT DISTINCT d FROM s WHERE s.a >= r.a) AS q",
    "SELECT r.a, q.d FROM r, LATERAL (SELECT d FROM s WHERE s.a = r.a UNION ALL SELECT x FROM t"
    " WHERE t.g = r.a) AS q(d)",
    "SELECT r.a, q.d, q.p FROM r, LATERAL (SELECT d, RANK() OVER (ORDER BY d) AS p FROM s WHERE"
    " s.a >= r.a) AS q",
]
GENERATORS = [
    "SELECT id, x FROM xs LATERAL VIEW explode(list) l AS x",
    "SELECT id, l.x + 1 AS y FROM xs LATERAL VIEW explode(list) l AS x WHERE x > 1",
    "SELECT x, COUNT(*) AS n FROM xs LATERAL VIEW explode(list) l AS x GROUP BY x",
]
WINDOWS = [
    "SELECT a, b, RANK() OVER (PARTITION BY a ORDER BY b) AS p FROM r",
    "SELECT a, b, DENSE_RANK() OVER (ORDER BY b DESC) AS p FROM r",
    "SELECT k, ROW_NUMBER() OVER (PARTITION BY g ORDER BY k) AS p FROM t",
    "SELECT k, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x, k) AS p FROM t",
    "SELECT k, LAG(x) OVER (PARTITION BY g ORDER BY k) AS p, LEAD(x, 1, 0) OVER (PARTITION BY g"
    " ORDER BY k) AS q FROM t",
    "SELECT a, SUM(b) OVER (PARTITION BY a) AS p, COUNT(*) OVER () AS q FROM r",
    "SELECT a, SUM(b) OVER (PARTITION BY a ORDER BY b) AS p FROM r",
    "SELECT k, SUM(x) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS p FROM t",
    "SELECT k, SUM(x) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND"
    " CURRENT ROW) AS p FROM t",
    "SELECT a, MAX(b) OVER (PARTITION BY a + 1) AS p FROM r",
    "SELECT a, b - AVG(b) OVER (PARTITION BY a) AS p FROM r",
    "SELECT a, SUM(b) OVER w AS p, MIN(b) OVER w AS q FROM r WINDOW w AS (PARTITION BY c)",
    "SELECT c, SUM(b) AS v, RANK() OVER (ORDER BY SUM(b)) AS p FROM r GROUP BY c",
    "SELECT c, SUM(SUM(b)) OVER () AS v FROM r GROUP BY c",
    "SELECT c, a, SUM(b) AS v, MAX(SUM(b)) OVER (PARTITION BY c) AS m FROM r GROUP BY c, a",
    "SELECT * FROM (SELECT k, g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY k DESC) AS p FROM"
    " t) AS q WHERE p = 1",
    "SELECT k, g FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY k) <= 2",
    "SELECT k, RANK() OVER (ORDER BY x) AS p FROM t QUALIFY p < 3",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) = 1",
    "SELECT k, NTILE(2) OVER (ORDER BY k) AS p, PERCENT_RANK() OVER (ORDER BY x) AS q,"
    " CUME_DIST() OVER (ORDER BY x) AS o FROM t",
    "SELECT k, FIRST_VALUE(x) OVER (PARTITION BY g ORDER BY k) AS p FROM t",
    "SELECT k, LAST_VALUE(x) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING"
    " AND UNBOUNDED FOLLOWING) AS p FROM t",
    "SELECT r.a, SUM(d) OVER (PARTITION BY r.a) AS v FROM r JOIN s ON r.a = s.a",
    "SELECT DISTINCT a, COUNT(*) OVER (PARTITION BY a) AS n FROM r",
    "SELECT CASE WHEN RANK() OVER (ORDER BY a) = 1 THEN 'first' ELSE 'rest' END AS f FROM r",
    "SELECT a, COUNT(*) OVER (PARTITION BY a, c) AS n, COUNT(*) OVER (PARTITION BY c) AS m FROM r",
    "SELECT a, SUM(b) FILTER (WHERE b > 1) OVER (PARTITION BY a) AS n FROM r",
]
TOPS = [
    "SELECT a, b, c FROM r ORDER BY a, b, c LIMIT 3",
    "SELECT k FROM t ORDER BY k DESC LIMIT 2",
    "SELECT k FROM t ORDER BY x, k LIMIT 3 OFFSET 1",
    "SELECT k, x AS y FROM t ORDER BY y DESC, k LIMIT 2",
    "SELECT k + 1 AS m FROM t ORDER BY 1 LIMIT 2",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a ORDER BY n DESC, a LIMIT 2",
    "SELECT a FROM r GROUP BY a ORDER BY COUNT(*) DESC, a LIMIT 2",
    "SELECT DISTINCT a FROM r ORDER BY a LIMIT 2",
    "SELECT * FROM (SELECT k, x FROM t ORDER BY k LIMIT 3) AS q WHERE x > 0",
    "SELECT k FROM t ORDER BY k NULLS LAST OFFSET 2",
    "SELECT a FROM r ORDER BY a DESC NULLS FIRST LIMIT 3",
    "SELECT a FROM r ORDER BY a NULLS LAST LIMIT 3",
    "SELECT a FROM r LIMIT 0",
    "SELECT COUNT(*) AS n FROM (SELECT a FROM r LIMIT 3) AS q",
    "SELECT a FROM (SELECT a, b FROM r ORDER BY a, b, c LIMIT 4) AS q GROUP BY a ORDER BY a LIMIT 1",
]
RECURSION = [
    "WITH RECURSIVE p(x, y) AS (SELECT src, dst FROM edge UNION SELECT p.x, e.dst FROM p JOIN"
    " edge AS e ON p.y = e.src) SELECT x, y FROM p",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
    "WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT n.i,"
    " r.a FROM n JOIN r ON n.i = r.a",
    "WITH RECURSIVE p(x) AS (SELECT src FROM edge WHERE src = 0 UNION SELECT dst FROM p JOIN"
    " edge ON p.x = edge.src) SELECT COUNT(*) AS n FROM p",
    "WITH RECURSIVE p(x) AS (SELECT 0 UNION SELECT dst FROM p JOIN edge ON p.x = edge.src)"
    " SELECT DISTINCT src FROM edge WHERE src NOT IN (SELECT x FROM p)",
    "WITH RECURSIVE p(x, d) AS (SELECT src, 0 FROM edge UNION ALL SELECT e.dst, d + 1 FROM p"
    " JOIN edge AS e ON p.x = e.src WHERE d < 3) SELECT x, MAX(d) AS far FROM p GROUP BY x",
    "WITH RECURSIVE q AS (SELECT src AS v FROM edge), p(x) AS (SELECT v FROM q UNION SELECT dst"
    " FROM p JOIN edge ON p.x = edge.src) SELECT x FROM p",
]

TEXTS = [
    *PLAIN,
    *JOINS,
    *USING,
    *NATURAL,
    *HALF_JOINS,
    *MORE_JOINS,
    *GROUPS,
    *GROUPING_SETS,
    *SETS,
    *CTES,
    *EXISTENCE,
    *SCALARS,
    *LATERALS,
    *GENERATORS,
    *WINDOWS,
    *TOPS,
    *RECURSION,
]
