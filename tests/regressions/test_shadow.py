"""Shadow checks: a refresh that would be wrong is not committed, and a file says why."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.regressions.test_verify import tamper
from viewkeeper import errors
from viewkeeper.algebra.schema import COUNT
from viewkeeper.sql.output_keys import key_places


@pytest.fixture
def shop(warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> vk.Warehouse:
    monkeypatch.delenv("VIEWKEEPER_CHECK", raising=False)
    warehouse.sql("CREATE TABLE t (a INT, b STRING, c DOUBLE)")
    warehouse.sql("INSERT INTO t VALUES (1, 'x', 0.5), (2, 'y', 1.5), (3, NULL, NULL)")
    warehouse.create_view("rows", "SELECT a, b FROM t WHERE a < 9")
    warehouse.create_view("sums", "SELECT b, SUM(c) AS s, COUNT(*) AS n FROM t GROUP BY b")
    return warehouse


def spoil(shop: vk.Warehouse) -> None:
    tamper(shop, "rows", shop.spark.sql(f"SELECT 7 AS a, 'no' AS b, 1L AS {COUNT}"))
    shop.sql("INSERT INTO t VALUES (4, 'z', 2.5)")


def test_a_wrong_view_is_not_committed(
    shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil(shop)
    before, rows = shop.version, shop.table("sums").count()
    monkeypatch.setenv("VIEWKEEPER_REPROS", str(tmp_path / "found"))
    with pytest.raises(errors.CheckFailed) as failed:
        shop.refresh(policy="incremental", check=1.0)
    assert (failed.value.view, failed.value.code) == ("rows", "check-failed")
    assert failed.value.rows == ({"a": 7, "b": "no", COUNT: 1},)
    assert (shop.version, shop.table("sums").count()) == (before, rows)
    text = Path(failed.value.file).read_text()
    assert "SELECT a, b FROM t WHERE a < 9" in text
    assert "(4, 'z', 2.5)" in text
    compile(text, failed.value.file, "exec")
    monkeypatch.delenv("VIEWKEEPER_REPROS")
    with pytest.raises(errors.CheckFailed) as again:
        shop.refresh("rows", policy="incremental", check=1.0)
    assert Path(again.value.file).is_relative_to(shop.path)
    assert shop.refresh(policy="incremental", check=0).checked == ()
    assert shop.refresh("rows", policy="full", check=1).checked[0].verdict == "right"


def test_every_group_is_looked_at_in_turn(shop: vk.Warehouse) -> None:
    """With a share of a fifth, five versions in a row look at every row, one of them at the wrong one."""
    tamper(shop, "rows", shop.spark.sql(f"SELECT 7 AS a, 'no' AS b, 1L AS {COUNT}"))
    found = []
    for number in range(5):
        shop.sql(f"INSERT INTO t VALUES ({number - 5}, 'q', 1.0)")
        try:
            shop.refresh("rows", policy="incremental", check=0.2)
        except errors.CheckFailed as failed:
            found += failed.rows
            shop.refresh("sums", policy="incremental")
        shop.sql("INSERT INTO t VALUES (100, 'q', 1.0)")
    assert found == [{"a": 7, "b": "no", COUNT: 1}]


def test_checks_are_asked_for_in_three_ways(shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.sql("CREATE MATERIALIZED VIEW own TBLPROPERTIES ('viewkeeper.check' = '1') AS SELECT a FROM t")
    shop.sql("INSERT INTO t VALUES (5, 'z', 2.5)")
    report = shop.refresh(policy="incremental")
    assert [(one.view, one.verdict, one.share) for one in report.checked] == [("own", "right", 1.0)]
    monkeypatch.setenv("VIEWKEEPER_CHECK", "1.0")
    shop.sql("INSERT INTO t VALUES (6, 'z', 0.1)")
    report = shop.refresh(policy="incremental")
    assert {one.view for one in report.checked} == {"own", "rows", "sums"}
    assert report.to_dict()["checked"][0]["verdict"] == "right"
    assert shop.refresh(check=0).checked == ()


def test_checks_cost_no_actions_of_the_refresh(shop: vk.Warehouse) -> None:
    found = []
    for check in (0, 1):
        shop.sql("INSERT INTO t VALUES (5, 'z', 2.5)")
        report = shop.refresh(policy="incremental", check=check)
        found.append((report.actions, [entry.rows_read for entry in report]))
    assert found[0][0] == found[1][0]


@pytest.mark.parametrize("share", [-0.1, 1.5, "often"])
def test_a_share_is_between_none_and_all(shop: vk.Warehouse, share: float) -> None:
    with pytest.raises(errors.InvalidOption, match="share"):
        shop.refresh(check=share)


def test_keys_of_an_answer() -> None:
    assert key_places("SELECT a, UPPER(b) AS u, SUM(c) AS s FROM t GROUP BY a, b") == (0, 1)
    assert key_places("SELECT COUNT(*) AS n FROM t") == ()
    assert key_places("SELECT a, SUM(b) OVER (PARTITION BY a) AS s FROM t") is None
    assert key_places("SELECT * FROM t") is None


def test_the_script_of_a_failure_runs(shop: vk.Warehouse, tmp_path: Path) -> None:
    """The rows were spoiled behind the view's back, so the script finds it right."""
    spoil(shop)
    with pytest.raises(errors.CheckFailed) as failed:
        shop.refresh("rows", policy="incremental", check=1)
    script = runpy.run_path(failed.value.file)
    again = vk.open(str(tmp_path / "again"), spark=shop.spark)
    assert script["repeat"](again)
    assert {tuple(row) for row in again.table("t").collect()} == {
        tuple(row) for row in shop.table("t").collect()
    }
