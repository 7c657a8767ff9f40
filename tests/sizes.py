"""How much tests do: `make test` some of everything, `make test-all` (`VIEWKEEPER_TESTS=all`) more of it.

Both run every test there is: each law, operator, strategy, example, fault and regression. The long form
tries more random cases, longer streams and all values of what is tried with several.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Sizes:
    """Each number is also set by a variable of its name: `VIEWKEEPER_STREAMS=40`."""

    cases: int
    """Random cases of all laws together: each law has its share (`tests/laws/settings.py`)."""

    changes: int
    """Changes that an ID-based script is tried with: to make a script takes as long as to run it so often."""

    streams: int
    """Random streams of changes on Spark: of tuples. Half as many change rows with IDs, and recursions."""

    batches: int
    """Batches in a stream."""

    rounds: int
    """Random batches at most that a test of one way to maintain views goes through."""

    fuzz: int
    """Scenarios of the fuzzer, with fixed seeds."""

    conformance: int
    """Cases of others, recomputed in full, spread over what they exercise."""

    tpch: int
    """Queries of TPC-H that are run as texts and as plans on Spark. DuckDB runs all of them, always."""

    checked: int
    """Whether refreshes in some folders (`tests/conftest.py`) are compared with Spark's answers before they
    are committed. Tests assert what they are about in both forms; a check takes three times a refresh."""

    load: int
    """Seconds in which fifty readers ask a service while it refreshes."""

    short: int
    """Whether batches that need not follow each other are one, and what is alike is tried once."""

    some: int
    """Of cases that differ in nothing but a value or a type: so many, spread evenly."""


SHORT = Sizes(
    cases=400,
    changes=8,
    streams=2,
    batches=1,
    rounds=2,
    fuzz=1,
    conformance=8,
    tpch=6,
    checked=0,
    load=3,
    short=1,
    some=2,
)
LONG = Sizes(
    cases=2400,
    changes=16,
    streams=8,
    batches=3,
    rounds=9,
    fuzz=12,
    conformance=20,
    tpch=22,
    checked=1,
    load=120,
    short=0,
    some=1000,
)


def asked() -> Sizes:
    """The sizes of this run."""
    form = LONG if os.environ.get("VIEWKEEPER_TESTS") == "all" else SHORT
    own = {field.name: os.environ.get(f"VIEWKEEPER_{field.name.upper()}") for field in fields(Sizes)}
    return replace(form, **{name: int(number) for name, number in own.items() if number})


SIZES = asked()


def spread(cases: Sequence[Item], number: int = SIZES.some) -> list[Item]:
    """So many of the cases, the first among them, evenly spread; all where there are not more."""
    chosen = min(number, len(cases))
    return [cases[index * len(cases) // chosen] for index in range(chosen)]


def in_batches(steps: Sequence[Sequence[Item]]) -> list[list[Item]]:
    """Steps of which none undoes another: each a batch of its own, or all of them one."""
    return [[item for step in steps for item in step]] if SIZES.short else [list(step) for step in steps]
