"""Changed subgoals: which rows left and which rows entered the relation of a subgoal, as sets.

A base relation is a bag; rules have set semantics. A row of which one copy of two is deleted did
not leave (gupta93 statement (2): set(Qᵛ) − set(Q)), and overdeletion must not start from it. A row
of which a second copy is inserted may count as entered: insertion only derives what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewkeeper.algebra.build import empty, is_empty, minus, negated, union_all
from viewkeeper.algebra.relations import Aggregate, Distinct, Project, Reference, Relation, Scan
from viewkeeper.algebra.walk import base_tables
from viewkeeper.delta.rules import delta
from viewkeeper.delta.states import old
from viewkeeper.maintenance.recursion.port import absent, present
from viewkeeper.maintenance.recursion.seminaive import World
from viewkeeper.maintenance.recursion.strata import references


@dataclass(frozen=True)
class Changes:
    """The base relations with insertions and those with deletions; keys of those that have one.

    A relation that is a set without a key has all its columns as key.
    """

    inserted: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def changed(self) -> frozenset[str]:
        return self.inserted | self.deleted


@dataclass(frozen=True)
class SetDelta:
    """The exact change of a set: `inserted` was not in it, `deleted` was."""

    inserted: Relation
    deleted: Relation

    @property
    def signed(self) -> Relation:
        """The change as a signed bag."""
        return minus(self.inserted, self.deleted)

    def applied(self, before: Relation) -> Relation:
        return union_all((absent(before, self.deleted), self.inserted), before.columns)


@dataclass(frozen=True)
class Subgoals:
    """The relations that the rules of a stratum read: base relations and complete lower strata."""

    changes: Changes
    stored: Mapping[str, Relation]
    lower: Mapping[str, SetDelta]

    @property
    def before(self) -> World:
        return World(lambda rel: old(rel, self.changes.changed), dict(self.stored))

    @property
    def after(self) -> World:
        named = {name: change.applied(self.stored[name]) for name, change in self.lower.items()}
        return World(lambda rel: rel, {**self.stored, **named})

    def left(self, rel: Relation) -> Relation:
        """δ⁻: the rows that were in `rel` and are not any more."""
        if is_named(rel):
            return self._lower(rel, {name: change.deleted for name, change in self.lower.items()})
        if references(rel):
            return self._difference(rel, self.before, self.after)
        if isinstance(rel, Scan):
            return self._left_table(rel)
        exact = rel if _is_set(rel, self.changes.keys) else Distinct(rel)
        return _positive(negated(delta(exact, self.changes.changed)))

    def _left_table(self, scan: Scan) -> Relation:
        """Deleted rows; of a bag, those of which no copy is left, looked up for these rows only."""
        if scan.table not in self.changes.deleted:
            return empty(scan.columns)
        fewer = _positive(negated(delta(scan, self.changes.changed)))
        return fewer if _is_set(scan, self.changes.keys) else absent(fewer, present(scan, fewer))

    def entered(self, rel: Relation) -> Relation:
        """δ⁺: the rows that are in `rel` and were not; perhaps also some that were."""
        if is_named(rel):
            return self._lower(rel, {name: change.inserted for name, change in self.lower.items()})
        if references(rel):
            return self._difference(rel, self.after, self.before)
        if isinstance(rel, Scan) and rel.table not in self.changes.inserted:
            return empty(rel.columns)
        return _positive(delta(rel, self.changes.changed))

    def _lower(self, rel: Relation, changes: Mapping[str, Relation]) -> Relation:
        unchanged = [name for name in references(rel) if name not in changes]
        return empty(rel.columns) if unchanged else World(lambda node: node, changes).of(rel)

    def _difference(self, rel: Relation, one: World, other: World) -> Relation:
        names = set(references(rel))
        moved = any(not _is_still(self.lower[name]) for name in names & set(self.lower))
        if not moved and self.changes.changed.isdisjoint(base_tables(rel)):
            return empty(rel.columns)
        return absent(one.of(rel), other.of(rel))


def _positive(signed: Relation) -> Relation:
    """The rows whose counts sum to more than zero."""
    return signed if is_empty(signed) else Distinct(signed)


def _is_still(change: SetDelta) -> bool:
    return is_empty(change.inserted) and is_empty(change.deleted)


def is_named(rel: Relation) -> bool:
    """Whether it is a reference, perhaps under other column names."""
    if isinstance(rel, Project):
        return isinstance(rel.child, Reference) and all(output.is_column for output in rel.outputs)
    return isinstance(rel, Reference)


def _is_set(rel: Relation, keys: Mapping[str, tuple[str, ...]]) -> bool:
    if isinstance(rel, Scan):
        bound = {item.source.name.lower() for item in rel.bound}
        return rel.table in keys and {name.lower() for name in keys[rel.table]} <= bound
    if isinstance(rel, Project):
        kept = {output.expr.name for output in rel.outputs if output.is_column}
        return kept == set(rel.child.columns) and _is_set(rel.child, keys)
    return isinstance(rel, (Aggregate, Distinct))
