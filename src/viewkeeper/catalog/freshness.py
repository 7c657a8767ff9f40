"""How fresh a view is to be: a lag behind its tables, the lag of the views that read it, or a schedule.

    TARGET_LAG '1 minute'                 never more than a minute behind
    TARGET_LAG DOWNSTREAM                 as fresh as the views that read it ask for
    SCHEDULE CRON '0 6 * * *'             at these times; AT TIME ZONE 'Europe/Lisbon', else by UTC
    SCHEDULE EVERY 2 HOURS                so long after it was last refreshed

It stands in the properties `viewkeeper.target_lag` and `viewkeeper.schedule` of the view; `viewkeeper serve`
keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from viewkeeper.catalog.cron import Cron, cron
from viewkeeper.errors import InvalidOption

TARGET_LAG = "viewkeeper.target_lag"
SCHEDULE = "viewkeeper.schedule"
DOWNSTREAM = "downstream"

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_SPAN = re.compile(r"(\d+)\s*([a-z]+?)s?")
_CRON = re.compile(
    r"(?:cron\s+)?(?P<text>[^A-Za-z].*?)(?:\s+at\s+time\s+zone\s+(?P<zone>\S+))?", re.IGNORECASE
)

Properties = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Schedule:
    """Times at which a view is refreshed: those of a cron expression, or so many seconds after the last."""

    text: str
    cron: Cron | None = None
    zone: str = "UTC"
    every: float = 0.0

    def after(self, moment: datetime) -> datetime:
        """The next time after a refresh at some moment."""
        if self.cron is None:
            return moment.astimezone(UTC) + timedelta(seconds=self.every)
        return self.cron.after(moment, self.zone)


@dataclass(frozen=True)
class Freshness:
    """What a view asks for; nothing: it is refreshed when somebody says so."""

    lag: float | None = None
    downstream: bool = False
    schedule: Schedule | None = None

    @property
    def is_asked(self) -> bool:
        return self.lag is not None or self.downstream or self.schedule is not None


def freshness(properties: Iterable[tuple[str, str]]) -> Freshness:
    """What the properties of a view ask for; refuses what they cannot."""
    known = dict(properties)
    lag, schedule = known.get(TARGET_LAG, ""), known.get(SCHEDULE, "")
    if lag and schedule:
        raise InvalidOption(
            "A view has a target lag or a schedule, not both.",
            f"The lag is {lag!r}, the schedule {schedule!r}.",
            "Leave one of them out.",
        )
    if lag.strip().lower() == DOWNSTREAM:
        return Freshness(downstream=True)
    return Freshness(seconds(lag) if lag else None, schedule=_schedule(schedule) if schedule else None)


def target_of(properties: Iterable[tuple[str, str]]) -> str:
    """What a view asks for, in words; nothing where it asks for nothing."""
    known = dict(properties)
    if TARGET_LAG in known:
        return f"lag {known[TARGET_LAG].strip().lower()}"
    return known.get(SCHEDULE, "")


def with_freshness(properties: Properties, fresh: Properties) -> Properties:
    """The properties of a view that asks for something else from now on."""
    freshness(fresh)
    return (*(pair for pair in properties if pair[0] not in (TARGET_LAG, SCHEDULE)), *fresh)


def asked(lag: str | None, schedule: str | None) -> Properties:
    """The properties that ask for a lag or a schedule."""
    found = tuple((n, v) for n, v in ((TARGET_LAG, lag), (SCHEDULE, schedule)) if v is not None)
    for name, value in found:
        if not value.strip():
            raise InvalidOption(f"{name} is empty.", hint="Leave it out, or give a value such as '1 minute'.")
    return found


def seconds(text: str) -> float:
    """The seconds of a span of time: '90 seconds', '1 minute', '2 hours'.

    >>> seconds("2 minutes")
    120.0
    """
    found = _SPAN.fullmatch(text.strip().lower())
    unit = _UNITS.get(found[2]) if found else None
    if found is None or unit is None or not int(found[1]):
        raise InvalidOption(
            f"{text!r} is no span of time.",
            f"It is a whole number and one of {', '.join(_UNITS)}.",
            "Write for example '1 minute' or '2 hours'.",
        )
    return float(int(found[1]) * unit)


def _schedule(text: str) -> Schedule:
    words = text.strip()
    if words.lower().startswith("every "):
        span = words[6:].strip()
        return Schedule(text, every=seconds(span if span[:1].isdecimal() else f"1 {span}"))
    found = _CRON.fullmatch(words)
    if found is None:
        cron(words)
    assert found is not None
    zone = (found["zone"] or "UTC").strip("'\"")
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidOption(
            f"There is no time zone {zone!r}.", hint="Write for example 'Europe/Lisbon' or 'UTC'."
        ) from error
    return Schedule(text, cron(found["text"]), zone)
