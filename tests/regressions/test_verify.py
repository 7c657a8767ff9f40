"""`verify` is Spark's answer to the user's text: it shares no error with what maintains views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame

import viewkeeper as vk
from tests.sizes import SIZES, spread
from tests.templates import Filled
from viewkeeper.algebra.schema import COUNT
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.spark.canonical_values import Floats
from viewkeeper.spark.compare import compare
from viewkeeper.spark.user_text import answer
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish

EDGES = [(1, 2), (2, 3), (3, 1), (3, 4), (5, 6)]


def tamper(wh: vk.Warehouse, view: str, rows: DataFrame) -> None:
    """Changes the stored rows of a view behind its back; the rows have `__count`."""

    def build(base: object) -> Draft:
        draft = Draft(base, "tamper")  # type: ignore[arg-type]
        draft.append(view, wh._work.engine.write(rows, draft.relations[view].folder))
        return draft

    publish(wh._work.log, build)


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE customers (id INT, name STRING)")
    warehouse.sql("CREATE TABLE orders (id INT, item STRING, price DOUBLE)")
    warehouse.sql("INSERT INTO customers VALUES (1, 'a'), (2, 'b'), (NULL, 'c')")
    warehouse.sql("INSERT INTO orders VALUES (1, 'x', 0.1), (1, 'y', -0.0D), (2, 'x', 0.2)")


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def test_columns_are_those_of_the_text_in_its_order(shop: vk.Warehouse) -> None:
    """`SELECT c.*` beside USING was right, and called different."""
    shop.create_view("v", "SELECT c.*, o.item FROM customers c JOIN orders o USING (id)")
    shop.sql("INSERT INTO orders VALUES (2, 'z', 1.0)")
    shop.refresh(policy="incremental")
    found = shop.verify("v")
    assert found, found
    assert (found.verdict, found.columns) == ("right", ())


@pytest.mark.parametrize("query", ["id IN (SELECT id FROM orders)", "id NOT IN (SELECT id FROM orders)"])
def test_the_text_is_not_what_viewkeeper_makes_of_it(shop: vk.Warehouse, query: str) -> None:
    """Whether the view is right or not, `verify` says the same as a comparison with Spark."""
    text = f"SELECT name, {query} AS there FROM customers"
    shop.create_view("v", text)
    plain = shop.sql(text, use_views=False)
    assert bool(shop.verify("v")) is not bool(compare(shop._work.engine, shop.table("v"), plain))


def test_a_zero_has_the_sign_that_the_text_gives_it(shop: vk.Warehouse) -> None:
    shop.create_view("v", "SELECT item, price FROM orders WHERE price <= 0")
    rows = f"SELECT 'y' AS item, {{}}0.0D AS price, {{}}1L AS {COUNT}"
    both = shop.spark.sql(f"{rows.format('-', '-')} UNION ALL {rows.format('', '')}")
    tamper(shop, "v", both)
    stored = [str(row.price) for row in shop.table("v").collect()]
    found = shop.verify("v")
    assert found.tolerance is None
    assert bool(found) is (stored == ["-0.0"])


def test_columns_of_another_type_or_name_are_told(shop: vk.Warehouse) -> None:
    shop.create_view("v", "SELECT item, COUNT(*) AS n FROM orders GROUP BY item")

    def build(base: object) -> Draft:
        draft = Draft(base, "tamper")  # type: ignore[arg-type]
        draft.put_view(replace(draft.catalog.views["v"], sql="SELECT item AS what, 1 AS n FROM orders"))
        return draft

    publish(shop._work.log, build)
    found = shop.verify("v")
    assert found.verdict == "different"
    assert found.columns == ("the view has item, n; the text gives what, n",)


def test_a_view_over_a_view_is_over_its_rows_or_over_its_text(shop: vk.Warehouse) -> None:
    shop.create_view("below", "SELECT id, item FROM orders WHERE id > 1")
    shop.create_view("above", "SELECT item FROM below WHERE item <> 'q'")
    tamper(shop, "below", shop.spark.sql(f"SELECT 9 AS id, 'w' AS item, 1L AS {COUNT}"))
    shop.refresh("above")
    assert not shop.verify("below")
    assert shop.verify("above")
    deep = shop.verify("above", deep=True)
    assert deep.extra == ({"item": "w", COUNT: 1},)


RECURSIONS = {
    "linear": """WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION
        SELECT r.a, e.b FROM r JOIN e ON r.b = e.a)
        SELECT a, b FROM r""",
    "not linear, unnamed columns": """WITH RECURSIVE r AS (
        (SELECT a, b FROM e) UNION (SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a)) SELECT a, COUNT(*) AS n
        FROM r GROUP BY a""",
    "mutual": """WITH RECURSIVE odd(a, b) AS (
          SELECT a, b FROM e UNION SELECT even.a, e.b FROM even JOIN e ON even.b = e.a),
        even(a, b) AS (SELECT odd.a, e.b FROM odd JOIN e ON odd.b = e.a)
        SELECT a, b FROM even""",
    "over another definition": """WITH RECURSIVE big AS (SELECT a, b FROM e WHERE a < 5), r(a, b) AS (
        SELECT a, b FROM big UNION SELECT r.a, big.b FROM r JOIN big ON r.b = big.a)
        SELECT r.b, big.a FROM r JOIN big ON r.b = big.b""",
    "inside": """SELECT t.a, 'WITH r AS (' AS text FROM (WITH RECURSIVE r(a) AS (SELECT 1 UNION
        SELECT e.b FROM r JOIN e ON r.a = e.a) SELECT a FROM r) t -- WITH""",
    "all": """WITH RECURSIVE w(b, n) AS (SELECT b, 1 FROM e WHERE a = 1 UNION ALL
        SELECT e.b, n + 1 FROM w JOIN e ON w.b = e.a WHERE n < 5) SELECT b, n FROM w""",
}


def closure(edges: list[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


@pytest.mark.parametrize("shape", RECURSIONS)
def test_recursion_is_evaluated_from_its_text(warehouse: vk.Warehouse, shape: str) -> None:
    warehouse.create_table("e", warehouse.spark.createDataFrame(EDGES, "a INT, b INT"))
    warehouse.create_view("v", RECURSIONS[shape])
    assert warehouse.verify("v"), warehouse.verify("v")
    if shape == "linear":
        assert {tuple(row) for row in warehouse.table("v").collect()} == closure(EDGES)
        tamper(warehouse, "v", warehouse.spark.sql(f"SELECT 7 AS a, 7 AS b, 1L AS {COUNT}"))
        assert warehouse.verify("v").extra == ({"a": 7, "b": 7, COUNT: 1},)


def test_recursions_over_each_other_are_taken_out_of_a_text(warehouse: vk.Warehouse) -> None:
    """Forward references, definitions around a body, names in any case, a WITH inside a body."""
    text = """WITH RECURSIVE
        s(b) AS (SELECT b FROM R WHERE a = 1 UNION SELECT r.b FROM s JOIN r ON s.b = r.a),
        r(a, b) AS ((WITH x AS (SELECT * FROM big) SELECT a, b FROM x) UNION
            SELECT r.a, big.b FROM r JOIN Big ON r.b = big.a),
        big AS (SELECT a, b FROM e WHERE a < 5)
        SELECT s.b, (SELECT COUNT(*) FROM e) AS n FROM s"""
    definition = ViewDefinition("v", text, (), ("e",))
    edges = warehouse.spark.createDataFrame(EDGES, "a INT, b INT")
    found = answer(warehouse._work.engine, definition, {"e": edges})
    assert {tuple(row) for row in found.collect()} == {(b, 5) for a, b in closure(EDGES) if a == 1}


PROGRAM = """
reach(X, Y) :- e(X, Y).
reach(X, Y) :- reach(X, Z), reach(Z, Y).
far(X, 0 - 1) :- e(a: X), not reach(1, X), X > 1.
far(X, M) :- groupby(reach(X, Y), [X], N = count(), M = max(Y)), N > 2, Z = N + 1, Z != 3.
far(0, 0).
all(N, S) :- groupby(e(X, Y), [], N = count(), S = sum(Y)).
even(X, Y) :- odd(X, Z), e(Z, Y).
odd(X, Y) :- e(X, Y).
odd(X, Y) :- even(X, Z), e(Z, Y).
next(X + 1) :- e(X, X + 1).
"""


def test_datalog_is_evaluated_from_its_rules(warehouse: vk.Warehouse) -> None:
    warehouse.create_table("e", warehouse.spark.createDataFrame([*EDGES, (1, None)], "a INT, b INT"))
    warehouse.datalog(PROGRAM)
    warehouse.sql("DELETE FROM e WHERE a = 2")
    warehouse.sql("INSERT INTO e VALUES (6, 7), (NULL, 3)")
    warehouse.refresh(policy="incremental")
    for view in ("reach", "far", "all", "even", "next"):
        assert warehouse.verify(view), warehouse.verify(view)
    assert {tuple(row) for row in warehouse.table("next").collect()} == {(2,), (4,), (6,), (7,)}
    tamper(warehouse, "odd", warehouse.spark.sql(f"SELECT 7 AS x, 9 AS y, 1L AS {COUNT}"))
    assert warehouse.verify("odd").extra == ({"x": 7, "y": 9, COUNT: 1},)


TELLS = {
    "-0.0D": "0.0D",
    "CAST('NaN' AS DOUBLE)": "NULL",
    "CAST('Infinity' AS DOUBLE)": "CAST('-Infinity' AS DOUBLE)",
    "CAST('-0.0' AS FLOAT)": "CAST('0.0' AS FLOAT)",
    "array(-0.0D, 1D)": "array(0.0D, 1D)",
    "struct(array(struct(-0.0D AS b)) AS a)": "struct(array(struct(0.0D AS b)) AS a)",
    "map('a', -0.0D)": "map('a', 0.0D)",
    "map('a', 1, 'b', 2)": "map('a', 1, 'b', 3)",
    "CAST('a' AS STRING COLLATE UTF8_LCASE)": "CAST('A' AS STRING COLLATE UTF8_LCASE)",
    "array(CAST('a' AS STRING COLLATE UTF8_LCASE))": "array(CAST('A' AS STRING COLLATE UTF8_LCASE))",
    "parse_json('{\"a\": [1, {}]}')": "parse_json('{\"a\": [2, {}]}')",
    "parse_json('1')": "to_variant_object(array(1))",
    "X'00ff'": "X'00fe'",
    "INTERVAL '1-2' YEAR TO MONTH": "INTERVAL '1-3' YEAR TO MONTH",
    "INTERVAL '1 02:03:04' DAY TO SECOND": "INTERVAL '1 02:03:05' DAY TO SECOND",
    "make_interval(0, 1, 0, 2)": "make_interval(0, 1, 0, 3)",
    "CAST(1.10 AS DECIMAL(38, 18))": "CAST(1.1000000000000001 AS DECIMAL(38, 18))",
    "TIMESTAMP_NTZ '2020-01-01 00:00:00'": "TIMESTAMP_NTZ '2020-01-01 00:00:00.000001'",
    "CAST(NULL AS STRUCT<a: DOUBLE>)": "CAST(struct(NULL) AS STRUCT<a: DOUBLE>)",
    "0.1234567895D": "0.12345678949999D",
}


def test_values_of_every_type_are_told_apart(warehouse: vk.Warehouse) -> None:
    """Exactly; and what is equal is equal to itself."""
    engine, spark = warehouse._work.engine, warehouse.spark
    for one, other in spread(list(TELLS.items()), max(10, SIZES.some)):
        left, same, right = (spark.sql(f"SELECT 1 AS k, {value} AS v") for value in (one, one, other))
        assert not compare(engine, left, same, floats=Floats()), one
        assert compare(engine, left, right, floats=Floats()), (one, other)


def test_maps_are_equal_in_any_order(warehouse: vk.Warehouse) -> None:
    spark = warehouse.spark
    left, right = (spark.sql(f"SELECT map({items}) AS v") for items in ("'a', 1, 'b', 2", "'b', 2, 'a', 1"))
    assert not compare(warehouse._work.engine, left, right)


@pytest.fixture
def verdict(warehouse: vk.Warehouse) -> Callable[[str, str], tuple[bool, bool]]:
    """Whether two queries differ, and whether by nothing that means anything; sums may be rounded."""

    def told(one: str, other: str) -> tuple[bool, bool]:
        spark, engine = warehouse.spark, warehouse._work.engine
        found = compare(engine, spark.sql(one), spark.sql(other))
        return bool(found), found.only_rests

    return told


def test_rounding_is_told_from_error(verdict: Callable[[str, str], tuple[bool, bool]]) -> None:
    rows = "SELECT * FROM VALUES ('a', {}D), ('b', 1000.0D) t(k, v)"
    nested = "SELECT 'a' AS k, array(named_struct('x', {}D)) AS v"
    for text in (rows, nested):
        edge = verdict(text.format("0.1234567895"), text.format("0.12345678949999999"))
        assert edge == (False, False)
        assert verdict(text.format("0.12345"), text.format("0.12346"))[0]
        assert verdict(text.format("-0.0"), text.format("0.0"))[0]
    assert verdict(rows.format("1e-17"), rows.format("0.0")) == (False, False)
    assert verdict(rows.format("1e-11"), rows.format("0.0")) == (True, True)
    assert verdict(rows.format("0.3"), rows.format("0.0")) == (True, False)
    single = "SELECT CAST({} AS FLOAT) AS v"
    assert verdict(single.format("0.3"), single.format("0.30000003")) == (False, False)


def test_copies_are_counted_when_rows_are_paired(verdict: Callable[[str, str], tuple[bool, bool]]) -> None:
    once, twice = "SELECT 0.1234567895D AS v", "SELECT 0.12345678949999999D AS v"
    assert verdict(f"{once} UNION ALL {once}", f"{twice} UNION ALL {twice}") == (False, False)
    assert verdict(f"{once} UNION ALL {once}", twice)[0]


def test_an_equal_view_is_verified_in_one_action(shop: vk.Warehouse) -> None:
    shop.create_view("v", "SELECT id, SUM(price) AS s FROM orders GROUP BY id")
    before = shop._work.engine.actions
    assert shop.verify("v")
    assert shop._work.engine.actions == before + 1
