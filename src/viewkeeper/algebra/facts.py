"""What can be said of every value of a plan: keys, functional dependencies, linearity.

A key is a set of columns of which no two rows agree; the empty key means at most one row. All facts
are sound, none is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.clock import is_clock
from viewkeeper.algebra.expressions import Named, Scalar, conjuncts
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
    State,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import UNKNOWN, TableSchema
from viewkeeper.algebra.walk import nodes

Schemas = Mapping[str, TableSchema]
Names = frozenset[str]
_MOST_KEYS = 16


@dataclass(frozen=True)
class Dependency:
    """Rows that agree on `of` agree on `on`."""

    of: Names
    on: str


class _Facts:
    """Facts of many nodes over the same tables, each derived once."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas
        self._keys: dict[Relation, frozenset[Names]] = {}
        self._dependencies: dict[Relation, frozenset[Dependency]] = {}

    def keys(self, rel: Relation) -> frozenset[Names]:
        if rel not in self._keys:
            dependencies = self.dependencies(rel)
            reduced = {_reduced(key, dependencies) for key in _keys(rel, self)}
            self._keys[rel] = frozenset(k for k in reduced if not any(other < k for other in reduced))
        return self._keys[rel]

    def dependencies(self, rel: Relation) -> frozenset[Dependency]:
        if rel not in self._dependencies:
            own = {
                Dependency(key, name) for key in _keys(rel, self) for name in rel.columns if name not in key
            }
            self._dependencies[rel] = frozenset(own | _inherited(rel, self))
        return self._dependencies[rel]

    def determines(self, rel: Relation, names: Iterable[str]) -> bool:
        reach = closure(frozenset(names), self.dependencies(rel))
        return any(key <= reach for key in self.keys(rel))


def determines(rel: Relation, names: Iterable[str], schemas: Schemas) -> bool:
    """Whether no two rows of the plan agree on these columns."""
    return _Facts(schemas).determines(rel, names)


def closure(names: Names, dependencies: Iterable[Dependency]) -> Names:
    """Everything that the names determine."""
    known, pending = set(names), list(dependencies)
    grew = True
    while grew:
        grew = False
        for dependency in pending:
            if dependency.on not in known and dependency.of <= known:
                known.add(dependency.on)
                grew = True
    return frozenset(known)


def _reduced(key: Names, dependencies: frozenset[Dependency]) -> Names:
    for name in sorted(key):
        smaller = key - {name}
        if name in closure(smaller, dependencies):
            key = smaller
    return key


def _keys(rel: Relation, facts: _Facts) -> frozenset[Names]:
    everything = frozenset(rel.columns)
    match rel:
        case Scan():
            return _scan_keys(rel, facts)
        case Values():
            return frozenset([frozenset()]) if len(rel.rows) <= 1 else frozenset()
        case Filter() | Consolidate() | Negate():
            return facts.keys(rel.child)
        case Project():
            return frozenset(k for key in facts.keys(rel.child) for k in _renamed(key, rel.outputs))
        case Join():
            return _join_keys(rel, facts)
        case Aggregate():
            return frozenset([frozenset(rel.key_names)])
        case Distinct() | Affected():
            inner = facts.keys(rel.child) if isinstance(rel, Distinct) else frozenset()
            return inner | {everything}
        case Difference() | Intersection():
            return facts.keys(rel.left) | (frozenset() if rel.all else {everything})
        case Window():
            return facts.keys(rel.child) | _row_numbers(rel)
        case TopK():
            return frozenset([frozenset()]) if rel.limit <= 1 else facts.keys(rel.child)
        case Fixpoint():
            return frozenset([everything]) if rel.distinct else frozenset()
        case Reference() | UnionAll() | Lateral() | Expand():
            return frozenset()
        case _:
            assert_never(rel)


def _scan_keys(scan: Scan, facts: _Facts) -> frozenset[Names]:
    schema = facts.schemas.get(scan.table)
    if is_clock(scan.table) and scan.at is not State.DELTA:
        return frozenset([frozenset()])
    if schema is None or not schema.key:
        return frozenset()
    bound = {b.source.name.lower(): b.name for b in scan.bound}
    names = [bound.get(name.lower()) for name in schema.key]
    return frozenset() if None in names else frozenset([frozenset(n for n in names if n)])


def _row_numbers(rel: Window) -> frozenset[Names]:
    """A row number tells the rows of its partition apart."""
    numbers = [n.name for n in rel.functions if isinstance(n.expr.this, exp.RowNumber)]
    return frozenset(frozenset((*rel.partition, number)) for number in numbers)


def _renamed(key: Names, outputs: tuple[Named, ...]) -> Iterable[Names]:
    """The key under the names of a projection; none when the projection drops a part of it."""
    new = {output.expr.name: output.name for output in reversed(outputs) if output.is_column}
    if key <= new.keys():
        yield frozenset(new[name] for name in key)


def _join_keys(join: Join, facts: _Facts) -> frozenset[Names]:
    left = facts.keys(join.left)
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    right = facts.keys(join.right)
    result = {a | b for a in left for b in right}
    if join.kind in (JoinKind.INNER, JoinKind.LEFT) and _matches_once(join, join.right, facts):
        result |= left
    if join.kind in (JoinKind.INNER, JoinKind.RIGHT) and _matches_once(join, join.left, facts):
        result |= right
    if join.kind is not JoinKind.INNER:
        result = {key for key in result if key or len(result) == 1}
        result -= {frozenset()} if not _single(join, left, right) else set()
    return frozenset(sorted(result, key=len)[:_MOST_KEYS])


