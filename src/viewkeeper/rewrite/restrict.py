"""Reading only what a delta affects: semi-joins with few keys, pushed down to the scans.

    restrict(Q, K) = Q ⋉ K          with the semi-join as deep in Q as it means the same

quass96 4.3: "we can push the join with π_A(δR) down past the aggregate operator to reduce the
number of tuples involved". Keys match NULL-safely, for they are group keys and whole rows. What
cannot be pushed stays as a semi-join where it got stuck, which is never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from viewkeeper.algebra.build import empty, fresh, is_empty, projected, renamed
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    replace_columns,
    same_or_both_null,
)
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Expand,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    JoinKind,
    Lateral,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.walk import children, with_children
from viewkeeper.rewrite.equalities import Equality, equalities, identities, through
from viewkeeper.rewrite.keys import exactly, mentioned
from viewkeeper.rewrite.pushdown import pushed_down

Pair: TypeAlias = tuple[Scalar, str]
"""An expression over the restricted relation, and the key column that it must match."""

Pairs: TypeAlias = tuple[Pair, ...]


def restrict(rel: Relation, keys: Relation, pairs: Mapping[str, str] | None = None) -> Relation:
    """The rows of `rel` whose key is in `keys`, NULL matching NULL.

    `pairs` maps columns of `rel` to columns of `keys`; by default they have the same names.
    """
    names = {name: name for name in keys.columns} if pairs is None else pairs
    return restrict_by(rel, keys, tuple((column(mine), theirs) for mine, theirs in names.items()))


def restrict_by(rel: Relation, keys: Relation, pairs: Pairs) -> Relation:
    """The rows of `rel` for which every expression matches its key column in one row of `keys`."""
    if is_empty(rel) or is_empty(keys):
        return empty(rel.columns)
    return _pushed(rel, keys, pairs) if pairs else rel


def partners_of_left(right: Relation, left: Relation, on: Scalar, *, also_scans: bool = False) -> Relation:
    """The rows of `right` that some row of the few in `left` may join with.

    An inner join finds them in a scan by itself: its small side is broadcast. A semi join builds
    its right side, however large, so that there scans are restricted too.
    """
    found = equalities(on, left.columns, right.columns)
    if not also_scans and _reads_one_scan(right):
        return right
    return _partners(right, left, tuple((e.right, e.left) for e in found))


def partners_of_right(left: Relation, right: Relation, on: Scalar) -> Relation:
    """The rows of `left` that some row of the few in `right` may join with."""
    found = equalities(on, left.columns, right.columns)
    if _reads_one_scan(left):
        return left
    return _partners(left, right, tuple((e.left, e.right) for e in found))


def _partners(rel: Relation, few: Relation, equal: tuple[tuple[Scalar, Scalar], ...]) -> Relation:
    if not equal or is_empty(few):
        return rel
    names = [f"k{number}" for number, _ in enumerate(equal, start=1)]
    keys = projected(few, (Named(name, theirs) for name, (_, theirs) in zip(names, equal, strict=True)))
    pairs = tuple((mine, name) for name, (mine, _) in zip(names, equal, strict=True))
    return restrict_by(rel, mentioned(keys, names), pairs)


def _reads_one_scan(rel: Relation) -> bool:
    while isinstance(rel, (Filter, Project, Negate)):
        rel = rel.child
    return isinstance(rel, (Scan, Reference, Values))


def _pushed(rel: Relation, keys: Relation, pairs: Pairs) -> Relation:
    match rel:
        case Scan() | Reference() | Values() | Fixpoint() | TopK() | Expand():
            return _semi_join(rel, keys, pairs)
        case Filter() if (better := pushed_down(rel)) != rel:
            return _pushed(better, keys, pairs)
        case Filter() | Negate() | Consolidate() | Distinct() | Affected():
            return with_children(rel, (_pushed(rel.child, keys, pairs),))
        case UnionAll() | Difference() | Intersection():
            inputs = (_by_position(child, rel.columns, keys, pairs) for child in children(rel))
            return with_children(rel, tuple(inputs))
        case Project():
            meaning = {output.name: output.expr for output in rel.outputs}
            return with_children(rel, (_pushed(rel.child, keys, _replaced(pairs, meaning)),))
        case Aggregate():
            groups = {key.name: key.expr for key in rel.keys}
            return _below(rel, keys, pairs, set(groups), groups)
        case Window():
            return _below(rel, keys, pairs, set(rel.partition), {})
        case Lateral():
            return _below(rel, keys, pairs, set(rel.child.columns), {})
        case Join():
            return _restrict_join(rel, keys, pairs)
        case _:
            assert_never(rel)


def _semi_join(rel: Relation, keys: Relation, pairs: Pairs) -> Relation:
    own, names = exactly(keys, (theirs for _, theirs in pairs))
    other = {name: fresh(f"{name}_k", rel.columns) for name in own.columns}
    on = conjunction(same_or_both_null(mine, column(other[names[theirs]])) for mine, theirs in pairs)
    return Join(rel, renamed(own, other), JoinKind.SEMI, on)


def _below(
    rel: Aggregate | Window | Lateral,
    keys: Relation,
    pairs: Pairs,
    transparent: set[str],
    meaning: Mapping[str, Scalar],
) -> Relation:
    """Pushes the pairs over transparent columns below `rel`; the other pairs hold it on top as well.

    A pair over no column at all is not pushed: below no group-by column, no row is not no group.
    """
    low = tuple((e, k) for e, k in pairs if columns_of(e) and columns_of(e) <= transparent)
    if not low:
        return _semi_join(rel, keys, pairs)
    inner = with_children(rel, (_pushed(rel.child, keys, _replaced(low, meaning)),))
    return inner if len(low) == len(pairs) else _semi_join(inner, keys, pairs)


def _by_position(child: Relation, names: tuple[str, ...], keys: Relation, pairs: Pairs) -> Relation:
    meaning = {name: column(own) for name, own in zip(names, child.columns, strict=True)}
    return _pushed(child, keys, _replaced(pairs, meaning))


def _replaced(pairs: Pairs, meaning: Mapping[str, Scalar]) -> Pairs:
    return tuple((replace_columns(mine, meaning), theirs) for mine, theirs in pairs)


def _restrict_join(join: Join, keys: Relation, pairs: Pairs) -> Relation:
    """Restricts the sides that own key columns, and through equalities their partners.

    A side may be restricted where the join makes a row only of rows that this side still holds:
    an outer join would pad the rows whose partners had been restricted away.
    """
    found = identities(join.on, join.left, join.right)
    if join.kind is JoinKind.FULL:
        return _restrict_full(join, found, keys, pairs)
    left = _owned(pairs, join.left.columns) if join.kind is not JoinKind.RIGHT else ()
    right = _owned(pairs, join.right.columns) if join.kind in (JoinKind.INNER, JoinKind.RIGHT) else ()
    to_left = (*left, *through(found, right, to_right=False))
    to_right = (*right, *through(found, left, to_right=True))
    inner = with_children(join, (_if_any(join.left, keys, to_left), _if_any(join.right, keys, to_right)))
    return inner if len(pairs) in (len(left), len(right)) else _semi_join(inner, keys, pairs)


def _restrict_full(join: Join, found: tuple[Equality, ...], keys: Relation, pairs: Pairs) -> Relation:
    """FULL JOIN USING shows `coalesce(l, r)` of equal columns: a row of either side has that key."""
    sides = {e.coalesced: e for e in found} | {e.coalesced_back: e for e in found}
    if not all(mine.unnest() in sides for mine, _ in pairs):
        return _semi_join(join, keys, pairs)
    to_left = tuple((sides[mine.unnest()].left, theirs) for mine, theirs in pairs)
    to_right = tuple((sides[mine.unnest()].right, theirs) for mine, theirs in pairs)
    return with_children(join, (_pushed(join.left, keys, to_left), _pushed(join.right, keys, to_right)))


def _owned(pairs: Pairs, columns: tuple[str, ...]) -> Pairs:
    return tuple(pair for pair in pairs if columns_of(pair[0]) and columns_of(pair[0]) <= set(columns))


def _if_any(rel: Relation, keys: Relation, pairs: Pairs) -> Relation:
    return _pushed(rel, keys, pairs) if pairs else rel
