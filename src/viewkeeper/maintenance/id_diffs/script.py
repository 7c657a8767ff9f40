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
from viewkeeper.algebra.relations import Relation, Scan, State
from viewkeeper.algebra.walk import scans
from viewkeeper.maintenance.id_diffs.diffs import Diff, DiffSchema
from viewkeeper.sql.show import show as show_plan


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


def base_table_reads(script: Script) -> tuple[Scan, ...]:
    """The scans of base tables at OLD or NEW: what the script reads besides diffs, caches and the view."""
    own = {relation.name for relation in script.stored}
    found = (scan for step in computations(script) for scan in scans(step.query))
    return tuple(scan for scan in found if scan.at is not State.DELTA and scan.table not in own)


def computations(script: Script) -> Iterator[ComputeDiff]:
    return (step for step in script.steps if isinstance(step, ComputeDiff))


def show(script: Script) -> str:
    """The script as text: what is stored, then step by step."""
    return "\n".join(_lines(script))


def _lines(script: Script) -> Iterator[str]:
    for relation in script.stored:
        yield f"{relation.reason} {relation.name}, by ({', '.join(relation.ids)})"
        yield from _indented(show_plan(relation.plan))
    for step in script.steps:
        match step:
            case ComputeDiff():
                yield f"{step.name} =" if step.schema is None else f"{step.name}: {step.schema} ="
                yield from _indented(show_plan(step.query))
            case Apply():
                yield f"apply {step.diff.name} to {step.target}"


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.splitlines())
