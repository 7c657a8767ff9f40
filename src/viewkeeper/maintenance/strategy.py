"""The questions that every maintenance strategy answers.

    refuse   may it maintain this view through this batch? A reason when not, never an exception.
    state    which relations must be stored for it?
    plan     the Δ-script of this batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.schema import Column
from viewkeeper.planning.steps import Script
from viewkeeper.report import Reason
from viewkeeper.storage.relation import MergeSpec


@dataclass(frozen=True)
class Stratum:
    """A stored relation that is defined by a query: a view, or state that a view needs.

    `query` yields all stored columns, hidden ones included; None where the SQL has no plan.
    `merge` says how layers merge; None for bags of signed rows.
    """

    name: str
    query: Relation | None
    merge: MergeSpec | None = None


@dataclass(frozen=True)
class View:
    """A view as strategies see it: the last stratum is the view itself."""

    name: str
    sql: str
    columns: tuple[Column, ...]
    strata: tuple[Stratum, ...]
    untranslatable: str | None = None

    @property
    def top(self) -> Stratum:
        return self.strata[-1]


@dataclass(frozen=True)
class TableChange:
    """How much of one input changed since the view was last refreshed."""

    rows: int
    only_inserts: bool
    replaced: bool = False


@dataclass(frozen=True)
class Batch:
    """The inputs of a view that changed, and how large all of its inputs are."""

    changes: Mapping[str, TableChange]
    sizes: Mapping[str, int]

    @property
    def changed(self) -> frozenset[str]:
        return frozenset(self.changes)

    @property
    def only_inserts(self) -> bool:
        return all(change.only_inserts for change in self.changes.values())


class Strategy(Protocol):
    """A maintenance algorithm."""

    @property
    def name(self) -> str: ...

    def refuse(self, view: View, batch: Batch) -> Reason | None: ...

    def state(self, view: View) -> tuple[Stratum, ...]: ...

    def plan(self, view: View, batch: Batch) -> Script: ...
