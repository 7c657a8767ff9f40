"""Constructors that simplify: the empty relation disappears, trivial nodes are not built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    is_true,
    null_safe_match,
    same,
)
from viewkeeper.algebra.relations import (
    Affected,
    Bound,
    Filter,
    Join,
    JoinKind,
    Negate,
    Project,
    Relation,
    UnionAll,
    Values,
)
from viewkeeper.algebra.schema import UNKNOWN, Column


def empty(columns: Iterable[str]) -> Values:
    return Values(tuple(columns), ())


def is_empty(rel: Relation) -> bool:
    return isinstance(rel, Values) and not rel.rows


def bound_columns(names: Iterable[str], sources: Mapping[str, str] | None = None) -> tuple[Bound, ...]:
    """Columns of a stored relation whose types Spark alone knows; `sources` are their names in the store."""
    found = sources or {}
    return tuple(Bound(name, Column(found.get(name, name), UNKNOWN)) for name in names)


def filtered(rel: Relation, condition: Scalar) -> Relation:
    return rel if is_empty(rel) or is_true(condition) else Filter(rel, condition)


def projected(rel: Relation, outputs: Iterable[Named]) -> Relation:
    """A projection; none when it would keep every column as it is."""
    outputs = tuple(outputs)
    names = tuple(output.name for output in outputs)
    if is_empty(rel):
        return empty(names)
    if names == rel.columns and all(o.is_column and o.expr.name == o.name for o in outputs):
        return rel
    return Project(rel, outputs)


def restricted_to(rel: Relation, names: Iterable[str]) -> Relation:
    return projected(rel, same(names))


def renamed(rel: Relation, names: Mapping[str, str]) -> Relation:
    """`rel` with some columns under other names."""
    return projected(rel, (Named(names.get(old, old), column(old)) for old in rel.columns))


def named_like(rel: Relation, columns: tuple[str, ...]) -> Relation:
    """`rel` with its columns, by position, under these names."""
    return projected(rel, (Named(new, column(old)) for old, new in zip(rel.columns, columns, strict=True)))


def union_all(inputs: Iterable[Relation], columns: tuple[str, ...]) -> Relation:
    """A bag union without its empty inputs; inputs that are unions themselves are spliced in."""
    flat: list[Relation] = []
    for rel in inputs:
        if is_empty(rel):
            continue
        rel = named_like(rel, columns)
        flat.extend(rel.inputs if isinstance(rel, UnionAll) else (rel,))
    if not flat:
        return empty(columns)
    return flat[0] if len(flat) == 1 else UnionAll(tuple(flat))


def negated(rel: Relation) -> Relation:
    if is_empty(rel):
        return rel
    return rel.child if isinstance(rel, Negate) else Negate(rel)


def minus(left: Relation, right: Relation) -> Relation:
    """The difference of signed bags: counts subtract, also below zero."""
    return union_all((left, negated(right)), left.columns)


def joined(left: Relation, right: Relation, kind: JoinKind, on: Scalar) -> Relation:
    """A join; empty where an empty input makes it so."""
    if is_empty(left) and kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
        return empty(_join_columns(left, right, kind))
    if is_empty(right):
        if kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI):
            return empty(_join_columns(left, right, kind))
        if kind is JoinKind.ANTI:
            return left
    return Join(left, right, kind, on)


def _join_columns(left: Relation, right: Relation, kind: JoinKind) -> tuple[str, ...]:
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left.columns
    return (*left.columns, *right.columns)


def affected(delta: Relation, columns: Iterable[str]) -> Relation:
    columns = tuple(columns)
    return empty(columns) if is_empty(delta) else Affected(delta, columns)


def matching(rel: Relation, keys: Relation, pairs: Mapping[str, str] | None = None) -> Relation:
    """The rows of `rel` whose key is in `keys`, NULL matching NULL.

    `pairs` maps columns of `rel` to columns of `keys`; by default they have the same names.
    """
    pairs = pairs or {name: name for name in keys.columns}
    if is_empty(keys) or is_empty(rel):
        return empty(rel.columns)
    other = {name: fresh(f"{name}_k", rel.columns) for name in keys.columns}
    on = null_safe_match((mine, other[theirs]) for mine, theirs in pairs.items())
    return Join(rel, renamed(keys, other), JoinKind.SEMI, on)


def fresh(wish: str, taken: Iterable[str]) -> str:
    """A name like `wish` that is not taken, compared without regard to case."""
    low = {name.lower() for name in taken}
    name, number = wish, 2
    while name.lower() in low:
        name, number = f"{wish}{number}", number + 1
    return name


def apart(left: Relation, right: Relation) -> tuple[Relation, dict[str, str]]:
    """`right` renamed so that it shares no column with `left`, and the renaming used."""
    taken = list(left.columns) + list(right.columns)
    low = {name.lower() for name in left.columns}
    names: dict[str, str] = {}
    for name in right.columns:
        names[name] = fresh(f"{name}_r", taken) if name.lower() in low else name
        taken.append(names[name])
    return renamed(right, names), names
