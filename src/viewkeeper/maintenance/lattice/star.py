"""Finding the fact table and its dimensions in a set of joined tables: mumick97 sections 2 and 3.3.

A table D is a dimension of T where columns of T are equated with the whole primary key of D, so that
a row of T meets at most one row of D. The fact table is the one from which all others are reached.
Where the foreign key is declared and NOT NULL, every row meets exactly one: the join is lossless.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, rename_columns
from viewkeeper.algebra.relations import Scan
from viewkeeper.algebra.schema import ForeignKey, TableSchema
from viewkeeper.algebra.zeros import holds_floats
from viewkeeper.maintenance.lattice.cube_view import Dimension
from viewkeeper.maintenance.refused import Refused


@dataclass(frozen=True)
class Occurrence:
    """One scan in the FROM clause; its columns have internal names until their path is known."""

    number: int
    schema: TableSchema
    scan: Scan

    def internal(self, name: str) -> str:
        return f"{self.number}.{name}"


@dataclass(frozen=True)
class KeyReference:
    """`columns` of an occurrence that equal the key of another one."""

    columns: tuple[str, ...]
    declared: bool


@dataclass(frozen=True)
class Star:
    """The fact table, its dimensions (what refers comes first), and the canonical name of every column."""

    fact: TableSchema
    counted: bool
    dimensions: tuple[Dimension, ...]
    names: dict[str, str]

    def canonical(self, expr: Scalar) -> Scalar:
        return rename_columns(expr, self.names)

    def is_join_condition(self, condition: Scalar) -> bool:
        """Whether a condition says only what the joins along foreign keys say."""
        pair = _equated(condition)
        if pair is None:
            return False
        left, right = self.names[pair[0]], self.names[pair[1]]
        foreign = {name for dimension in self.dimensions for name in dimension.foreign}
        joins = {frozenset(on) for dimension in self.dimensions for on in dimension.on}
        return (left == right and left in foreign) or frozenset((left, right)) in joins


def star(occurrences: list[Occurrence], conditions: Iterable[Scalar]) -> Star:
    """The star or snowflake that the occurrences form; declared foreign keys are preferred."""
    equal = _classes(conditions)
    best: tuple[int, Star] | None = None
    for fact in occurrences:
        grown = _grow(fact, occurrences, equal)
        if grown is not None and (best is None or grown[0] > best[0]):
            best = grown
    if best is None:
        tables = ", ".join(o.schema.name for o in occurrences)
        raise Refused(
            "not-a-star", f"its tables ({tables}) are not all joined along foreign keys to primary keys"
        )
    return best[1]


def _grow(fact: Occurrence, occurrences: list[Occurrence], equal: dict[str, int]) -> tuple[int, Star] | None:
    names = {fact.internal(c.name): c.name for c in fact.schema.columns}
    reached, waiting = [fact], [o for o in occurrences if o is not fact]
    dimensions: list[Dimension] = []
    declared = 0
    while waiting:
        steps = [(a, d, found) for a in reached for d in waiting if (found := _refers(a, d, equal))]
        if not steps:
            return None
        parent, target, found = min(steps, key=lambda step: not step[2].declared)
        dimension = _dimension(parent, target, found, names)
        dimensions.append(dimension)
        names.update(_names(target, parent, found, dimension, names))
        reached.append(target)
        waiting.remove(target)
        declared += found.declared
    return declared, Star(fact.schema, fact.scan.counted, tuple(dimensions), names)


def _dimension(
    parent: Occurrence, target: Occurrence, found: KeyReference, names: dict[str, str]
) -> Dimension:
    foreign = tuple(names[parent.internal(name)] for name in found.columns)
    required = all(not parent.schema.column(name).nullable for name in found.columns)
    lossless = found.declared and required
    return Dimension(target.schema, foreign, _key(target.schema), lossless, target.scan.counted)


def _names(
    target: Occurrence, parent: Occurrence, found: KeyReference, dimension: Dimension, names: dict[str, str]
) -> dict[str, str]:
    """Canonical names of a dimension's columns; its key is called as the foreign key of the same type. Floats
    are not: where they are equal, their zeros may have other signs."""
    result = {target.internal(c.name): dimension.attribute(c.name) for c in target.schema.columns}
    for foreign, key in zip(found.columns, dimension.key, strict=True):
        kind = target.schema.column(key).type
        if parent.schema.column(foreign).type == kind and not holds_floats(kind):
            result[target.internal(key)] = names[parent.internal(foreign)]
    return result


def _refers(parent: Occurrence, target: Occurrence, equal: dict[str, int]) -> KeyReference | None:
    key = _key(target.schema)
    if not key or any(target.internal(name) not in equal for name in key):
        return None
    for foreign_key in parent.schema.foreign_keys:
        columns = _declared(foreign_key, target.schema, parent.schema)
        if columns and all(
            equal.get(parent.internal(mine)) == equal[target.internal(theirs)]
            for mine, theirs in zip(columns, key, strict=True)
        ):
            return KeyReference(columns, declared=True)
    found = [_equal_column(parent, equal, equal[target.internal(name)]) for name in key]
    columns = tuple(name for name in found if name is not None)
    return KeyReference(columns, declared=False) if len(columns) == len(key) else None


def _declared(foreign_key: ForeignKey, target: TableSchema, parent: TableSchema) -> tuple[str, ...] | None:
    """The columns of a declared foreign key, in the order of the key that it refers to."""
    if foreign_key.table.lower() != target.name.lower():
        return None
    referenced = foreign_key.referenced or target.key
    pairs = {theirs.lower(): mine for mine, theirs in zip(foreign_key.columns, referenced, strict=True)}
    if set(pairs) != {name.lower() for name in target.key}:
        return None
    return tuple(parent.column(pairs[name.lower()]).name for name in target.key)


def _equal_column(parent: Occurrence, equal: dict[str, int], group: int) -> str | None:
    names = (c.name for c in parent.schema.columns if equal.get(parent.internal(c.name)) == group)
    return next(names, None)


def _key(schema: TableSchema) -> tuple[str, ...]:
    return tuple(schema.column(name).name for name in schema.key)


def _classes(conditions: Iterable[Scalar]) -> dict[str, int]:
    """Columns that the conditions make equal have the same number."""
    number: dict[str, int] = {}
    for condition in conditions:
        pair = _equated(condition)
        if pair is None:
            continue
        ours = [number.setdefault(name, len(number)) for name in pair]
        number = {name: ours[0] if group == ours[1] else group for name, group in number.items()}
    return number


def _equated(condition: Scalar) -> tuple[str, str] | None:
    inner = condition.unnest()
    if not isinstance(inner, exp.EQ):
        return None
    left, right = inner.left.unnest(), inner.right.unnest()
    if isinstance(left, exp.Column) and isinstance(right, exp.Column):
        return left.name, right.name
    return None
