"""Times that a cron expression names: minute, hour, day of month, month, day of week.

    0 6 * * 1-5       at six in the morning from Monday to Friday
    */15 * * * *      every quarter of an hour

Where both days are restricted, either of them is enough, as cron has it. A time that the clock skips in
spring is as long after midnight; of one that it shows twice in autumn the first counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from viewkeeper.errors import InvalidOption

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()
YEARS = 8
"""A 29th of February comes again within so many years."""


@dataclass(frozen=True)
class Cron:
    """The values of each field that a time must have one of."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    def after(self, moment: datetime, zone: str = "UTC") -> datetime:
        """The first such time after a moment, by the clocks of a time zone; the result is in UTC."""
        place = ZoneInfo(zone)
        first = moment.astimezone(place).date()
        for number in range(366 * YEARS):
            day = first + timedelta(days=number)
            if self._has(day):
                for one in self._times(day, place):
                    if one > moment:
                        return one
        raise InvalidOption(f"No time is ever named by the cron expression {self.text!r}.")

    def _has(self, day: date) -> bool:
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        fits = by_month or by_week if self.either_day else by_month and by_week
        return fits and day.month in self.months

    def _times(self, day: date, zone: ZoneInfo) -> list[datetime]:
        local = (
            datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
            for hour in self.hours
            for minute in self.minutes
        )
        return sorted({one.astimezone(UTC) for one in local})


def cron(text: str) -> Cron:
    """The expression that a text is; says which part is wrong.

    >>> cron("30 6 * * *").hours
    (6,)
    """
    fields = text.split()
    if len(fields) != 5:
        raise InvalidOption(
            f"{text!r} is no cron expression: it has {len(fields)} fields.",
            "There are five: minute, hour, day of month, month, day of week.",
            "For six in the morning of every day: '0 6 * * *'.",
        )
    minutes, hours = _values(fields[0], 0, 59, text), _values(fields[1], 0, 23, text)
    days, months = _values(fields[2], 1, 31, text), _values(fields[3], 1, 12, text, MONTHS, 1)
    weekdays = {one % 7 for one in _values(fields[4], 0, 7, text, WEEKDAYS)}
    either = fields[2][0] not in "*?" and fields[4][0] not in "*?"
    found = Cron(
        text,
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset(days),
        frozenset(months),
        frozenset(weekdays),
        either,
    )
    found.after(datetime(2024, 1, 1, tzinfo=UTC))
    return found


def _values(
    field: str, low: int, high: int, text: str, names: list[str] | None = None, first: int = 0
) -> set[int]:
    """The values of one field: numbers and names, ranges and steps, separated by commas."""
    numbers = {name: number for number, name in enumerate(names or (), start=first)}

    def number(part: str) -> int:
        value = numbers.get(part.lower(), int(part) if part.isdecimal() else -1)
        if not low <= value <= high:
            raise InvalidOption(
                f"{text!r} is no cron expression: {part!r} is not from {low} to {high}.",
                hint="For six in the morning of every day: '0 6 * * *'.",
            )
        return value

    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        start, _, end = span.partition("-")
        if span in ("*", "?"):
            bounds = low, high
        else:
            begin = number(start)
            bounds = begin, number(end) if end else high if step else begin
        if bounds[0] > bounds[1] or (step and (not step.isdecimal() or int(step) == 0)):
            raise InvalidOption(f"{text!r} is no cron expression: {part!r} names nothing.")
        found |= set(range(bounds[0], bounds[1] + 1, int(step or 1)))
    return found
