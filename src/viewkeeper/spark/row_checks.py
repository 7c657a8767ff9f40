"""Runs the checks of a transaction: over rows that the driver holds there, all others in one Spark action."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from viewkeeper import errors
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.merge.net_effect import COPIES_LEFT, RowCheck, as_one_query
from viewkeeper.planning.physical.plan import leaves
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import Answer
from viewkeeper.sql.render import state_name

_ERRORS: dict[str, tuple[type[errors.InvalidChange], str]] = {
    "missing": (errors.MissingRows, "These rows of {} do not exist."),
    "duplicate": (errors.DuplicateKey, "These keys of {} would occur twice."),
    "reference": (errors.BrokenForeignKey, "These foreign keys of {} refer to no row."),
    "null": (errors.NullNotAllowed, "These rows of {} have NULL where none may be."),
    "malformed": (errors.WrongType, "These changes of {} cannot be read."),
}


def run_checks(engine: SparkEngine, asked: Sequence[RowCheck], frames: Mapping[str, Answer]) -> set[str]:
    """Raises the first check that finds wrong rows; returns the tables with copies left.

    The driver only tells that a check finds nothing: rows that are wrong are for Spark to show.
    """
    asked = [check for check in asked if not _finds_nothing(engine, check, frames)]
    if not asked:
        return set()
    rows = engine.rows(engine.plan(as_one_query(asked), frames), 1000)
    found: dict[int, list[str]] = {}
    for number, row in rows:
        found.setdefault(number, []).append(row)
    for number, check in enumerate(asked):
        if number in found and check.kind != COPIES_LEFT:
            raise _error(check, [_shown(json.loads(row)) for row in found[number]])
    return {asked[number].table for number in found}


def _finds_nothing(engine: SparkEngine, check: RowCheck, frames: Mapping[str, Answer]) -> bool:
    plan = plain(check.offending)
    found = engine.here(plan, {state_name(leaf): frames[state_name(leaf)] for leaf in leaves(plan)})
    return found is not None and not found.rows


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {shown(name): value for name, value in row.items()}


def _error(check: RowCheck, rows: list[dict[str, Any]]) -> errors.InvalidChange:
    kind, what = _ERRORS[check.kind]
    listed = "\n".join(f"  {row}" for row in rows)
    return kind(
        what.format(check.table),
        f"{check.detail}\n{listed}".strip("\n"),
        "Nothing was applied. Correct the rows and try again.",
        table=check.table,
        rows=rows,
    )
