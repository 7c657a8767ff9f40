"""Whether stored rows are right: equal to the oracle's, or one of several right answers."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from random import Random

from pyspark.sql import SparkSession

from fuzz.aggregates import FLOATING
from fuzz.bags import Bag, same
from fuzz.case import Settings, View, mentions
from fuzz.model import Model
from fuzz.oracle import Oracle

TOLERANCE = 1e-9
_FLOATING = re.compile("|".join(FLOATING))
_PICKING = re.compile(r"\b(?:MIN|MAX|GREATEST|LEAST|MODE)\b", re.IGNORECASE)


def dependents(views: Sequence[View], names: set[str]) -> set[str]:
    """Some relations and all views that read them, directly or through others."""
    found = set(names)
    for view in views:
        if set(view.predicates) & found or any(mentions(view, name) for name in found if name):
            found |= set(view.predicates)
    return found


def with_ancestors(views: Sequence[View], name: str) -> list[View]:
    """A view after those that it reads."""
    wanted, found = {name}, []
    for view in reversed(views):
        if set(view.predicates) & wanted:
            found.append(view)
            wanted |= {n for other in views for n in other.predicates if mentions(view, n)}
    return found[::-1]


def is_same(views: Sequence[View], name: str, model: Model, got: Bag, wanted: Bag) -> bool:
    """Exactly equal; nearly so where floats were summed up on the way, or where either zero may be picked."""
    if sums_floats(views, name):
        return same(got, wanted, TOLERANCE, _largest(model))
    texts = " ".join(view.text for view in with_ancestors(views, name))
    return same(got, wanted, sys.float_info.min if _PICKING.search(texts) else 0)


def sums_floats(views: Sequence[View], name: str) -> bool:
    """Whether the last digits of a view may depend on the order in which rows are read."""
    return _FLOATING.search(" ".join(view.text for view in with_ancestors(views, name))) is not None


def _largest(model: Model) -> float:
    """The size of the largest number in a column of floats."""
    found = [1.0]
    for name, table in model.tables.items():
        at = [n for n, column in enumerate(table.columns) if column.family == "float"]
        texts = (row[n].rstrip("DF") for row in model.rows[name] for n in at)
        found += [abs(float(text)) for text in texts if re.fullmatch(r"-?[\d.e+-]+", text)]
    return max(number for number in found if math.isfinite(number))


def one_of_several(
    spark: SparkSession,
    settings: Settings,
    views: Sequence[View],
    name: str,
    model: Model,
    got: Bag,
    rng: Random,
) -> bool:
    """Whether the text itself gives other rows when its tables are read in another order."""
    lineage, first = with_ancestors(views, name), None
    for _ in range(4):
        answer = Oracle(spark, settings, rng).answers(model, lineage)[name]
        if answer.rows is None or is_same(views, name, model, got, answer.rows):
            return True
        if first is not None and not is_same(views, name, model, first, answer.rows):
            return True
        first = answer.rows
    return False


def may_raise(
    spark: SparkSession, settings: Settings, views: Sequence[View], name: str, model: Model, rng: Random
) -> bool:
    """Whether Spark raises for the text when its tables are read in another order: a running sum may
    overflow on the way, or not."""
    lineage = with_ancestors(views, name)
    return any(Oracle(spark, settings, rng).answers(model, lineage)[name].error for _ in range(4))
