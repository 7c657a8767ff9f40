"""What clocks show at an instant, and when they will show something else.

A clock's relation has one row and no file: the state of the relation holds what it shows, and the log of the
warehouse keeps that for each version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from viewkeeper.algebra.clock import DATE, TIMESTAMP, Clock, literal_of
from viewkeeper.algebra.expressions import Scalar, literal
from viewkeeper.algebra.relations import Values
from viewkeeper.algebra.schema import COUNT
from viewkeeper.errors import InvalidOption, Unsupported
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import RelationState

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def zone_named(name: str) -> tzinfo:
    """The time zone that Spark calls so."""
    if name in ("Z", "UT"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        sign, *parts = offset.groups()
        hours, minutes, seconds = (int(part or 0) for part in parts)
        length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(length if sign == "+" else -length)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise Unsupported(
            f"The time zone {name} is not known here, so no view can read the clock in it.",
            str(error),
            "Set spark.sql.session.timeZone to a region, such as Europe/Berlin, or to an offset.",
        ) from error


def shown_at(clock: Clock, instant: datetime) -> str:
    """What a clock shows, as Spark reads it back."""
    if clock.shows == TIMESTAMP:
        return _text(instant.astimezone(UTC)) + "Z"
    local = instant.astimezone(zone_named(clock.zone))
    return local.date().isoformat() if clock.shows == DATE else _text(local)


def _text(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


def next_change(clock: Clock, shown: str, now: datetime) -> datetime:
    """When a clock shows something else than it did: a date at midnight, all others at once."""
    if shown_at(clock, now) != shown or clock.shows != DATE:
        return now
    return _midnight_after(clock, shown)


def changed_since(clock: Clock, shown: str, now: datetime) -> datetime | None:
    """Since when a clock shows something else than it did; None where it does not."""
    if shown_at(clock, now) == shown:
        return None
    if clock.shows == DATE:
        return min(now, _midnight_after(clock, shown))
    told = datetime.fromisoformat(shown)
    return min(now, told if told.tzinfo is not None else told.replace(tzinfo=zone_named(clock.zone)))


def _midnight_after(clock: Clock, shown: str) -> datetime:
    zone, tomorrow = zone_named(clock.zone), date.fromisoformat(shown) + timedelta(days=1)
    return datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=zone).astimezone(UTC)


def instant_of(given: datetime | date | str, zone: str) -> datetime:
    """The instant that is meant; what names no zone is in that of the session, a date is its first moment."""
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError as error:
        raise InvalidOption(
            f"as_of cannot be {given!r}.",
            str(error),
            "Give a time such as 2026-03-01 or 2026-03-01T12:00+01:00.",
        ) from error
    if not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day)
    known = found if found.tzinfo is not None else found.replace(tzinfo=zone_named(zone))
    return known.astimezone(UTC)


def set_clocks(draft: Draft, clocks: Iterable[Clock], instant: datetime) -> None:
    """Lets clocks show an instant in the draft; one that shows the same already stays as it is."""
    for clock in clocks:
        shown, known = shown_at(clock, instant), draft.relations.get(clock.relation)
        if known is None:
            draft.catalog = draft.catalog.with_table(clock.schema)
            columns = clock.schema.columns
            state = RelationState("", columns, 0, 1, complete_since=draft.version, clock=shown)
            draft.put(clock.relation, state)
        elif known.clock != shown:
            draft.put(clock.relation, replace(known, complete_since=draft.version, clock=shown))


def time_of(clocks: Iterable[Clock], states: Mapping[str, RelationState]) -> dict[str, str]:
    """What clocks show in some states of them, by what they show."""
    return {clock.shows: shown(states[clock.relation]) for clock in clocks}


def shown(state: RelationState) -> str:
    """What a clock shows in a state of it."""
    assert state.clock is not None
    return state.clock


def value(state: RelationState) -> Scalar:
    [column] = state.columns
    return literal_of(column.type, shown(state))


def row(state: RelationState) -> Values:
    """The one row of a clock."""
    return Values(state.names, ((value(state),),))


def change(old: RelationState, new: RelationState) -> Values:
    """The row that went and the one that came, with their counts; none where the clock shows the same."""
    rows = () if old.clock == new.clock else ((value(old), literal(-1)), (value(new), literal(1)))
    return Values((*new.names, COUNT), rows)
