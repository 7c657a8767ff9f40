"""Every sum and average of every type of number, over values at the edges of the types.

Whole numbers and decimals equal Spark's answer to the text to the last digit. Sums in floating point are
the exact sum of the group's values within an ulp or two, whatever came and went, which Spark's own need not.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk

pytestmark = pytest.mark.usefixtures("maintained")

NAN, INFINITY = float("nan"), float("inf")

WHOLE = {"ti": "TINYINT", "si": "SMALLINT", "i": "INT", "b": "BIGINT"}
DECIMALS = {"d5": "DECIMAL(5,2)", "d18": "DECIMAL(18,8)", "d27": "DECIMAL(27,10)", "d22": "DECIMAL(27,22)"}
LONG = {"d28": "DECIMAL(28,0)", "e38": "DECIMAL(38,18)", "d38": "DECIMAL(38,0)", "z38": "DECIMAL(38,38)"}
FLOATING = {"f": "FLOAT", "x": "DOUBLE"}
COLUMNS = {**WHOLE, **DECIMALS, **LONG, **FLOATING}


def calls(columns: dict[str, str], *functions: str) -> str:
    return ", ".join(f"{f.format(name)} AS {name}_{n}" for name in columns for n, f in enumerate(functions))


SUMS = ("SUM({0})", "COUNT({0})", "SUM({0}) FILTER (WHERE k > 2)")
EXACT = (*SUMS, "SUM({0}) / COUNT(*)")
VIEWS = {
    "whole": f"SELECT g, {calls(WHOLE, *EXACT, 'AVG({0})')} FROM n GROUP BY g",
    "decimals": f"SELECT g, {calls(DECIMALS, *EXACT, 'AVG({0})')} FROM n GROUP BY g",
    "long": f"SELECT g, {calls({k: v for k, v in LONG.items() if k != 'z38'}, *SUMS)} FROM n GROUP BY g",
    "anew": "SELECT g, SUM(z38) AS s, AVG(z38) AS z, AVG(d22) AS a FROM n GROUP BY g",
    "with_extremes": "SELECT g, MIN(b) AS l, MAX(d18) AS h, SUM(b) AS b, SUM(d27) AS d, SUM(e38) AS e "
    "FROM n GROUP BY g",
    "all_of_it": f"SELECT {calls({'i': 'INT', **DECIMALS}, 'SUM({0})', 'AVG({0})')} FROM n",
}
FLOATS = (
    "SELECT g, SUM(x) AS s, AVG(x) AS a, SUM(f) AS t, AVG(f) AS c, SUM(x) FILTER (WHERE k > 2) AS p "
    "FROM n GROUP BY g"
)


def row(g: int | None, k: int, at: float, x: float | None, f: float | None) -> tuple[Any, ...]:
    """A row whose exact numbers are this share of the greatest that their types have; 0 gives NULLs."""
    if not at:
        return (g, k, *(None for _ in WHOLE), *(None for _ in (*DECIMALS, *LONG)), f, x)
    whole = [(2**bits - 1) // round(1 / abs(at)) * (1 if at > 0 else -1) for bits in (7, 15, 31, 63)]
    return (g, k, *whole, *(_decimal(kind, at) for kind in (*DECIMALS.values(), *LONG.values())), f, x)


def _decimal(kind: str, at: float) -> Decimal:
    precision, scale = (int(part) for part in kind[8:-1].split(","))
    digits = (10**precision - 1) // round(1 / abs(at))
    return Decimal((int(at < 0), tuple(map(int, str(digits))), -scale))


FIRST = [
    row(1, 1, 1.0, 0.1, 0.1),
    row(2, 2, -1.0, 1e17, 16777216.0),
    row(2, 3, 0.25, 0.2, 1.0),
    row(3, 4, 0, -0.0, -0.0),
    row(3, 5, 0, None, None),
    row(None, 6, 0.1, 2.0**-74, 2.0**-149),
    row(None, 7, 0.3, 3.3, 3.3),
]
STEPS: tuple[tuple[str, list[tuple[Any, ...]]], ...] = (
    ("k = 1", [row(1, 11, -1.0, 1e300, 1e38), row(1, 12, 0.2, 1.0, 1.0), row(3, 13, 0.5, NAN, INFINITY)]),
    ("k IN (2, 11, 13, 6)", [row(2, 14, 0.5, 0.3, 0.3), row(None, 15, -0.3, -INFINITY, NAN)]),
    ("g = 2 OR k IN (12, 15)", [row(4, 16, 1.0, 1e-300, 1e-30)]),
    ("k = 16", [row(1, 17, 1.0, 5e-324, 3.4e38), row(2, 18, -1.0, 1.5, -1.5)]),
)


def test_every_number(spark: SparkSession, warehouse: vk.Warehouse) -> None:
    declared = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    warehouse.sql(f"CREATE TABLE n (g INT, k INT, {declared})")
    with warehouse.transaction() as t:
        t.insert("n", FIRST)
    for name, text in {**VIEWS, "floats": FLOATS}.items():
        warehouse.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
    alive = list(FIRST)
    compared(spark, warehouse, alive)
    for gone, came in STEPS:
        warehouse.sql(f"DELETE FROM n WHERE {gone}")
        with warehouse.transaction() as t:
            t.insert("n", came)
        kept = {found["k"] for found in warehouse.table("n").select("k").collect()}
        alive = [one for one in (*alive, *came) if one[1] in kept]
        report = warehouse.refresh(policy="incremental")
        assert {entry.strategy for entry in report} <= {"counting", "summary-delta"}
        compared(spark, warehouse, alive)


def compared(spark: SparkSession, warehouse: vk.Warehouse, alive: list[tuple[Any, ...]]) -> None:
    warehouse.table("n").createOrReplaceTempView("n")
    for name, text in VIEWS.items():
        shown, wanted = warehouse.table(name), spark.sql(text)
        assert shown.dtypes == wanted.dtypes, name
        mine, theirs = ({one.asDict().get("g"): one for one in f.collect()} for f in (shown, wanted))
        assert mine.keys() == theirs.keys(), name
        for group, one in mine.items():
            for column, value in one.asDict().items():
                assert is_same(value, theirs[group][column]), f"{name}: {column} of {group}"
    for one in warehouse.table("floats").collect():
        group = [found for found in alive if found[0] == one["g"]]
        check_floats(one["s"], one["a"], [found[-1] for found in group])
        check_floats(one["t"], one["c"], [single(found[-2]) for found in group])
        check_floats(one["p"], None, [found[-1] for found in group if found[1] > 2])


def is_same(value: Any, wanted: Any) -> bool:
    if isinstance(value, float) and isinstance(wanted, float):
        return math.isclose(value, wanted, rel_tol=1e-15, abs_tol=0)
    return type(value) is type(wanted) and bool(value == wanted)


def single(value: float | None) -> float | None:
    """The FLOAT next to a DOUBLE."""
    return None if value is None else float(struct.unpack("f", struct.pack("f", value))[0])


def check_floats(total: float | None, average: float | None, values: list[float | None]) -> None:
    """The exact sum and its share, or what SQL makes of infinities."""
    found = [value for value in values if value is not None]
    if not found:
        assert total is None
        return
    assert total is not None
    exact = math.fsum(found) if all(map(math.isfinite, found)) else sum(found)
    if math.isnan(exact):
        assert math.isnan(total)
        return
    assert total == pytest.approx(exact, rel=3e-16, abs=0.0)
    assert average is None or average == pytest.approx(exact / len(found), rel=5e-16, abs=0.0)
