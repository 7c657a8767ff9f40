"""Numbers that were wrong once: every view equals Spark's own answer to its text, to the last digit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.sizes import in_batches, spread
from viewkeeper import errors

CONDITION = 1e-5
"""A value near 10⁹ is known to 10⁻⁷: its difference of tenths to six digits, and the square to five."""

BY_IDS = "TBLPROPERTIES ('viewkeeper.strategy' = 'id-diffs')"


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


@pytest.fixture
def agrees(spark: SparkSession, warehouse: vk.Warehouse) -> Callable[..., None]:
    """Fails unless views show what Spark answers to their texts: rows and types."""

    def check(views: dict[str, str], *tables: str, rounding: float = 1e-14) -> None:
        for table in tables:
            warehouse.table(table).createOrReplaceTempView(table)
        for name, text in views.items():
            shown, wanted = warehouse.table(name), spark.sql(text)
            assert shown.dtypes == wanted.dtypes
            rows = [sorted(map(tuple, frame.collect()), key=repr) for frame in (shown, wanted)]
            assert len(rows[0]) == len(rows[1]), name
            for mine, theirs in zip(*rows, strict=True):
                same = all(alike(one, other, rounding) for one, other in zip(mine, theirs, strict=True))
                assert same, f"{name}: {mine} instead of {theirs}"

    return check


def alike(one: Any, other: Any, rounding: float) -> bool:
    """Equal; numbers in floating point but for rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=rounding)
    return type(one) is type(other) and one == other


def created(warehouse: vk.Warehouse, views: dict[str, str], properties: str = "") -> None:
    for name, text in views.items():
        warehouse.sql(f"CREATE MATERIALIZED VIEW {name} {properties} AS {text}")


def test_averages_and_quotients_of_decimals_have_the_scale_of_the_query(
    warehouse: vk.Warehouse, agrees: Callable[..., None]
) -> None:
    warehouse.sql("CREATE TABLE t (g INT, k INT, b DECIMAL(38,18), c DECIMAL(18,8))")
    warehouse.sql(
        "INSERT INTO t VALUES (1, 1, 0.000000000000000001, 0.00000003), (2, 4, 1, 1), (3, 9, NULL, NULL), "
        "(1, 2, 1.000000000000000002, 0.75000006), (1, 3, 0.500000000000000001, 0.37500003)"
    )
    views = {
        "long": "SELECT g, AVG(b) AS a, SUM(b) / COUNT(*) AS q FROM t GROUP BY g",
        "short": "SELECT g, AVG(c) AS a, SUM(c) / COUNT(*) AS q, SUM(c) AS s FROM t GROUP BY g",
        "quotient": "SELECT g, SUM(b) / COUNT(*) AS q FROM t GROUP BY g",
    }
    created(warehouse, views)
    agrees(views, "t")
    changes = ("DELETE FROM t WHERE k = 2", "INSERT INTO t VALUES (1, 5, 3.3, -2.2), (3, 6, -7, 0.1)")
    for batch in in_batches([[change] for change in changes]):
        for change in batch:
            warehouse.sql(change)
        warehouse.refresh(policy="incremental")
        agrees(views, "t")


def test_several_long_decimal_sums_after_deletions(
    warehouse: vk.Warehouse, agrees: Callable[..., None]
) -> None:
    warehouse.sql("CREATE TABLE t (g INT, k INT, b DECIMAL(38,10), c DECIMAL(20,15))")
    warehouse.sql(
        "INSERT INTO t VALUES (1, 1, 6.5000000001, 1.000000000000001), (1, 2, 1.1, 2.2), (2, 3, -3, 3)"
    )
    sums = "SUM(b) AS sb, SUM(c) AS sc, SUM(b * c) AS sbc, SUM(b / 3) AS sb3"
    views = {
        "plain": f"SELECT g, {sums} FROM t GROUP BY g",
        "whole": f"SELECT {sums} FROM t",
        "with_extreme": f"SELECT g, MIN(k) AS least, {sums} FROM t GROUP BY g",
        "having": f"SELECT g, {sums} FROM t GROUP BY g HAVING SUM(b) <> 0",
    }
    created(warehouse, views)
    agrees(views, "t")
    for changes in in_batches(
        (
            ("DELETE FROM t WHERE k = 2",),
            ("INSERT INTO t VALUES (1, 4, 1.5, -1.5), (2, 5, 3.0000000002, 0)", "DELETE FROM t WHERE k = 3"),
        )
    ):
        for change in changes:
            warehouse.sql(change)
        warehouse.refresh(policy="incremental")
        agrees(views, "t")


