"""Few keys that are known become literals: a large relation gets an IN-list where it is read.

    L ⋈_x=k K            =   σ_x∈π_k(K)(L) ⋈ K
    L ⋉_x=k K            =   σ_x∈π_k(K)(L)             by one column; by more, the join stays
    L ⟕_x=k δ(π_k(K))    =   π_*,(x where x ∈ K) as k(L)
    L ⋈_x=k (K ⋈ M)      =   σ_x∈π_k(K)(L) ⋈ (K ⋈ M)   k of K ⋈ M has no other values than k of K

Rows that no key names are gone before anything is joined, hashed or sent, and a lookup in one relation is a
scan and nothing else. Only columns of the same type are compared so: literals would be cast in other ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from sqlglot import exp

from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    literal,
    or_,
    same,
)
from viewkeeper.algebra.facts import column_type
from viewkeeper.algebra.relations import Distinct, Filter, Join, JoinKind, Project, Relation, UnionAll
from viewkeeper.algebra.walk import nodes, rewrite
from viewkeeper.planning.physical.keys import NUMBERS, Keys, Value
from viewkeeper.planning.physical.plan import Facts, Physical, leaves
from viewkeeper.rewrite.equalities import Equality, column_equalities

Known = Callable[[Relation, str], Keys | None]
"""The keys in a column of a relation, where they are known and few."""

IsLarge = Callable[[Relation], bool]
"""Whether it is worth an IN-list to read a relation."""


def in_lists(physical: Physical, facts: Facts) -> Physical:
    """The plan, its large inputs restricted to the keys that the driver knows."""
    plan, values = physical.result.plan, facts.values
    if max(map(facts.rows, leaves(plan)), default=0) <= facts.limits.worth_in_list or not values.any:
        return physical

    def is_large(rel: Relation) -> bool:
        rows = sum(map(facts.rows, leaves(rel)))
        return rows > facts.limits.worth_in_list and not values.knows(rel)

    listed = set(physical.in_lists)
    restricted = with_known_keys(plan, values.keys, is_large, listed, through_joins=True)
    return replace(physical.with_result(restricted), in_lists=frozenset(listed))


def with_known_keys(
    plan: Relation, known: Known, is_large: IsLarge, listed: set[Relation], through_joins: bool = False
) -> Relation:
    """The plan, its large inputs restricted to the keys that are known.

    Its counts are explicit, or none is negative: a semi-join looks at what is left when rows cancel. A filter
    by known keys is put into `listed` when it is made: more may be known above it. `through_joins`: keys of a
    relation are also looked for where a join meets what it was joined with before.
    """
    return rewrite(plan, _InLists(known, is_large, listed, through_joins).node)


@dataclass
class _InLists:
    """One plan on its way; `marks` are columns that say which rows have a known key."""

    known: Known
    is_large: IsLarge
    listed: set[Relation]
    through_joins: bool
    marks: set[str] = field(default_factory=set)

    def node(self, node: Relation) -> Relation:
        """A node whose inputs are done."""
        match node:
            case Join(kind=JoinKind.INNER):
                known = self._at_most if self.through_joins else self.known
                left = self._restricted(node.left, node.right, _equalities(node), known)
                right = self._restricted(node.right, node.left, _turned(node), known)
                return replace(node, left=left, right=right)
            case Join(kind=JoinKind.SEMI):
                left = self._restricted(node.left, node.right, _equalities(node), self.known)
                is_said = left is not node.left and left in self.listed and _is_by_one_column(node)
                return left if is_said else replace(node, left=left)
            case Join(kind=JoinKind.LEFT) if self.is_large(node.left):
                marked = _marked(node, self.known)
                self.marks.update(() if marked is node else node.right.columns)
                return marked
            case Filter() if not columns_of(node.condition).isdisjoint(self.marks):
                self.listed.add(node)
        return node

    def _restricted(self, large: Relation, small: Relation, by: Iterable[Equality], known: Known) -> Relation:
        if not self.is_large(large) or not self.listed.isdisjoint(nodes(large)):
            return large
        found = [(e.left.name, _comparable(large, e, known(small, e.right.name))) for e in by]
        keys = {name: keys for name, keys in found if keys is not None}
        return self._chosen(large, keys) if keys else large

    def _at_most(self, rel: Relation, name: str) -> Keys | None:
        """Keys among which are all that a column has; a join may have left some of them out."""
        found = self.known(rel, name)
        if found is not None:
            return found
        match rel:
            case Project():
                output = next(one for one in rel.outputs if one.name == name)
                return self._at_most(rel.child, output.expr.name) if output.is_column else None
            case Filter():
                return self._at_most(rel.child, name)
            case Join(kind=JoinKind.INNER):
                return self._at_most(rel.left if name in rel.left.columns else rel.right, name)
            case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
                return self._at_most(rel.left, name)
            case _:
                return None

    def _chosen(self, rel: Relation, keys: Mapping[str, Keys]) -> Relation:
        """The rows that have these keys; of pieces that are put together, those of each large one."""
        match rel:
            case Project() if isinstance(rel.child, UnionAll):
                below = {output.name: output.expr.name for output in rel.outputs if output.is_column}
                return replace(rel, child=self._chosen(rel.child, {below[name]: keys[name] for name in keys}))
            case UnionAll():
                pieces = (self._piece(piece, rel.columns, keys) for piece in rel.inputs)
                return replace(rel, inputs=tuple(pieces))
            case Join(kind=JoinKind.ANTI):
                return replace(rel, left=self._chosen(rel.left, keys))
            case _:
                found = Filter(rel, conjunction(is_among(name, known) for name, known in keys.items()))
                self.listed.add(found)
                return found

    def _piece(self, piece: Relation, columns: tuple[str, ...], keys: Mapping[str, Keys]) -> Relation:
        own = dict(zip(columns, piece.columns, strict=True))
        mine = {own[name]: keys[name] for name in keys}
        return self._chosen(piece, mine) if self.is_large(piece) else piece


def _equalities(join: Join) -> tuple[Equality, ...]:
    return column_equalities(join.on, join.left.columns, join.right.columns)


def _turned(join: Join) -> tuple[Equality, ...]:
    return tuple(replace(e, left=e.right, right=e.left) for e in _equalities(join))


def _is_by_one_column(join: Join) -> bool:
    return len(_equalities(join)) == len(list(conjuncts(join.on))) == 1


def _marked(join: Join, known: Known) -> Relation:
    """A left join with a set of keys just says of each row whether its key is one of them."""
    if not isinstance(join.right, Distinct) or len(join.right.columns) != 1 or not _is_by_one_column(join):
        return join
    [by], [mark] = _equalities(join), join.right.columns
    keys = _comparable(join.left, by, known(join.right, mark))
    if by.null_safe or keys is None:
        return join
    found = exp.Case(ifs=[exp.If(this=is_among(by.left.name, keys), true=by.left)])
    return Project(join.left, (*same(join.left.columns), Named(mark, found)))


def _comparable(rel: Relation, by: Equality, keys: Keys | None) -> Keys | None:
    """The keys that some row of a relation may meet, where they are of the type of its column."""
    if keys is None or column_type(rel, by.left.name) != keys.type:
        return None
    return keys if by.null_safe else replace(keys, has_null=False)


def is_among(name: str, keys: Keys) -> Scalar:
    """Whether a column has one of some values, NULL being one of them if `keys` say so."""
    is_null = exp.Is(this=column(name), expression=exp.null())
    if not keys.values:
        return is_null if keys.has_null else exp.false()
    among = exp.In(this=column(name), expressions=_listed(keys))
    return exp.paren(or_(among, is_null), copy=False) if keys.has_null else among


def _listed(keys: Keys) -> list[Scalar]:
    """A thousand numbers are one text: as expressions they would be copied and walked through each time."""
    if keys.type in NUMBERS:
        return [exp.Var(this=", ".join(str(value) for value in keys.values))]
    return [_written(value) for value in keys.values]


def _written(value: Value) -> Scalar:
    return exp.cast(literal(value.isoformat()), "date") if isinstance(value, date) else literal(value)
