"""The queries that advice is for: given, or kept in the warehouse as they were asked.

Queries that differ only in values are of one shape. Of each shape the text that was asked last is kept, and
how often it was asked: no value beside those in that text, and nothing of an answer. Only so many shapes
are kept; those that were not asked for longest are forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from viewkeeper.errors import InvalidOption, MissingFile
from viewkeeper.storage.objects import Folder

PATH = "queries.json"
MOST = 500

Workload = Iterable[str] | Mapping[str, float]
"""Texts of queries, each perhaps several times, or with how often each is asked."""


@dataclass(frozen=True)
class LoggedQuery:
    """A query, and how often its shape was asked; `varies`: it was asked for other values too."""

    sql: str
    times: float
    varies: bool = False


class QueryLog:
    """The shapes of queries in a file of the warehouse; of two sessions that ask at once, one may not
    count."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def note(self, sql: str) -> None:
        """Counts a query that is asked."""
        known, shape, text = self._read(), shape_of(sql), sql.strip()
        earlier = known.pop(shape, LoggedQuery(text, 0))
        varies = earlier.varies or earlier.sql != text
        known[shape] = LoggedQuery(text, earlier.times + 1, varies)
        kept = {one: [q.sql, q.times, q.varies] for one, q in list(known.items())[-MOST:]}
        self._folder.replace(PATH, json.dumps(kept, ensure_ascii=False).encode())

    def queries(self) -> tuple[LoggedQuery, ...]:
        """Those asked most come first."""
        return tuple(sorted(self._read().values(), key=lambda query: -query.times))

    def _read(self) -> dict[str, LoggedQuery]:
        try:
            stored = json.loads(self._folder.read(PATH))
        except MissingFile:
            return {}
        return {shape: LoggedQuery(*query) for shape, query in stored.items()}


def shape_of(sql: str) -> str:
    """The query with a question mark for each value."""
    try:
        tree = parse_one(sql, dialect="spark")
    except SqlglotError:
        return sql.strip()
    return tree.transform(lambda node: exp.Placeholder() if isinstance(node, exp.Literal) else node).sql(
        "spark"
    )


def given(workload: Workload) -> tuple[LoggedQuery, ...]:
    """A workload as its queries, those asked most first."""
    times: dict[str, float] = {}
    pairs = workload.items() if isinstance(workload, Mapping) else ((sql, 1.0) for sql in workload)
    for sql, often in pairs:
        if often <= 0:
            raise InvalidOption(
                f"A query cannot be asked {often:g} times.", sql, "Give a number above zero, or leave it out."
            )
        times[sql.strip()] = times.get(sql.strip(), 0.0) + often
    found = (LoggedQuery(sql, often) for sql, often in times.items())
    return tuple(sorted(found, key=lambda query: -query.times))
