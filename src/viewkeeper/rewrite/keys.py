"""The keys that a delta mentions, computed as cheaply as the delta's structure allows.

Keys only ever restrict where a rule looks, so a superset is as right as the exact set:

    keys(γ(N) − γ(N ⊎ −δ)) ⊆ keys(δ)         an aggregate's delta has the groups of its input's delta
    keys(L ⋉ K)            ⊆ K               what was restricted to K has keys in K

Without this, the groups that a nested aggregate affects would be found by computing the aggregates
inside it, twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from viewkeeper.algebra.build import affected, is_empty, projected, union_all
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.facts import expression_type
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    UnionAll,
    Window,
)
from viewkeeper.algebra.walk import children, nodes
from viewkeeper.rewrite.equalities import Equality, equalities, identical_pairs


def mentioned(delta: Relation, columns: Iterable[str]) -> Relation:
    """The values of some columns that a delta mentions, or more."""
    columns = tuple(columns)
    if is_empty(delta):
        return affected(delta, columns)
    match delta:
        case Negate() | Consolidate() | Distinct() | Affected():
            return mentioned(delta.child, columns)
        case UnionAll():
            return _of_all(delta, columns)
        case Project():
            return _of_sources(delta.child, columns, sources(delta.outputs)) or affected(delta, columns)
        case _:
            exact, bound = affected(delta, columns), _bound(delta, columns)
            return bound if bound is not None and _is_cheaper(bound, exact) else exact


def without_renaming(keys: Relation) -> tuple[Relation, dict[str, str]]:
    """Keys under their own names, and which of these each name stands for.

    Equal sets of keys are equal plans then, whatever the rules that ask for them call the columns.
    """
    names = {name: name for name in keys.columns}
    while isinstance(keys, Project) and all(output.is_column for output in keys.outputs):
        inner = sources(keys.outputs)
        names = {name: inner[own] for name, own in names.items()}
        keys = keys.child
    return keys, names


def exactly(keys: Relation, columns: Iterable[str]) -> tuple[Relation, dict[str, str]]:
    """Some columns of given keys, and no more than these: whoever gave them may rely on it.

    The result has its own names; the second part says which of them each column stands for.
    """
    own, names = without_renaming(keys)
    wanted = tuple(dict.fromkeys(names[name] for name in columns))
    if isinstance(own, Affected):
        return (own if own.columns == wanted else Affected(own.child, wanted)), names
    return Affected(own, wanted), names


def _bound(rel: Relation, columns: tuple[str, ...]) -> Relation | None:
    """A set that holds all values of the columns, from further down; none where nothing is known."""
    match rel:
        case Filter():
            return mentioned(rel.child, columns)
        case Aggregate():
            return _of_sources(rel.child, columns, sources(rel.keys))
        case Window() if set(columns) <= set(rel.child.columns):
            return mentioned(rel.child, columns)
        case Join():
            return _of_join(rel, columns)
        case _:
            return None


def sources(items: Iterable[Named]) -> dict[str, str]:
    """The columns that outputs are copies of."""
    return {item.name: item.expr.name for item in items if item.is_column}


def _of_sources(child: Relation, columns: tuple[str, ...], copied: Mapping[str, str]) -> Relation | None:
    """The keys of the columns that these are copies of."""
    wanted = tuple(copied[name] for name in columns if name in copied)
    if len(wanted) < len(columns) or len(set(wanted)) < len(wanted):
        return None
    return _named(mentioned(child, wanted), columns)


def _named(keys: Relation, columns: tuple[str, ...]) -> Relation:
    """The keys under these names, in one renaming."""
    own, names = without_renaming(keys)
    outputs = zip(columns, keys.columns, strict=True)
    return projected(own, (Named(name, column(names[before])) for name, before in outputs))


def _of_all(union: UnionAll, columns: tuple[str, ...]) -> Relation:
    places = [union.columns.index(name) for name in columns]
    found = (mentioned(child, (child.columns[place] for place in places)) for child in union.inputs)
    parts = dict.fromkeys(_named(part, columns) for part in found)
    return next(iter(parts)) if len(parts) == 1 else Affected(union_all(parts, columns), columns)


def _of_join(join: Join, columns: tuple[str, ...]) -> Relation | None:
    """Keys of one side, or those that a semi-join restricts it to."""
    if join.kind in (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT):
        if set(columns) <= set(join.left.columns):
            partners = _of_partners(join, columns) if join.kind is JoinKind.SEMI else None
            return partners or mentioned(join.left, columns)
    if join.kind in (JoinKind.INNER, JoinKind.RIGHT) and set(columns) <= set(join.right.columns):
        return mentioned(join.right, columns)
    return None


def _of_partners(join: Join, columns: tuple[str, ...]) -> Relation | None:
    pairs = identical_pairs(join.on, join.left, join.right)
    found = equalities(join.on, join.left.columns, join.right.columns)
    doubtful = {e.left.name for e in found if _is_doubtful(join, e)}
    partner = {mine: theirs for mine, theirs in pairs if mine not in doubtful}
    return _of_sources(join.right, columns, partner)


def _is_doubtful(join: Join, by: Equality) -> bool:
    """Whether one type of a user's `=` is known and the other is not: they may be different ones. The engine
    names rows by IDs NULL-safely, and these are of one type."""
    types = expression_type(join.left, by.left), expression_type(join.right, by.right)
    return not by.null_safe and (types[0] is None) != (types[1] is None)


def _is_cheaper(bound: Relation, exact: Relation) -> bool:
    return _is_driven(bound) and _weight(bound) < _weight(exact)


def _is_driven(rel: Relation) -> bool:
    """Whether a set of keys is as small as some delta: the keys of a whole table bound nothing.

    What a plan refers to by name is a result of the same refresh, made of changes.
    """
    match rel:
        case Scan():
            return rel.at is State.DELTA
        case Reference():
            return True
        case Join(kind=JoinKind.INNER | JoinKind.SEMI):
            return _is_driven(rel.left) or _is_driven(rel.right)
        case Join():
            return _is_driven(rel.left)
        case _:
            below = children(rel)
            return bool(below) and all(_is_driven(child) for child in below)


def _weight(rel: Relation) -> int:
    """How much must be computed: what is more than reading changes."""
    return sum(not _is_light(node) for node in nodes(rel))


def _is_light(node: Relation) -> bool:
    if isinstance(node, Scan):
        return node.at is State.DELTA
    return isinstance(node, (Affected, Project, Filter, UnionAll, Negate, Consolidate))
