"""Where only whole keys come and go, the delta of a query is the query over what came and went.

A query is *local* to a key when no row of its result is made of rows of two keys: what it joins, compares
and groups by includes the key. It is then the sum of its values key by key, and, where every changed key
is new or gone (`fresh_keys`), so is its delta:

    Q = ⊎ₖ Q|ₖ     ⇒     ΔQ = Q(δ⁺) − Q(δ⁻)

A key that is new is not gone, so that one evaluation serves both: the query over all changed rows, |δ|,
of which one input hands on its signs.

    signed(R)     = δR                                  |R| = the rows of δR, each once
    signed(L ⋈ R) = signed(L) ⋈ |R|                     signed(L ▷ R) = signed(L) ▷ |R|
    signed(γ(R))  = γ(|R|) ⋈ the signs of the keys

The rules of the operators have a term for each changed input, and look for partners at two states. Here
the plan is as small as the query, and reads nothing of the tables that the changes are of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import permutations

from viewkeeper.algebra.build import affected, apart, fresh, joined, restricted_to, union_all
from viewkeeper.algebra.expressions import column, conjunction, equal
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Consolidate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Lateral,
    Project,
    Relation,
    Scan,
    State,
    UnionAll,
    Window,
)
from viewkeeper.algebra.walk import base_tables, rewrite, with_children
from viewkeeper.rewrite.equalities import identical_pairs
from viewkeeper.rewrite.fresh_keys import FreshKeys
from viewkeeper.rewrite.join_block import JoinBlock, join_block
from viewkeeper.rewrite.keys import sources
from viewkeeper.rewrite.outer_join import as_inner_and_anti
from viewkeeper.rewrite.pushdown import pushed_down

ColumnSet = frozenset[str]


def delta_of_whole_keys(
    rel: Relation, changed: frozenset[str], found: Iterable[FreshKeys]
) -> Relation | None:
    """ΔQ where the query is local to a key of which only whole ones came and went; else nothing."""
    inputs = changed.intersection(base_tables(rel))
    for keys in found:
        local = _Local(keys)
        if inputs <= keys.closed and local.columns(rel) is not None:
            return local.signed(rel)
    return None


def key_column(rel: Relation, changed: frozenset[str], keys: FreshKeys) -> str | None:
    """A column of a local query that holds the key; nothing where there is none."""
    if not changed.intersection(base_tables(rel)) <= keys.closed:
        return None
    return min(_Local(keys).columns(rel) or (), default=None)


@dataclass(frozen=True)
class _Local:
    """Queries over tables whose changes are whole keys, and over others that did not change."""

    keys: FreshKeys

    def is_changed(self, rel: Relation) -> bool:
        return not self.keys.closed.isdisjoint(base_tables(rel))

    def columns(self, rel: Relation) -> ColumnSet | None:
        """The columns of a local query that hold the key; None where it is not local."""
        match rel:
            case Scan():
                return self._of_scan(rel)
            case Filter() | Lateral():
                return self.columns(rel.child)
            case Project():
                return _copies(self.columns(rel.child), sources(rel.outputs))
            case Join(kind=JoinKind.INNER):
                return self._of_block(_block(rel))
            case Join():
                return self._of_join(rel)
            case UnionAll():
                return self._of_union(rel)
            case Aggregate():
                return _copies(self.columns(rel.child), sources(rel.keys)) or None
            case Distinct():
                return self.columns(rel.child) or None
            case Window():
                found = self.columns(rel.child)
                return None if found is None or found.isdisjoint(rel.partition) else found
            case _:
                return None

    def _of_scan(self, scan: Scan) -> ColumnSet | None:
        if scan.table not in self.keys.closed:
            return None
        held = self.keys.members[scan.table]
        return frozenset(item.name for item in scan.bound if item.source.name == held)

    def _of_block(self, block: JoinBlock) -> ColumnSet | None:
        """Of inner joins: the changed inputs are all joined by the key."""
        waiting = [self.columns(one) for one in block.inputs if self.is_changed(one)]
        if not waiting or not all(waiting):
            return waiting[0] if len(waiting) == 1 else None
        reached, *rest = [held for held in waiting if held]
        pairs = _equal_columns(block)
        while rest:
            equal_to_key = {name for pair in pairs if not reached.isdisjoint(pair) for name in pair}
            near = [held for held in rest if not held.isdisjoint(equal_to_key)]
            if not near:
                return None
            rest = [held for held in rest if held not in near]
            reached = reached.union(*near)
        return reached

    def _of_join(self, join: Join) -> ColumnSet | None:
        """Of outer joins and semi-joins: the side whose rows stay is local, and meets rows of its own key."""
        left, right = join.left, join.right
        if join.kind is JoinKind.RIGHT:
            left, right = right, left
        kept, other = self.columns(left), self.columns(right)
        if join.kind is not JoinKind.FULL and not self.is_changed(right):
            return kept
        if kept is None or other is None:
            return None
        pairs = identical_pairs(join.on, left, right)
        if not any(mine in kept and theirs in other for mine, theirs in pairs):
            return None
        return frozenset() if join.kind is JoinKind.FULL else kept

    def _of_union(self, union: UnionAll) -> ColumnSet | None:
        places = []
        for one in union.inputs:
            held = self.columns(one)
            if held is None:
                return None
            places.append({place for place, name in enumerate(one.columns) if name in held})
        return frozenset(union.columns[place] for place in set.intersection(*places))

    def signed(self, rel: Relation) -> Relation:
        """Q(δ⁺) − Q(δ⁻) of a local query."""
        match rel:
            case Scan():
                return replace(rel, at=State.DELTA)
            case Filter() | Lateral() | Project():
                return with_children(rel, (self.signed(rel.child),))
            case UnionAll():
                return union_all((self.signed(one) for one in rel.inputs), rel.columns)
            case Join(kind=JoinKind.INNER):
                return self._signed_block(_block(rel))
            case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
                return joined(self.signed(rel.left), self.unsigned(rel.right), rel.kind, rel.on)
            case Join():
                return self.signed(as_inner_and_anti(rel))
            case _:
                return self._with_signs(self.unsigned(rel), min(self.columns(rel) or ()))

    def _signed_block(self, block: JoinBlock) -> Relation:
        """The signs of one changed input, which all others are joined with, the nearest first."""
        changed = [number for number, one in enumerate(block.inputs) if self.is_changed(one)]
        first, *others = block.order(sorted(changed, key=lambda number: not _hands_on(block.inputs[number])))
        change = self.signed(block.inputs[first])
        for number in others:
            change = block.join(change, self.unsigned(block.inputs[number]))
        return restricted_to(change, block.columns)

    def _with_signs(self, rows: Relation, key: str) -> Relation:
        """Rows, each of one key, with the signs that the changes of the key's own table have."""
        parent = next(iter(self.keys.members))
        (held,) = self.keys.keys[parent]
        signs, names = apart(rows, Scan(parent, (Bound(held.name, held),), State.DELTA))
        return restricted_to(
            joined(rows, signs, JoinKind.INNER, equal(column(key), column(names[held.name]))), rows.columns
        )

    def unsigned(self, rel: Relation) -> Relation:
        """Q(δ⁺) ⊎ Q(δ⁻): the query over the rows that came or went."""
        return rewrite(rel, lambda node: self._rows(node) if isinstance(node, Scan) else node)

    def _rows(self, scan: Scan) -> Relation:
        """The changed rows of a table, each once: those that came and went again are not among them."""
        if scan.table not in self.keys.closed:
            return scan
        known = {item.source.name for item in scan.bound}
        more = [key for key in self.keys.keys[scan.table] if key.name not in known]
        bound = (*scan.bound, *(Bound(fresh(key.name, scan.columns), key) for key in more))
        changes = replace(scan, bound=bound, at=State.DELTA)
        return restricted_to(affected(Consolidate(changes), changes.columns), scan.columns)


def _hands_on(rel: Relation) -> bool:
    """Whether the rows of a query have the signs of its own input: a group would have to look them up."""
    match rel:
        case Filter() | Project() | Lateral():
            return _hands_on(rel.child)
        case _:
            return isinstance(rel, Scan | Join | UnionAll)


def _copies(held: ColumnSet | None, copied: dict[str, str]) -> ColumnSet | None:
    """The outputs that are copies of a column that holds the key."""
    return None if held is None else frozenset(name for name, source in copied.items() if source in held)


def _block(join: Join) -> JoinBlock:
    """Inner joins whose conditions are between their inputs; what is about one of them is in it."""
    better = pushed_down(join)
    assert isinstance(better, Join)
    return join_block(better)


def _equal_columns(block: JoinBlock) -> list[tuple[str, str]]:
    """The columns of inputs that stand for each other."""
    inputs = permutations(block.inputs, 2)
    return [
        pair for one, other in inputs for pair in identical_pairs(conjunction(block.conditions), one, other)
    ]
