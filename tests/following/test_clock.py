"""Views that read the clock, as it goes on and back: against Spark's answers to their texts."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import viewkeeper as vk
from tests.following.source import appended
from viewkeeper.algebra.clock import DATE, LOCAL, TIMESTAMP, clock_of
from viewkeeper.errors import InvalidOption, InvalidSQL, NotDeterministic, Unsupported
from viewkeeper.storage.clocks import changed_since, instant_of, next_change, shown_at, zone_named

FIRST = dt.date(2026, 1, 1)
PER_DAY = 4

VIEWS = {
    "week": "SELECT k, day, v FROM events WHERE day >= current_date() - 7",
    "sums": "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM events"
    " WHERE day BETWEEN date_sub(current_date, 6) AND curdate() GROUP BY k",
    "share": "SELECT k, SUM(CASE WHEN day >= current_date() - 2 THEN v ELSE 0 END) AS recent, MAX(v) AS m"
    " FROM events GROUP BY k HAVING MIN(day) <= current_date()",
    "seen": "SELECT current_timestamp AS at, localtimestamp() AS here, current_date() AS today",
    "late": "SELECT w.k, w.day, s.today FROM week w JOIN seen s ON w.day >= s.today - 1 WHERE now() >= s.at",
    "texts": "SELECT k, day FROM events"
    " WHERE k = (SELECT k FROM events WHERE day = current_date() ORDER BY v LIMIT 1)",
    "chain": "WITH RECURSIVE r(k, day) AS (SELECT k, day FROM events WHERE day = current_date() AND k = 0"
    " UNION SELECT k + 1, day FROM r WHERE k < 3 AND day <= current_date()) SELECT k, day FROM r",
}


def day(number: int) -> dt.date:
    return FIRST + dt.timedelta(days=number)


def events(of: dt.date) -> pa.Table:
    values = [of.day * 10 + n for n in range(PER_DAY)]
    return pa.table(
        {
            "k": pa.array(range(PER_DAY), pa.int32()),
            "day": pa.array([of] * PER_DAY, pa.date32()),
            "v": pa.array(values, pa.int64()),
        }
    )


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """One file for each of twenty days."""
    found = tmp_path / "events"
    for number in range(20):
        appended(found, events(day(number)))
    return found


@pytest.fixture
def followed(warehouse: vk.Warehouse, lake: Path) -> vk.Warehouse:
    warehouse.follow("events", str(lake))
    return warehouse


def test_after_a_day_only_the_files_at_the_edges_are_read(followed: vk.Warehouse, maintained: None) -> None:
    for name in ("week", "sums"):
        followed.create_view(name, VIEWS[name], policy="strict", populate=False)
    followed.refresh(as_of=day(15))
    assert followed.table("week").count() == 12 * PER_DAY
    before = followed.version
    report = followed.refresh(as_of=day(16))
    assert report.as_of == "2026-01-17T00:00:00+00:00"
    week, sums = report.of("week"), report.of("sums")
    assert (week.strategy, week.rows_read, week.rows_written) == ("counting", PER_DAY, PER_DAY)
    assert (sums.strategy, sums.details["reads"]["events"]) == ("summary-delta", 2 * PER_DAY)
    assert followed.verify("week")
    assert followed.verify("sums")
    assert followed.table("week", version=before).count() == 12 * PER_DAY
    again = followed.refresh(as_of="2026-01-17T23:59:59")
    assert (len(again), again.actions, again.version) == (0, 0, report.version)


def test_the_clock_goes_on_and_back(followed: vk.Warehouse, lake: Path) -> None:
    for name, text in VIEWS.items():
        followed.create_view(name, text)
    assert followed.table("seen").first().today == followed.spark.sql("SELECT current_date() AS d").first().d
    instants = ["2026-01-15", "2026-01-16T10:00", "2026-01-16T11:00", day(18), day(14)]
    for turn, instant in enumerate(instants):
        if turn == 3:
            appended(lake, events(day(20)))
        report = followed.refresh(as_of=instant, check=1.0)
        assert {one.view for one in report.checked} == {one.view for one in report if one.strategy != "none"}
        assert followed.table("seen").first().today == dt.datetime.fromisoformat(str(instant)).date()
    assert all(followed.verify(name) for name in VIEWS)
    assert followed.verify("late", deep=True)
    stale = {one.name: one.stale for one in followed.status()}
    assert stale == {"events": False} | dict.fromkeys(VIEWS, True)


def test_a_date_is_that_of_the_views_own_time_zone(followed: vk.Warehouse) -> None:
    spark = followed.spark
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        for name, zone in (("there", "Pacific/Auckland"), ("here", "-08:00")):
            spark.conf.set("spark.sql.session.timeZone", zone)
            followed.create_view(
                name, "SELECT current_date() AS d, localtimestamp() AS t FROM events LIMIT 1"
            )
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    followed.refresh(as_of=dt.datetime(2026, 1, 10, 12, tzinfo=dt.UTC), check=1.0)
    assert followed.table("there").first().d == dt.date(2026, 1, 11)
    assert tuple(followed.table("here").first()) == (dt.date(2026, 1, 10), dt.datetime(2026, 1, 10, 4))


def test_what_clocks_show_and_when_that_changes() -> None:
    noon = dt.datetime(2026, 3, 28, 23, 30, tzinfo=dt.UTC)
    berlin = clock_of(DATE, "Europe/Berlin")
    assert shown_at(berlin, noon) == "2026-03-29"
    assert next_change(berlin, "2026-03-29", noon) == dt.datetime(2026, 3, 29, 22, tzinfo=dt.UTC)
    assert next_change(berlin, "2026-03-28", noon) == noon
    assert shown_at(clock_of(LOCAL, "+05:30"), noon) == "2026-03-29 05:00:00.000000"
    moment = clock_of(TIMESTAMP, "+05:30")
    assert (moment.zone, shown_at(moment, noon)) == ("", "2026-03-28 23:30:00.000000Z")
    assert next_change(moment, shown_at(moment, noon), noon) == noon
    assert changed_since(berlin, "2026-03-29", noon) is None
    assert changed_since(berlin, "2026-03-27", noon) == dt.datetime(2026, 3, 27, 23, tzinfo=dt.UTC)
    assert changed_since(moment, shown_at(moment, noon), noon + dt.timedelta(1)) == noon
    assert zone_named("GMT-3").utcoffset(None) == -dt.timedelta(hours=3)
    assert instant_of("2026-03-29", "Europe/Berlin") == dt.datetime(2026, 3, 28, 23, tzinfo=dt.UTC)
    assert instant_of(noon, "Europe/Berlin") == noon
    with pytest.raises(Unsupported, match="Nowhere"):
        zone_named("Nowhere")
    with pytest.raises(InvalidOption, match="tomorrow"):
        instant_of("tomorrow", "UTC")


def test_what_is_not_a_call_of_the_clock(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (a INT, `current_date` DATE, `now` DATE)")
    names = "SELECT t.current_date AS x, `current_date` AS y, t.now AS current_timestamp, 'now()' AS s FROM t"
    warehouse.create_view("names", names)
    assert [one.name for one in warehouse.status()] == ["t", "names"]
    assert warehouse.status()[1].stale_from is None
    with pytest.raises(NotDeterministic, match=r"Write t\.current_date, or current_date\(\)"):
        warehouse.create_view("v", "SELECT a FROM t WHERE current_date > '2026-01-01'")
    with pytest.raises(InvalidSQL, match="needs a name"):
        warehouse.create_view("v", "SELECT a, current_date() FROM t")
    with pytest.raises(NotDeterministic, match=r"Call the clock instead"):
        warehouse.create_view("v", "SELECT a FROM t WHERE t.now = DATE 'yesterday'")
