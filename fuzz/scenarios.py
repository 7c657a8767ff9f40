"""A scenario from a seed: tables, rows, views that Spark accepts, and steps."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from random import Random

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from fuzz.case import Case, View
from fuzz.model import Model
from fuzz.oracle import session_of, show_tables
from fuzz.recursion import random_recursion
from fuzz.schemas import random_tables
from fuzz.sources import Columns
from fuzz.streams import first_rows, random_steps
from fuzz.views import random_view

VIEWS, ROUNDS = 24, 3
_DEEPEST = 3


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
    tables = random_tables(rng)
    case = Case(seed, tables, first_rows(rng, tables), (), ())
    session = session_of(spark)
    show_tables(session, Model.of(case))
    case = replace(case, views=_accepted_views(rng, session, case, views, counts, avoid))
    return replace(case, steps=random_steps(rng, case, rounds))


def _accepted_views(
    rng: Random,
    session: SparkSession,
    case: Case,
    number: int,
    counts: Counter[str],
    avoid: re.Pattern[str] | None,
) -> tuple[View, ...]:
    relations: dict[str, Columns] = {t.name: [(c.name, c.type) for c in t.columns] for t in case.tables}
    depths = dict.fromkeys(relations, 0)
    found = [view for view in (random_recursion(rng, f"v{n}", case.tables) for n in range(2)) if view]
    while len(found) < number:
        readable = {name: columns for name, columns in relations.items() if depths[name] < _DEEPEST}
        chosen = readable if rng.random() < 0.3 else {t.name: readable[t.name] for t in case.tables}
        query = random_view(rng, chosen)
        name, text = f"v{len(found)}", str(query)
        if avoid and avoid.search(text):
            continue
        counts["texts"] += 1
        try:
            frame = session.sql(text)
            columns = [(f.name, f.dataType.simpleString()) for f in frame.schema.fields]
            if rng.random() < 0.75 and _is_empty(frame):
                counts["texts with no rows"] += 1
                continue
            frame.createOrReplaceTempView(name)
        except PySparkException:
            counts["texts rejected"] += 1
            continue
        relations[name] = columns
        depths[name] = 1 + max((depths[other] for other in depths if f"{other} " in text), default=0)
        found.append(View(name, text, _strategy(rng), _refresh(rng), query=query))
    return tuple(found)


def _is_empty(frame: DataFrame) -> bool:
    """Whether a view shows nothing at first: most of these would show nothing later either. One that
    raises is not empty: it may do so at other times only."""
    try:
        return not frame.take(1)
    except PySparkException:
        return False


def _strategy(rng: Random) -> str:
    return rng.choice(("auto", "auto", "auto", "id-diffs", "tuple-diffs"))


def _refresh(rng: Random) -> str:
    return "on_commit" if rng.random() < 0.06 else "deferred"
