"""The Δ-script: plain data that is stored with the view, executed, and shown by `explain`.

A step computes a named diff, or applies one to a cache or to the view. A stored relation is read at OLD
at any time and at NEW after all its diffs are applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.id_diffs.diffs import Diff, DiffSchema


@dataclass(frozen=True)
class KeptRelation:
    """A relation that is kept up to date: the view, or a cache. `ids` is its key."""

    name: str
    plan: Relation
    ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class ComputeDiff:
    """Computes a result by name. `explicit`: the query has explicit counts already.

    `schema` is set when the result is a diff; a base-table diff has the table as its relation.
    """

    name: str
    query: Relation
    schema: DiffSchema | None = None
    explicit: bool = False

    @property
    def executable(self) -> Relation:
        """The query with explicit counts, as the renderer takes it."""
        return self.query if self.explicit else plain(self.query)


@dataclass(frozen=True)
class Apply:
    """Applies a diff to a stored relation: one layer.

    The key is a part of the relation's IDs. INSERT: the columns of matching rows are set, the other rows
    are inserted. UPDATE: the updated columns of all matching rows are set. DELETE: matching rows go. MOVE:
    what the diff tells is added to the updated columns.
    """

    target: str
    diff: Diff

    @property
    def key(self) -> tuple[str, ...]:
        return self.diff.schema.ids

    @property
    def sets(self) -> tuple[str, ...]:
        return self.diff.schema.updated

    def __str__(self) -> str:
        named, columns = f"by ({', '.join(self.key)})", ", ".join(self.sets)
        match self.diff.schema.kind:
            case DiffKind.INSERT:
                return f"insert or set {named}"
            case DiffKind.DELETE:
                return f"delete {named}"
            case DiffKind.UPDATE:
                return f"set {columns} {named}"
            case DiffKind.MOVE:
                return f"add to {columns} {named}"


Step: TypeAlias = ComputeDiff | Apply


@dataclass(frozen=True)
class Script:
    """How a view is kept up to date. `visible` are the columns of the view that its users see."""

    view: KeptRelation
    caches: tuple[KeptRelation, ...]
    visible: tuple[str, ...]
    steps: tuple[Step, ...]
    base: tuple[Diff, ...]

    @property
    def stored(self) -> tuple[KeptRelation, ...]:
        return (*self.caches, self.view)

    @property
    def only_updates(self) -> bool:
        """Whether all that it does to stored rows is to set some of their columns."""
        applied = (step.diff.schema.kind for step in self.steps if isinstance(step, Apply))
        return all(kind is DiffKind.UPDATE for kind in applied)


def computations(script: Script) -> Iterator[ComputeDiff]:
    return (step for step in script.steps if isinstance(step, ComputeDiff))