def test_decimal_sums_kept_by_id_based_diffs(warehouse: vk.Warehouse, agrees: Callable[..., None]) -> None:
    warehouse.sql("CREATE TABLE p (id INT, g INT, c DECIMAL(18,8), d DECIMAL(38,10), PRIMARY KEY (id))")
    warehouse.sql("INSERT INTO p VALUES (1, 1, 1.5, 0.0000000001), (2, 1, 0.00000003, 7), (3, 2, 1, 1)")
    views = {
        "sums": "SELECT g, SUM(c) AS sc, COUNT(c) AS n FROM p GROUP BY g",
        "averages": "SELECT g, AVG(c) AS ac, SUM(d) AS sd, AVG(d) AS ad FROM p GROUP BY g",
    }
    created(warehouse, views, BY_IDS)
    agrees(views, "p")
    for change in (
        "UPDATE p SET c = 0.00000004, d = 7.0000000001 WHERE id = 2",
        "UPDATE p SET c = c + 0.00000001",
        "DELETE FROM p WHERE id = 1",
        "UPDATE p SET g = 2 WHERE id = 2",
    ):
        warehouse.sql(change)
        warehouse.refresh(policy="incremental")
        agrees(views, "p")


def test_moments_of_large_values_close_together(warehouse: vk.Warehouse, agrees: Callable[..., None]) -> None:
    warehouse.sql("CREATE TABLE t (g INT, k INT, x DOUBLE, y DOUBLE)")
    warehouse.sql(
        "INSERT INTO t VALUES (1, 1, 1000000000.1, 2000000000.2), (1, 2, 1000000000.2, 2000000000.41), "
        "(1, 3, 1000000000.3, 2000000000.5), (2, 4, 1, 1)"
    )
    calls = "STDDEV(x) AS a, VAR_POP(x) AS b, COVAR_SAMP(x, y) AS c, CORR(x, y) AS d"
    more = "SKEWNESS(x) AS e, KURTOSIS(x) AS f, REGR_SLOPE(y, x) AS h, REGR_R2(y, x) AS i"
    views = {
        "moments": f"SELECT g, {calls} FROM t GROUP BY g",
        "higher": f"SELECT g, {more} FROM t GROUP BY g",
    }
    created(warehouse, views)
    for change in (
        "INSERT INTO t VALUES (1, 5, 1000000000.4, 2000000000.9), (2, 6, 2, 5), (3, 7, NULL, 2)",
        "DELETE FROM t WHERE k = 2",
        "DELETE FROM t WHERE k > 3",
    ):
        agrees(views, "t", rounding=CONDITION)
        warehouse.sql(change)
        warehouse.refresh(policy="incremental")
    agrees(views, "t", rounding=CONDITION)


def test_a_large_value_that_comes_and_goes_leaves_no_trace(
    warehouse: vk.Warehouse, agrees: Callable[..., None]
) -> None:
    warehouse.sql("CREATE TABLE t (g INT, k INT, x DOUBLE, f FLOAT)")
    warehouse.sql("INSERT INTO t VALUES (1, 1, 0.1, 0.1), (1, 2, 0.2, 0.2), (2, 3, 1, 1)")
    views = {
        "sums": "SELECT g, SUM(x) AS a, AVG(x) AS b, SUM(f) AS c FROM t GROUP BY g",
        "having": "SELECT g, SUM(x) AS a FROM t GROUP BY g HAVING SUM(x) > 0.2",
    }
    created(warehouse, views)
    for change in (
        "INSERT INTO t VALUES (1, 5, 1e17, 1e17)",
        "DELETE FROM t WHERE k = 5",
        "INSERT INTO t VALUES (1, 6, CAST('NaN' AS DOUBLE), CAST('Infinity' AS FLOAT)), (2, 7, 1e-300, -0.0)",
        "DELETE FROM t WHERE k = 6",
        "DELETE FROM t WHERE k = 7 OR g = 1",
    ):
        agrees(views, "t")
        warehouse.sql(change)
        warehouse.refresh(policy="incremental")
    agrees(views, "t")


def test_whole_numbers_overflow_only_where_the_sum_does_not_fit(
    warehouse: vk.Warehouse, agrees: Callable[..., None]
) -> None:
    """The changes would overflow on the way, and so would their sum: from the least to the greatest."""
    greatest = 2**63 - 1
    warehouse.sql("CREATE TABLE t (g INT, k INT, x BIGINT)")
    warehouse.sql(f"INSERT INTO t VALUES (1, 1, {-greatest}), (2, 2, 1)")
    views = {
        "sums": "SELECT g, SUM(x) AS a, AVG(x) AS b FROM t GROUP BY g",
        "least": "SELECT g, MIN(k) AS k, SUM(x) AS a FROM t GROUP BY g",
    }
    created(warehouse, views)
    for changes in (
        (f"INSERT INTO t VALUES (1, 3, {greatest})", "DELETE FROM t WHERE k = 1"),
        (f"INSERT INTO t VALUES (2, 4, {greatest}), (2, 5, {greatest})", "DELETE FROM t WHERE k IN (4, 5)"),
        (f"INSERT INTO t VALUES (2, 6, {-greatest})",),
    ):
        for change in changes:
            warehouse.sql(change)
        warehouse.refresh(policy="incremental")
        agrees(views, "t")
    before = warehouse.table("sums").collect()
    warehouse.sql("INSERT INTO t VALUES (1, 7, 1)")
    with pytest.raises(errors.ViewkeeperError, match="overflow"):
        warehouse.refresh(policy="incremental")
    assert warehouse.table("sums").collect() == before
    warehouse.sql("DELETE FROM t WHERE k = 7")
    warehouse.refresh(policy="incremental")
    agrees(views, "t")


