"""When which view is due: no Spark, no clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from viewkeeper.catalog.cron import cron
from viewkeeper.catalog.freshness import SCHEDULE, TARGET_LAG, Freshness, freshness, seconds, target_of
from viewkeeper.errors import InvalidOption
from viewkeeper.serve.schedule import LONGEST_REST, Due, Watched, due, due_at, rest

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def view(name: str = "v", lag: float | None = 60.0, **known: object) -> Watched:
    """A view that was refreshed at noon, and whose oldest unseen change is from then, too."""
    plain = Watched(name, Freshness(lag), behind_since=NOON, refreshed=NOON, seconds=2.0)
    return replace(plain, **known)  # type: ignore[arg-type]


def scheduled(text: str, **known: object) -> Watched:
    return view(asks=freshness([(SCHEDULE, text)]), **known)


def test_a_refresh_begins_so_early_that_it_is_done_in_time():
    assert due_at(view()) == after(56.5)
    assert due(after(56), [view()]) == Due(wake=after(56.5))
    assert due(after(57), [view()]).together == ("v",)


def test_what_shows_everything_is_not_due_and_what_was_never_filled_is():
    assert due(after(1e6), [view(behind_since=None)]) == Due()
    assert due(NOON, [view(refreshed=None, behind_since=None)]).together == ("v",)
    assert due(after(1e6), [view(lag=None)]) == Due()


def test_views_that_are_due_before_the_others_are_done_go_with_them():
    slow = view("slow", seconds=10.0)
    soon, later = view("soon", behind_since=after(-2)), view("later", behind_since=after(30))
    found = due(after(45), [slow, soon, later])
    assert found == Due(("slow", "soon"), wake=after(86.5))


def test_a_lag_that_cannot_be_met_is_told_and_the_view_rests_as_long_as_it_works():
    busy = view(seconds=90.0)
    assert due_at(busy) == after(90)
    found = due(after(1), [busy])
    assert found.together == ()
    assert found.unmet == {"v": "A refresh takes 90 s, and the target lag is 60 s."}


def test_failures_rest_longer_each_time_and_do_not_hold_the_others_back():
    assert [rest(failures) for failures in (1, 2, 3, 40)] == [5, 10, 20, LONGEST_REST]
    failing = view("failing", failures=2, failed=after(57))
    assert due_at(failing) == after(67)
    assert due(after(60), [failing, view("well")]) == Due(("well",), wake=after(67))
    found = due(after(67), [failing, view("well")])
    assert (found.together, found.apart) == (("well",), ("failing",))


def test_downstream_is_as_fresh_as_the_views_that_read_it():
    below = view("below", asks=Freshness(downstream=True))
    middle = view("middle", asks=Freshness(downstream=True), reads=("below",))
    tops = view("top", lag=300.0, reads=("middle",)), view("other", lag=30.0, reads=("below",))
    assert due(after(27), [below, middle, *tops]).together == ("below", "other")
    assert due(after(297), [middle, tops[0]]).together == ("middle", "top")
    assert due(after(1e6), [below]) == Due()


def test_a_schedule_is_kept_only_where_there_is_something_to_do():
    assert due_at(scheduled("30 12 * * *")) == after(1800)
    assert due(after(1800), [scheduled("30 12 * * *")]).together == ("v",)
    idle = scheduled("30 12 * * *", behind_since=None)
    assert due(after(1800), [idle]) == Due(passed=("v",))
    assert due(after(1799), [idle]) == Due()
    assert due_at(scheduled("every 2 hours")) == after(7200)


TIMES = [
    ("0 6 * * 1-5", "UTC", "2026-03-02T06:00"),  # the first of March is a Sunday
    ("*/15 9-17 * * *", "UTC", "2026-03-01T12:15"),
    ("0 0 29 2 *", "UTC", "2028-02-29T00:00"),
    ("0 0 13 * fri", "UTC", "2026-03-06T00:00"),  # either day is enough
    ("5,35 12 * mar ?", "UTC", "2026-03-01T12:05"),
    ("0 0 * * 7", "UTC", "2026-03-08T00:00"),
    ("0 8 * * *", "America/New_York", "2026-03-01T13:00"),
    ("10-50/20 * * * *", "UTC", "2026-03-01T12:10"),
]


@pytest.mark.parametrize(("text", "zone", "expected"), TIMES)
def test_the_next_time_of_a_cron_expression(text: str, zone: str, expected: str):
    assert cron(text).after(NOON, zone) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_clocks_that_are_put_forward_skip_nothing_and_back_repeat_nothing():
    spring, autumn = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)
    nightly = cron("30 2 * * *")
    assert nightly.after(spring, "Europe/Berlin") == spring + timedelta(hours=1, minutes=30)
    once = nightly.after(autumn, "Europe/Berlin")
    assert once == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert nightly.after(once, "Europe/Berlin") == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


NO_SCHEDULES = [
    "hello",
    "0 6 * *",
    "60 * * * *",
    "0 0 31 2 *",
    "5-2 * * * *",
    "*/0 * * * *",
    " ",
    "every 0 hours",
]


@pytest.mark.parametrize("text", [*NO_SCHEDULES, "0 6 * * * AT TIME ZONE 'No/Where'"])
def test_what_is_no_schedule_is_refused(text: str):
    with pytest.raises(InvalidOption):
        freshness([(SCHEDULE, text)])


def test_spans_of_time_and_what_views_ask_for_in_words():
    assert [seconds(text) for text in ("90 seconds", "1 MINUTE", "2hours", "1 week")] == [
        90,
        60,
        7200,
        604800,
    ]
    for text in ("0 minutes", "-1 day", "soon", "1 fortnight", "1.5 hours"):
        with pytest.raises(InvalidOption, match="no span of time"):
            seconds(text)
    assert target_of([(TARGET_LAG, "1 Minute")]) == "lag 1 minute"
    assert target_of([(SCHEDULE, "every 2 hours")]) == "every 2 hours"
    assert target_of([]) == ""
    with pytest.raises(InvalidOption, match="not both"):
        freshness([(TARGET_LAG, "1 minute"), (SCHEDULE, "0 6 * * *")])
