"""How fresh views ask to be: said in SQL and in Python, told by `status`."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

import viewkeeper as vk
from viewkeeper.errors import InvalidOption, InvalidSQL
from viewkeeper.storage.failures import KEPT, Failure, failures, last_failures, record
from viewkeeper.storage.objects import Folder


def test_views_ask_for_freshness_in_sql_and_in_python(warehouse):
    wh: vk.Warehouse = warehouse
    wh.sql("CREATE TABLE t (a INT)")
    wh.sql("CREATE MATERIALIZED VIEW v TARGET_LAG '1 minute' AS SELECT a FROM t")
    wh.create_view("w", "SELECT a FROM v", schedule="0 6 * * *")

    def target(name: str) -> str:
        return next(row.target for row in wh.status() if row.name == name)

    assert (target("v"), target("w"), target("t")) == ("lag 1 minute", "0 6 * * *", "")
    wh.sql("ALTER MATERIALIZED VIEW v SET TARGET_LAG = DOWNSTREAM")
    wh.sql("ALTER MATERIALIZED VIEW w SET SCHEDULE CRON '0 7 * * *' AT TIME ZONE 'Europe/Lisbon'")
    assert (target("v"), target("w")) == ("lag downstream", "0 7 * * * AT TIME ZONE Europe/Lisbon")
    wh.sql("CREATE OR REPLACE MATERIALIZED VIEW w SCHEDULE EVERY 2 HOURS AS SELECT a + 1 AS a FROM v")
    assert target("w") == "every 2 hours"
    wh.alter_view("w", "SELECT a + 2 AS a FROM v")
    assert target("w") == "every 2 hours"
    wh.sql("ALTER VIEW w UNSET SCHEDULE")
    assert target("w") == ""
    with pytest.raises(InvalidOption, match="no span of time"):
        wh.sql("ALTER MATERIALIZED VIEW v SET TARGET_LAG = 'soon'")
    with pytest.raises(InvalidOption, match="not both"):
        wh.create_view("x", "SELECT a FROM t", target_lag="1 minute", schedule="0 6 * * *")
    with pytest.raises(InvalidSQL, match="TARGET_LAG or SCHEDULE"):
        wh.sql("ALTER MATERIALIZED VIEW v SET a = 1")

    def behind() -> float | None:
        return next(row.seconds_behind for row in wh.status() if row.name == "v")

    assert behind() == 0
    wh.sql("INSERT INTO t VALUES (1)")
    time.sleep(0.12)
    first = behind()
    assert first is not None
    assert first >= 0.1
    wh.refresh("v")
    assert behind() == 0


def test_failures_are_kept_told_and_forgotten_when_there_are_many(warehouse):
    wh: vk.Warehouse = warehouse
    wh.sql("CREATE TABLE t (a INT)")
    wh.create_view("v", "SELECT a FROM t", populate=False)
    folder = Folder(wh.path)
    at = datetime.now(UTC).isoformat()
    record(folder, Failure(at, ("v",), "The table t is gone.", version=wh.version))
    record(folder, Failure(at, ("v", "w"), "It is still gone.", version=wh.version))
    assert [row.failing for row in wh.status()] == ["", "It is still gone."]
    assert [(one.operation, one.failure) for one in wh.history("v")][1:] == [
        ("refresh failed", "The table t is gone."),
        ("refresh failed", "It is still gone."),
    ]
    wh.refresh()
    assert [row.failing for row in wh.status()] == ["", ""]
    assert [one.operation for one in wh.history("v")][-1] == "refresh"
    for number in range(KEPT):
        record(folder, Failure(f"2027-01-01T00:00:{number % 60:02}", ("x",), str(number)))
    assert len(failures(folder)) == KEPT
    assert set(last_failures(folder)) == {"x"}
