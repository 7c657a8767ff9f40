"""A scenario from a seed: tables, rows, views that Spark accepts, and steps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from fuzz.case import Case, Settings, View
from fuzz.model import Model
from fuzz.oracle import RAISED, session_of, show_tables
from fuzz.query import Query
from fuzz.recursion import random_recursion
from fuzz.schemas import random_tables, scaled
from fuzz.sources import Columns
from fuzz.star import random_summary, star_tables
from fuzz.streams import OTHER_SETTINGS, first_rows, random_steps
from fuzz.views import random_view

VIEWS, ROUNDS = 24, 3
BLOCK = 8
"""So many scenarios in a row choose strategies in the same way."""
_DEEPEST = 3


def choice_of(seed: int) -> str:
    """Of five blocks one leaves the choice of strategies to their costs, and one has all bounds low."""
    return ("maintain", "maintain", "tight", "maintain", "cost")[seed // BLOCK % 5]


def scenario(
    spark: SparkSession,
    seed: int,
    counts: Counter[str],
    views: int = VIEWS,
    rounds: int = ROUNDS,
    avoid: re.Pattern[str] | None = None,
) -> Case:
    """The case of a seed. Texts that Spark rejects are thrown away, and counted."""
    rng = Random(seed)
    star = rng.random() < 0.2
    scale = 25 if rng.random() < 0.06 else 1
    tables = scaled(star_tables(rng) if star else random_tables(rng), scale)
    case = Case(seed, tables, first_rows(rng, tables, scale), (), (), _settings(rng), choice_of(seed))
    asked = Accepting(spark, case, counts, avoid)
    number = max(views // 3, 2) if scale > 1 else views
    if star:
        asked.add(rng, number // 2, lambda _: random_summary(rng))
    asked.recursions(rng)
    asked.add(rng, number, lambda relations: random_view(rng, relations))
    case = replace(case, views=tuple(asked.found))
    return replace(case, steps=random_steps(rng, case, rounds, scale))


def other_settings(rng: Random) -> Settings:
    chosen = dict(rng.sample(OTHER_SETTINGS, rng.choice((1, 1, 2, 3))))
    return tuple(sorted(chosen.items()))


def _settings(rng: Random) -> Settings:
    """Of the session that plays the case: how it plans changes nothing."""
    return (("spark.sql.adaptive.enabled", "true"),) if rng.random() < 0.2 else ()


class Accepting:
    """Views that Spark accepts. Each has the session's settings or others, and reads views of the same."""

    def __init__(
        self, spark: SparkSession, case: Case, counts: Counter[str], avoid: re.Pattern[str] | None
    ) -> None:
        self.case, self.counts, self.avoid = case, counts, avoid
        self.found: list[View] = []
        rng = Random(case.seed)
        some = [(), other_settings(rng)] if rng.random() < 0.35 else [()]
        self.sessions = {settings: session_of(spark, settings) for settings in some}
        tables = {t.name: [(c.name, c.type) for c in t.columns] for t in case.tables}
        self.relations: dict[Settings, dict[str, Columns]] = {s: dict(tables) for s in some}
        self.depths = dict.fromkeys(tables, 0)
        for session in self.sessions.values():
            show_tables(session, Model.of(case))

    def recursions(self, rng: Random) -> None:
        names = [f"v{len(self.found) + n}" for n in range(rng.choice((1, 2, 2)))]
        self.found += [view for name in names if (view := random_recursion(rng, name, self.case.tables))]

    def add(self, rng: Random, number: int, draw: Callable[[dict[str, Columns]], Query]) -> None:
        """Draws views until there are so many."""
        while len(self.found) < number:
            settings = rng.choice(list(self.sessions))
            relations = self.relations[settings]
            readable = {n: columns for n, columns in relations.items() if self.depths[n] < _DEEPEST}
            tables = {t.name: readable[t.name] for t in self.case.tables}
            self._try(rng, settings, draw(readable if rng.random() < 0.3 else tables))

    def _try(self, rng: Random, settings: Settings, query: Query) -> None:
        name, text = f"v{len(self.found)}", str(query)
        if self.avoid and self.avoid.search(text):
            return
        self.counts["texts"] += 1
        try:
            frame = self.sessions[settings].sql(text)
            columns = [(f.name, f.dataType.simpleString()) for f in frame.schema.fields]
            if rng.random() < 0.75 and _is_empty(frame):
                self.counts["texts with no rows"] += 1
                return
            frame.createOrReplaceTempView(name)
        except RAISED:
            self.counts["texts rejected"] += 1
            return
        read = [self.depths[other] for other in self.depths if f"{other} " in text]
        self.relations[settings][name], self.depths[name] = columns, 1 + max(read, default=0)
        strategy, refresh = _strategy(rng), _refresh(rng)
        self.found.append(View(name, text, strategy, refresh, settings=settings, query=query))


def _is_empty(frame: DataFrame) -> bool:
    """Whether a view shows nothing at first: most of these would show nothing later either. One that
    raises is not empty: it may do so at other times only."""
    try:
        return not frame.take(1)
    except (PySparkException, Py4JJavaError):
        return False


def _strategy(rng: Random) -> str:
    return rng.choice(("auto", "auto", "auto", "id-diffs", "tuple-diffs"))


def _refresh(rng: Random) -> str:
    return "on_commit" if rng.random() < 0.06 else "deferred"
