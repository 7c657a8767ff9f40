"""Shadow checks: before a refresh is committed, a part of every changed view is compared with its text.

A share of 0.01 is one bucket of a hundred, by the hash of the group or row; the next version checks the next
bucket. So every group is looked at once in a hundred refreshes, and Spark, which pushes the condition down,
computes only that bucket. A view that cannot be sampled is compared as a whole, once in a hundred versions.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from zlib import crc32

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.errors import CheckFailed
from viewkeeper.inspect.left_open import left_open
from viewkeeper.inspect.repro import write_repro
from viewkeeper.inspect.verification import Verification, judged, rows_read
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.report import Checked
from viewkeeper.spark.sample import bucket, can_be_hashed
from viewkeeper.spark.session import DataFrame
from viewkeeper.spark.user_text import dated
from viewkeeper.sql.output_keys import key_places
from viewkeeper.storage.draft import Draft
from viewkeeper.views import CHECK, as_written, checked_share
from viewkeeper.workspace import Workspace

ENVIRONMENT = "VIEWKEEPER_CHECK"
"""The share that is checked where neither the call nor the view says another."""


def check(state: RefreshState) -> RefreshState:
    """Compares a sample of each view that changed with the answer to its text; raises CheckFailed.

    The actions that this takes are not those of the refresh.
    """
    with state.work.engine.uncounted(), state.work.engine.keeping():
        return state.with_tasks(replace(task, checked=_checked(state, task)) for task in state.changed)


def _share(view: ViewDefinition, asked: float | None) -> float:
    if asked is not None:
        return asked
    own = dict(view.properties).get(CHECK)
    if own is not None:
        return checked_share(own, CHECK)
    return checked_share(os.environ.get(ENVIRONMENT) or 0, ENVIRONMENT)


@dataclass(frozen=True)
class _Sample:
    """One of several buckets of rows, by the values at some places; `places` empty: all rows or none."""

    places: tuple[int, ...]
    buckets: int
    number: int

    def of(self, frame: DataFrame) -> DataFrame:
        return bucket(frame, self.places, self.buckets, self.number) if self.places else frame


def _checked(state: RefreshState, task: Task) -> Checked | None:
    work, draft, started = state.work, state.draft, time.perf_counter()
    share = _share(task.definition, state.request.check)
    if not share:
        return None
    view = dated(as_written(task.definition, draft.catalog), draft.relations)
    stored = work.reader.visible(draft.relations[view.name])
    sample = _sample(view, stored, max(1, round(1 / share)), draft.version)
    if sample is None:
        return None
    work.progress("check", shown(view.name), 0, 1)
    with work.under(view):
        found = judged(
            work,
            view,
            sample.of(stored),
            lambda: rows_read(work, view, draft.relations),
            sample=sample.of,
        )
    if found.verdict == "different":
        raise _failure(work, draft, view, found)
    return Checked(shown(view.name), found.verdict, share, time.perf_counter() - started)


def _sample(view: ViewDefinition, stored: DataFrame, buckets: int, version: int) -> _Sample | None:
    """What is looked at in a version: a bucket, or all of a view that has no key to be sampled by."""
    if buckets == 1:
        return _Sample((), 1, 0)
    places = _key(view, stored)
    if places:
        return _Sample(places, buckets, version % buckets)
    is_due = (version + crc32(view.name.encode())) % buckets == 0
    return _Sample((), 1, 0) if is_due else None


def _key(view: ViewDefinition, stored: DataFrame) -> tuple[int, ...]:
    """The places that say what a row is about: of its group, or all that do not depend on chance."""
    open_columns = left_open(view)
    if open_columns is None:
        return ()
    keys = key_places(view.sql) if view.language == "sql" else None
    places = range(len(stored.columns)) if keys is None else keys
    kinds = [field.dataType for field in stored.schema.fields]
    return tuple(n for n in places if n not in open_columns and can_be_hashed(kinds[n]))


def _failure(
    work: Workspace,
    draft: Draft,
    view: ViewDefinition,
    found: Verification,
) -> CheckFailed:
    file = write_repro(work, draft, view, found, rows_read(work, view, draft.relations))
    differ = [f"missing {row}" for row in found.missing[:3]] + [f"extra {row}" for row in found.extra[:3]]
    return CheckFailed(
        f"The refresh of {shown(view.name)} would have given other rows than Spark's answer to its text.",
        "; ".join((*found.columns, *differ)),
        f"Nothing was committed. {file} tells it; refresh with policy='full' meanwhile.",
        view=shown(view.name),
        rows=(*found.missing, *found.extra),
        code="check-failed",
        file=file,
    )