def _single(join: Join, left: frozenset[Names], right: frozenset[Names]) -> bool:
    """Whether an outer join of single rows is a single row."""
    both = frozenset() in left and frozenset() in right
    return both and join.kind is not JoinKind.FULL


def _matches_once(join: Join, side: Relation, facts: _Facts) -> bool:
    """Whether each row of the other side meets at most one row of this side."""
    fixed = _equated(join, frozenset(side.columns))
    return facts.determines(side, fixed)


def _equated(join: Join, mine: Names) -> Names:
    """The columns of one side that the condition makes equal to something of the other, or constant."""
    found = set()
    for part in conjuncts(join.on):
        if isinstance(part, (exp.EQ, exp.NullSafeEQ)) and not of_other_types(
            join, part.left, join, part.right
        ):
            for one, other in ((part.left, part.right), (part.right, part.left)):
                inside = {c.name for c in other.find_all(exp.Column)} & mine
                if isinstance(one, exp.Column) and one.name in mine and not inside:
                    found.add(one.name)
    return frozenset(found)


def _inherited(rel: Relation, facts: _Facts) -> set[Dependency]:
    match rel:
        case Filter():
            return {*facts.dependencies(rel.child), *_equalities(rel.child, rel.condition)}
        case Join(kind=JoinKind.INNER):
            left = facts.dependencies(rel.left)
            return {*left, *facts.dependencies(rel.right), *_equalities(rel, rel.on)}
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI):
            return set(facts.dependencies(rel.left))
        case Project():
            return _projected(facts.dependencies(rel.child), rel.outputs)
        case Window() | TopK() | Distinct() | Lateral() | Negate() | Consolidate():
            return set(facts.dependencies(rel.child))
        case _:
            return set()


def _equalities(rel: Relation, condition: Scalar) -> Iterable[Dependency]:
    """`a = 3` makes a constant; `a = b` makes each determine the other, if they are of one type."""
    for part in conjuncts(condition):
        if isinstance(part, (exp.EQ, exp.NullSafeEQ)) and not of_other_types(rel, part.left, rel, part.right):
            for one, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(one, exp.Column) and isinstance(other, (exp.Literal, exp.Boolean)):
                    yield Dependency(frozenset(), one.name)
                if isinstance(one, exp.Column) and isinstance(other, exp.Column):
                    yield Dependency(frozenset([one.name]), other.name)


def _projected(dependencies: Iterable[Dependency], outputs: tuple[Named, ...]) -> set[Dependency]:
    new = {output.expr.name: output.name for output in reversed(outputs) if output.is_column}
    kept = {
        Dependency(frozenset(new[n] for n in d.of), new[d.on])
        for d in dependencies
        if d.of <= new.keys() and d.on in new
    }
    for output in outputs:
        used = {c.name for c in output.expr.find_all(exp.Column)}
        if used <= new.keys():
            of = frozenset(new[name] for name in used)
            kept |= {Dependency(of, output.name)} if output.name not in of else set()
    return kept


def of_other_types(left: Relation, one: Scalar, right: Relation, other: Scalar) -> bool:
    """Whether two expressions are known to be of different types: where they are equal, neither stands for
    the other, for '1' and '01' both equal 1."""
    mine, theirs = expression_type(left, one), expression_type(right, other)
    return mine is not None and theirs is not None and mine != theirs


def expression_type(rel: Relation, expr: Scalar) -> str | None:
    """The type of an expression over a relation, as far as it shows."""
    expr = expr.unnest()
    match expr:
        case exp.Column():
            return column_type(rel, expr.name)
        case exp.Count():
            return "bigint"
        case exp.Cast():
            return expr.to.sql(dialect="spark").lower()
        case exp.Literal(is_string=True):
            return "string"
        case _:
            return None


def column_type(rel: Relation, name: str) -> str | None:
    """The type of a column that is copied from a stored relation; None where that is not known."""
    match rel:
        case Scan():
            found = next(one.source.type for one in rel.bound if one.name == name)
            return None if found == UNKNOWN else found
        case Project():
            output = next(one for one in rel.outputs if one.name == name)
            return column_type(rel.child, output.expr.name) if output.is_column else None
        case Aggregate():
            group = next((one for one in rel.keys if one.name == name and one.is_column), None)
            return None if group is None else column_type(rel.child, group.expr.name)
        case Filter() | Negate() | Consolidate() | Distinct() | Affected() | TopK() | Expand():
            return column_type(rel.child, name)
        case Lateral() | Window():
            return column_type(rel.child, name) if name in rel.child.columns else None
        case Join():
            return column_type(rel.left if name in rel.left.columns else rel.right, name)
        case UnionAll():
            place = rel.columns.index(name)
            [kind, *others] = {column_type(each, each.columns[place]) for each in rel.inputs}
            return None if others else kind
        case Reference() | Values() | Difference() | Intersection() | Fixpoint():
            return None
        case _:
            assert_never(rel)


def is_linear(rel: Relation) -> bool:
    """Whether ΔQ of a change to one table is Q of that change: no operator looks at several rows."""
    linear = (Scan, Reference, Values, Filter, Project, UnionAll, Lateral, Negate, Consolidate)
    return all(
        isinstance(node, linear) or (isinstance(node, Join) and node.kind is JoinKind.INNER)
        for node in nodes(rel)
    )
