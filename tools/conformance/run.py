"""Runs a case: one warehouse of its own, one transaction and one refresh per step."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from tools.conformance.cases import Case, Change
from tools.conformance.values import Row, differences
from viewkeeper.errors import CannotMaintain, InvalidSQL, ViewkeeperError

if TYPE_CHECKING:
    from viewkeeper.warehouse import Warehouse

ROWS_SHOWN = 5


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Outcome:
    """What became of a case; `reason` is a code where it was refused, `detail` is for people."""

    case: str
    verdict: Verdict
    reason: str = ""
    detail: str = ""
    strategies: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "detail": self.detail,
            "strategies": dict(self.strategies),
        }


class Mismatch(Exception):
    """The view's rows are not the expected ones."""


def run_case(case: Case, open_at: Callable[[str], Warehouse], policy: str) -> Outcome:
    """The verdict on a case, whatever happens in it."""
    folder = tempfile.mkdtemp(prefix="viewkeeper-conformance-")
    strategies: Counter[str] = Counter()
    try:
        wh = open_at(folder)
        try:
            follow(case, wh, policy, strategies)
        finally:
            wh.close()
    except (CannotMaintain, InvalidSQL) as error:
        return Outcome(case.id, Verdict.REFUSED, reason_of(error), str(error), strategies)
    except Mismatch as error:
        return Outcome(case.id, Verdict.FAILED, "different", str(error), strategies)
    except Exception as error:
        return Outcome(case.id, Verdict.FAILED, type(error).__name__, traceback.format_exc(), strategies)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(case.id, Verdict.PASSED, strategies=strategies)


def reason_of(error: ViewkeeperError) -> str:
    return error.code or type(error).__name__


def follow(case: Case, wh: Warehouse, policy: str, strategies: Counter[str]) -> None:
    """Builds the case's warehouse, then changes, refreshes and compares, step by step."""
    for table in case.tables:
        wh.sql(table.create_statement())
    first = tuple(Change(name, tuple(rows), ()) for name, rows in case.initial.items() if rows)
    apply(case, wh, first)
    for name, query in case.helper_views:
        wh.create_view(name, query)
    wh.create_view(case.view, case.sql)
    compare(case, wh, 0)
    for number, step in enumerate(case.steps, start=1):
        apply(case, wh, step)
        report = wh.refresh(policy=policy)
        strategies.update(entry.strategy for entry in report)
        compare(case, wh, number)


def apply(case: Case, wh: Warehouse, changes: tuple[Change, ...]) -> None:
    """One transaction over all the tables that change."""
    if not any(change.insert or change.delete for change in changes):
        return
    with wh.transaction() as transaction:
        for change in changes:
            table = case.table(change.table)
            if change.delete:
                transaction.delete(change.table, table.rows(change.delete))
            if change.insert:
                transaction.insert(change.table, table.rows(change.insert))


def compare(case: Case, wh: Warehouse, number: int) -> None:
    actual = [tuple(row) for row in wh.table(case.view).collect()]
    missing, extra = differences(actual, case.expected[number])
    if missing or extra:
        when = f"after batch {number} of {len(case.steps)}" if number else "when created"
        raise Mismatch("\n".join([f"{when}:", *_listed("missing", missing), *_listed("extra", extra)]))


def _listed(what: str, rows: list[Row]) -> list[str]:
    shown = [f"  {what}: {row!r}" for row in rows[:ROWS_SHOWN]]
    more = len(rows) - len(shown)
    return [*shown, f"  {what}: and {more} more"] if more else shown