def test_without_ansi_sums_wrap_and_long_decimals_are_null(
    spark: SparkSession, warehouse: vk.Warehouse, agrees: Callable[..., None]
) -> None:
    with setting(spark, "spark.sql.ansi.enabled", "false"):
        nines = "9" * 38
        warehouse.sql("CREATE TABLE t (g INT, k INT, x BIGINT, d DECIMAL(38,0))")
        warehouse.sql(f"INSERT INTO t VALUES (1, 1, {2**63 - 1}, {nines}), (2, 2, {-(2**63)}, -{nines})")
        views = {"v": "SELECT g, SUM(x) AS a, SUM(d) AS b FROM t GROUP BY g"}
        created(warehouse, views)
        for change in (
            "INSERT INTO t VALUES (1, 3, 1, 1), (2, 4, -1, -1)",
            "DELETE FROM t WHERE k > 2",
            f"INSERT INTO t VALUES (1, 5, -7, -{nines}), (2, 6, 8, 12345678901234567890123456789012345678)",
        ):
            agrees(views, "t")
            warehouse.sql(change)
            warehouse.refresh(policy="incremental")
        agrees(views, "t")


def test_a_row_that_comes_takes_others_away(warehouse: vk.Warehouse, agrees: Callable[..., None]) -> None:
    """Insertions alone take a minimum away where rows are shown for want of others."""
    warehouse.sql("CREATE TABLE t (g INT, k INT, x DOUBLE)")
    warehouse.sql("CREATE TABLE u (k INT)")
    warehouse.sql("INSERT INTO t VALUES (1, 1, 1.5), (1, 2, 1e300), (2, 3, 3)")
    views = {
        "v": "SELECT g, MIN(k) AS k, SUM(x) AS s FROM t "
        "WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) GROUP BY g"
    }
    created(warehouse, views)
    for change in ("INSERT INTO u VALUES (1)", "INSERT INTO u VALUES (3), (9)"):
        warehouse.sql(change)
        warehouse.refresh(policy="incremental")
        agrees(views, "t", "u")


LONG = ["DECIMAL(28,0)", "DECIMAL(28,28)", "DECIMAL(30,5)", "DECIMAL(38,0)", "DECIMAL(38,38)"]


@pytest.mark.parametrize("kind", spread(LONG))
def test_averages_of_decimals_from_28_digits_on(
    warehouse: vk.Warehouse, agrees: Callable[..., None], kind: str
) -> None:
    """They have no state: the groups that change are computed from their rows."""
    precision, scale = (int(digits) for digits in kind[8:-1].split(","))
    nines = "9" * min(precision, 34)  # an average of more has no room in Spark's own type for it
    most, least, unit, other = (f"CAST('{n}E-{scale}' AS {kind})" for n in (nines, f"-{nines}", "1", "-1"))
    warehouse.sql(f"CREATE TABLE t (k INT, g INT, x {kind}, PRIMARY KEY (k))")
    rows = f"(1, 1, {most}), (2, 1, {least}), (3, 1, {unit}), (4, 2, NULL), (5, 3, {unit})"
    warehouse.sql(f"INSERT INTO t VALUES {rows}")
    views = {
        "a": "SELECT g, AVG(x) AS a, COUNT(*) AS n FROM t GROUP BY g",
        "w": "SELECT AVG(x) AS a FROM t",
    }
    created(warehouse, views)
    created(warehouse, {f"{name}_by_ids": text for name, text in views.items()}, BY_IDS)
    views |= {f"{name}_by_ids": text for name, text in views.items()}
    agrees(views, "t")
    changes = (
        "DELETE FROM t WHERE k = 2",
        f"INSERT INTO t VALUES (6, 2, {unit}), (7, 1, {other})",
        f"UPDATE t SET x = {least} WHERE k IN (3, 5)",
        "UPDATE t SET g = 2 WHERE k = 1",
    )
    for batch in in_batches([[change] for change in changes]):
        for change in batch:
            warehouse.sql(change)
        warehouse.refresh(policy="incremental")
        agrees(views, "t")
