"""`viewkeeper.read` gives what `wh.table` does, of every type and form, and starts no Spark."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import viewkeeper as vk
from tests.templates import Filled
from viewkeeper import limits
from viewkeeper.arrow import states
from viewkeeper.errors import InvalidSQL, NeedsSpark, NotFound, UnknownColumn, UnknownTable

TYPES = """tiny TINYINT, small SMALLINT, n INT NOT NULL, big BIGINT, f FLOAT, x DOUBLE, d DECIMAL(30,4),
    t STRING, c CHAR(4), v VARCHAR(5), yes BOOLEAN, raw BINARY, day DATE, at TIMESTAMP, clock TIMESTAMP_NTZ,
    xs ARRAY<INT>, m MAP<STRING,DOUBLE>, s STRUCT<a: INT, b: ARRAY<STRING>>, `odd name` INT, __hid STRING"""
ROW = """(1Y, 2S, {n}, {n}00L, CAST(0.5 AS FLOAT), {x}, 1.25, 'é', 'ab', 'vw', true, X'0102',
    DATE '1582-10-04', TIMESTAMP '2024-05-06 07:08:09.123456 UTC', TIMESTAMP_NTZ '0001-01-01 00:00:00',
    ARRAY(1, NULL), MAP('k', {x}, 'j', NULL), NAMED_STRUCT('a', 1, 'b', ARRAY('p')), {n}, 'h')"""
NULLS = f"({', '.join('7' if place == 2 else 'NULL' for place in range(20))})"


def as_spark_tells(wh: vk.Warehouse, name: str, version: int | None = None) -> Counter[str]:
    return counted(pa.Table.from_batches(wh.table(name, version).toArrow().to_batches()))


def counted(table: pa.Table) -> Counter[str]:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return Counter(
        repr([sorted(v) if isinstance(v, list) and v and isinstance(v[0], tuple) else v for v in r])
        for r in rows
    )


def as_arrow_tells(wh: vk.Warehouse, name: str, version: int | None = None) -> Counter[str]:
    return counted(vk.read(wh.path, name, version).to_arrow())


Sized = Callable[[], Iterator[None]]


@pytest.fixture
def of_any_size(limit: Callable[..., None]) -> Sized:
    """Twice: all rows are merged, as those of a small relation are; then only those that layers name."""

    def sizes() -> Iterator[None]:
        for rows in (limits.LIMITS.merged_whole, 0):
            limit(merged_whole=rows)
            yield

    return sizes


def test_values_of_every_type(warehouse: vk.Warehouse, of_any_size: Sized) -> None:
    warehouse.sql(f"CREATE TABLE every ({TYPES})")
    values = ((1, "0.5"), (2, "DOUBLE('NaN')"), (2, "-0.0D"), (2, "0.0D"))
    rows = ", ".join(ROW.format(n=n, x=x) for n, x in values)
    warehouse.sql(f"INSERT INTO every VALUES {rows}, {NULLS}, {NULLS}")
    warehouse.compact("every")
    warehouse.create_view("same", "SELECT * FROM every")
    warehouse.sql("DELETE FROM every WHERE isnan(x) OR n = 1")
    warehouse.sql(f"INSERT INTO every VALUES {ROW.format(n=3, x='-0.0D')}")
    warehouse.refresh()
    for name in ("every", "same"):
        wanted = as_spark_tells(warehouse, name)
        for _ in of_any_size():
            assert as_arrow_tells(warehouse, name) == wanted
    found = vk.read(warehouse.path, "every").to_arrow()
    assert found.column_names == warehouse.table("every").columns
    assert not found.schema.field("n").nullable
    assert found.schema.field("at").type == pa.timestamp("us", "UTC")


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE items (id INT, region STRING, price DECIMAL(8,2), PRIMARY KEY (id))")
    warehouse.sql("CREATE TABLE sold (item INT, day DATE, qty INT)")
    with warehouse.transaction() as t:
        t.insert("items", [(n, "north" if n % 2 else None, Decimal(n)) for n in range(8)])
        t.insert("sold", [(n % 8, None, n) for n in range(40)])
    warehouse.compact()


@pytest.fixture
def sales(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def changed(wh: vk.Warehouse, number: int) -> None:
    with wh.transaction() as t:
        t.update("items", [{"id": 1, "price": Decimal(10 + number)}])
        t.delete("items", [{"id": 2 + number}])
        t.insert("sold", [(1, None, 100 + number)])
        t.delete("sold", [(3, None, 3 + 8 * number)])
    wh.refresh()


VIEWS = {
    "joined": "SELECT id, region, price, qty FROM items JOIN sold ON item = id",
    "totals": (
        "SELECT region, SUM(qty * price) AS q, AVG(price) AS a, MAX(qty) AS m"
        " FROM sold JOIN items ON item = id GROUP BY region"
    ),
    "all_in_one": "SELECT COUNT(*) AS n, AVG(qty) AS a, STDDEV(qty) AS s FROM sold",
}


@pytest.mark.parametrize("strategy", ["auto", "id-diffs"])
def test_forms_of_every_strategy_and_earlier_versions(
    sales: vk.Warehouse, strategy: str, of_any_size: Sized
) -> None:
    chosen = [name for name in VIEWS if strategy == "auto" or name != "all_in_one"]
    for name in chosen:
        sales.create_view(name, VIEWS[name], strategy=strategy)
    versions = []
    for number in range(3):
        changed(sales, number)
        versions.append(sales.version)
    for name in (*chosen, "items", "sold"):
        since = versions[0]
        rows = {version: as_spark_tells(sales, name, version) for version in versions}
        changes = counted(pa.Table.from_batches(sales.changes(name, since).toArrow().to_batches()))
        for _ in of_any_size():
            assert {version: as_arrow_tells(sales, name, version) for version in versions} == rows, name
            assert counted(vk.changes(sales.path, name, since).to_arrow()) == changes


def test_columns_and_conditions(sales: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(sales, 0)
    asked: list[tuple[int, list[str]]] = []
    original = states.file_rows

    def noted(folder: Any, relation: str, files: Any, columns: Any) -> pa.Table:
        asked.append((len(tuple(files)), [one.name for one in columns]))
        return original(folder, relation, files, columns)

    monkeypatch.setattr(states, "file_rows", noted)
    found = vk.read(sales.path, "sold", columns=["QTY"], where="item = 1 AND day IS NULL").to_arrow()
    wanted = sales.table("sold").where("item = 1 AND day IS NULL").select("qty").toArrow()
    assert counted(found) == counted(wanted)
    assert vk.read(sales.path, "items", columns=["id"], where="id > 70").to_arrow().num_rows == 0
    assert [files for files, names in asked if names[0] == "id"] == [0, 0]


def test_other_libraries_take_the_rows(sales: vk.Warehouse) -> None:
    rows = vk.read(sales.path, "items", where="id BETWEEN 3 AND 4")
    assert rows.to_pandas()["id"].sum() == 7
    assert rows.to_polars()["id"].sum() == 7
    assert rows.to_duckdb().aggregate("sum(id)").fetchall() == [(7,)]
    assert (len(rows), rows.version) == (2, sales.version)


@pytest.mark.parametrize(
    ("name", "options", "error", "told"),
    [
        ("itms", {}, UnknownTable, "Did you mean items?"),
        ("items", {"columns": ["cost"]}, UnknownColumn, "id, region, price"),
        ("items", {"where": "cost > 1"}, UnknownColumn, "no column cost"),
        ("items", {"where": "id >"}, InvalidSQL, "cannot be parsed"),
        ("items", {"where": "sum(id) > 1"}, InvalidSQL, "over the columns of a row"),
        ("items", {"where": "upper(region) = 'N'"}, NeedsSpark, "items cannot be read exactly without Spark"),
        ("sold", {"where": "day > 'spring'"}, InvalidSQL, "is no date"),
        ("items", {"version": 900}, NotFound, "no version 900"),
    ],
)
def test_what_cannot_be_read_is_told(
    sales: vk.Warehouse, name: str, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        vk.read(sales.path, name, **options)


def test_a_figure_that_only_spark_computes_is_told_until_layers_are_folded(sales: vk.Warehouse) -> None:
    sales.create_view("rounded", "SELECT item, round(AVG(qty), 1) AS a FROM sold GROUP BY item")
    changed(sales, 0)
    with pytest.raises(NeedsSpark, match="rounded cannot be read exactly without Spark"):
        vk.read(sales.path, "rounded")
    sales.compact("rounded")
    assert as_arrow_tells(sales, "rounded") == as_spark_tells(sales, "rounded")


def test_a_folder_without_a_warehouse_stays_as_it_is(tmp_path: Any) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(vk.ViewkeeperError, match=r"no warehouse|cannot be opened"):
            vk.read(str(path), "v")
    assert list(tmp_path.iterdir()) == []


WITHOUT = """
import sys
import viewkeeper as vk
from viewkeeper.cli import app
from typer.testing import CliRunner
path = sys.argv[1]
vk.read(path, "joined").to_pandas()
vk.changes(path, "joined", int(sys.argv[2]))
for command in (["status"], ["history", "joined"], ["show", "joined"], ["explain", "--lattice"]):
    result = CliRunner().invoke(app, [*command, "-w", path, "--json"])
    assert result.exit_code == 0, (command, result.output, result.exception)
print([name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j")])
"""


def test_neither_reading_nor_looking_imports_spark(sales: vk.Warehouse) -> None:
    sales.create_view("joined", VIEWS["joined"])
    changed(sales, 0)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, sales.path, str(sales.version - 2)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_views_over_followed_tables_are_read(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    orders = str(tmp_path / "orders")
    write_deltalake(orders, pa.table({"id": [1, 2], "qty": [3, 4]}))
    warehouse.follow("orders", orders)
    warehouse.create_view("total", "SELECT SUM(qty) AS q FROM orders")
    before = warehouse.version
    write_deltalake(orders, pa.table({"id": [3], "qty": [5]}), mode="append")
    warehouse.refresh()
    assert vk.read(warehouse.path, "total").to_arrow().to_pylist() == [{"q": 12}]
    assert vk.read(warehouse.path, "total", version=before).to_arrow().to_pylist() == [{"q": 7}]
    assert len(vk.changes(warehouse.path, "total", before)) > 0
    with pytest.raises(NeedsSpark, match="others own its files"):
        vk.read(warehouse.path, "orders")
