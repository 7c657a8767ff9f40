"""Rows of a key that came or went are all among the changes: no table is read for them.

Let `lineitem` refer to `orders`, and let an order be new, or gone. No old row of `lineitem` refers to a new
order, and no new row to one that is gone:

    orders_old|k = δ⁻orders|k     lineitem_old|k = δ⁻lineitem|k           for every key k that is new or gone
    orders_new|k = δ⁺orders|k     lineitem_new|k = δ⁺lineitem|k

A join that looks such keys up, and no others, looks them up in the changes. So a batch of new orders with
their lineitems, and of old orders that go with theirs, reads neither table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from viewkeeper.algebra.build import fresh, restricted_to
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Bound,
    Consolidate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Lateral,
    Negate,
    Project,
    Relation,
    Scan,
    State,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import rewrite, with_children
from viewkeeper.rewrite.equalities import identical_pairs
from viewkeeper.rewrite.keys import sources


@dataclass(frozen=True)
class FreshKeys:
    """A key whose changed values are all new or gone, in one batch.

    `members` gives the column of every changed table that holds it: that of the table whose key it is, and
    those that refer to it. The changes of `closed` tables mention no other value of it. `keys` are the
    members' primary keys: by these a row is told from another.
    """

    members: Mapping[str, str]
    closed: frozenset[str]
    keys: Mapping[str, tuple[Column, ...]]

    def __hash__(self) -> int:
        return hash((tuple(self.members.items()), self.closed, tuple(self.keys.items())))

    def with_member(self, name: str, column: str, key: tuple[Column, ...]) -> FreshKeys:
        """One more relation whose changes are whole keys: groups that are made of the members' rows."""
        return FreshKeys({**self.members, name: column}, self.closed | {name}, {**self.keys, name: key})

    def __str__(self) -> str:
        (parent, key), *others = self.members.items()
        rest = "".join(f", {table}.{name}" for table, name in others if table in self.closed)
        return f"{parent}.{key}{rest}"


def answered_by_changes(rel: Relation, found: Iterable[FreshKeys]) -> Relation:
    """A delta that looks rows of fresh keys up in the changes, and not in the tables."""
    for keys in found:
        rel = _answered_for(rel, keys)
    return rel


def _answered_for(rel: Relation, keys: FreshKeys) -> Relation:
    return rewrite(rel, lambda node: _answered(node, keys) if isinstance(node, Join) else node)


_ONLY_PARTNERS = {
    JoinKind.INNER: (True, True),
    JoinKind.SEMI: (True, True),
    JoinKind.ANTI: (False, True),
    JoinKind.LEFT: (False, True),
    JoinKind.RIGHT: (True, False),
    JoinKind.FULL: (False, False),
}
"""Whether a row of the left, and of the right side, is of use only where it has a partner."""


def _answered(join: Join, keys: FreshKeys) -> Relation:
    left, right = join.left, join.right
    pairs = identical_pairs(join.on, left, right)
    of_left, of_right = _ONLY_PARTNERS[join.kind]
    if of_left and any(_holds(left, mine, keys) and _is_fresh(right, other, keys) for mine, other in pairs):
        left = _among_changes(left, keys)
    elif of_right and any(
        _holds(right, other, keys) and _is_fresh(left, mine, keys) for mine, other in pairs
    ):
        right = _among_changes(right, keys)
    return join if (left, right) == (join.left, join.right) else with_children(join, (left, right))


def _holds(rel: Relation, name: str, keys: FreshKeys) -> bool:
    """Whether `rel` is rows of one table as it is stored, and the column holds the key."""
    while isinstance(rel, (Filter, Project, Negate)):
        if isinstance(rel, Project):
            name = sources(rel.outputs).get(name, "")
        rel = rel.child
    if not isinstance(rel, Scan) or rel.at is State.DELTA:
        return False
    return keys.members.get(rel.table) in [item.source.name for item in rel.bound if item.name == name]


def _among_changes(rel: Relation, keys: FreshKeys) -> Relation:
    """The same rows of the same table, as far as they came or went: net, and as a set."""
    if not isinstance(rel, Scan):
        assert isinstance(rel, (Filter, Project, Negate))
        return with_children(rel, (_among_changes(rel.child, keys),))
    known = {item.source.name for item in rel.bound}
    more = [key for key in keys.keys[rel.table] if key.name not in known]
    bound = (*rel.bound, *(Bound(fresh(key.name, rel.columns), key) for key in more))
    changes = replace(rel, bound=bound, at=State.DELTA)
    rows = Distinct(Negate(changes) if rel.at is State.OLD else changes, exact=True)
    return restricted_to(rows, rel.columns)


def _is_fresh(rel: Relation, name: str, keys: FreshKeys) -> bool:
    """Whether the column holds no values but fresh ones."""
    match rel:
        case Scan():
            held = [item.source.name for item in rel.bound if item.name == name]
            return rel.at is State.DELTA and rel.table in keys.closed and keys.members[rel.table] in held
        case Values():
            return not rel.rows
        case Filter() | Negate() | Consolidate() | Distinct() | Affected():
            return _is_fresh(rel.child, name, keys)
        case Project():
            return name in (inner := sources(rel.outputs)) and _is_fresh(rel.child, inner[name], keys)
        case Aggregate():
            return name in (inner := sources(rel.keys)) and _is_fresh(rel.child, inner[name], keys)
        case Window() | Lateral():
            return name in rel.child.columns and _is_fresh(rel.child, name, keys)
        case UnionAll():
            place = rel.columns.index(name)
            return all(_is_fresh(each, each.columns[place], keys) for each in rel.inputs)
        case Join():
            return _is_fresh_in_join(rel, name, keys)
        case _:
            return False


def _is_fresh_in_join(join: Join, name: str, keys: FreshKeys) -> bool:
    """A column of either side that an outer join does not pad, or one that equals such a column."""
    sides = [(join.left, join.right), (join.right, join.left)]
    if join.kind is not JoinKind.INNER:
        sides = sides[: join.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)]
    for side, other in sides:
        if name in side.columns and _is_fresh(side, name, keys):
            return True
        if name in side.columns and join.kind in (JoinKind.INNER, JoinKind.SEMI):
            pairs = identical_pairs(join.on, side, other)
            if any(_is_fresh(other, partner, keys) for mine, partner in pairs if mine == name):
                return True
    return False
