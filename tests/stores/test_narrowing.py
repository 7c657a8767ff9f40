"""What a plan needs of the files behind its leaves: columns, and ranges of rows."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.relations import Bound, Distinct, Filter, Join, JoinKind, Reference, Scan, UnionAll
from viewkeeper.algebra.schema import Column
from viewkeeper.spark.narrowing import needed_of_leaves
from viewkeeper.storage.relation import DataFile

COLUMNS = (Column("id", "int"), Column("qty", "int"), Column("day", "date"))
SALES = Reference("sales", ("id", "store", "qty"))
LOW = DataFile("low", 10, 1, {"id": (0, 9), "qty": (1, 5)})
HIGH = DataFile("high", 10, 1, {"id": (10, 19), "qty": (1, 5)})
UNKNOWN = DataFile("unknown", 10, 1)


def files_of(plan: object, leaf: str) -> list[str]:
    needed = needed_of_leaves(plan)[leaf]  # type: ignore[arg-type]
    return [file.path for file in (LOW, HIGH, UNKNOWN) if needed.may_be_in(file, COLUMNS)]


def test_columns_are_those_that_the_plan_looks_at() -> None:
    chosen = restricted_to(Filter(SALES, parse_one("qty > 3")), ("id",))
    assert needed_of_leaves(chosen)["sales"].columns == {"id", "qty"}
    assert needed_of_leaves(Distinct(SALES))["sales"].columns == {"id", "store", "qty"}
    assert needed_of_leaves(SALES)["sales"].columns == {"id", "store", "qty"}


def test_files_are_left_out_where_every_use_of_a_leaf_leaves_them_out() -> None:
    low = restricted_to(Filter(SALES, parse_one("id < 5")), ("id",))
    high = restricted_to(Filter(SALES, parse_one("id BETWEEN 12 AND 14")), ("id",))
    assert files_of(low, "sales") == ["low", "unknown"]
    assert files_of(UnionAll((low, high)), "sales") == ["low", "high", "unknown"]
    assert files_of(UnionAll((low, restricted_to(SALES, ("id",)))), "sales") == ["low", "high", "unknown"]
    other = Reference("other", ("key",))
    joined = Join(Filter(SALES, parse_one("id > 100")), other, JoinKind.INNER, parse_one("id = key"))
    assert files_of(joined, "sales") == ["unknown"]
    assert files_of(joined, "other") == ["low", "high", "unknown"]


def test_columns_of_a_scan_are_those_that_are_stored() -> None:
    bound = (Bound("a", Column("id", "int")), Bound("b", Column("qty", "int")))
    plan = restricted_to(Filter(Scan("sales", bound), parse_one("a >= 10")), ("a",))
    assert needed_of_leaves(plan)["sales"].columns == {"id"}
    assert files_of(plan, "sales") == ["high", "unknown"]


@pytest.mark.parametrize(
    ("condition", "is_read"),
    [
        ("day <= '2024'", True),
        ("day = '2024-1-1'", True),
        ("day < '2023-12-31'", False),
        ("day > '2024-01-02'", False),
    ],
)
def test_texts_that_are_dates_for_spark_leave_out_no_file(condition: str, is_read: bool) -> None:
    first = DataFile("first", 1, 1, {"day": ("2024-01-01", "2024-01-01")})
    needed = needed_of_leaves(Filter(Reference("t", ("id", "day")), parse_one(condition)))["t"]
    assert needed.may_be_in(first, COLUMNS) == is_read
