"""The rows that a plan can have, whatever the database: what blakeley86's Y2 ranges over.

A row of a relation comes in one of several forms. Each is made, by `outputs`, of some values of the
variables that fulfil `condition`:

    σ_{c>5}(s)            { c: s.c, d: s.d }  where s.c > 5
    r ⟕_{a=c} s           { a: r.a, c: s.c }  where r.a = s.c,     or     { a: r.a, c: NULL }

Every scan has variables of its own; a column that an operator computes may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.build import fresh
from viewkeeper.algebra.expressions import Scalar, column, conjuncts, replace_columns
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
from viewkeeper.algebra.walk import nodes
from viewkeeper.maintenance.relevance.domains import Domain, ValueKind, compare_exactly, constant, domain_of
from viewkeeper.maintenance.relevance.formulae import Attribute

LARGEST_CONDITION = 4000
"""Nodes of an expression; a larger condition is given up."""

MOST_FORMS = 8
"""In how many forms the rows of an input may come before nothing is known of them."""


@dataclass(frozen=True)
class PossibleRows:
    """One form: `outputs` of some values of the variables that fulfil `condition`."""

    outputs: Mapping[str, Scalar]
    condition: tuple[Scalar, ...] = ()


@dataclass
class Forms:
    """Gives each plan its forms, and collects the variables that they speak of."""

    taken: set[str]
    variables: dict[str, Attribute] = field(default_factory=dict)
    occurrences: int = 0

    def rows(self, rel: Relation, visible: bool = True) -> list[PossibleRows]:
        """The forms in which the rows of `rel` come; `visible`: each is made of one row of each scan."""
        found = self._rows(rel, visible)
        small = sum(1 for rows in found for part in rows.condition for _ in part.walk()) <= LARGEST_CONDITION
        return found if len(found) <= MOST_FORMS and small else [self._unknown(rel.columns)]

    def _rows(self, rel: Relation, visible: bool) -> list[PossibleRows]:
        match rel:
            case Scan():
                return [self._scanned(rel, visible)]
            case Filter():
                return [_where(rows, rel.condition) for rows in self.rows(rel.child, visible)]
            case Project():
                made = {output.name: output.expr for output in rel.outputs}
                return [_computed(rows, made) for rows in self.rows(rel.child, visible)]
            case Join():
                return self._joined(rel, visible)
            case Aggregate() if rel.keys:
                keys = {key.name: key.expr for key in rel.keys}
                return [self._padded(_computed(rows, keys), rel) for rows in self.rows(rel.child, False)]
            case Window() | Lateral() | Affected():
                return [self._padded(rows, rel) for rows in self.rows(rel.child, False)]
            case Distinct() | TopK() | Negate() | Consolidate() | Expand():
                return self.rows(rel.child, False)
            case Difference() | Intersection():
                return self._first(rel.left, rel.right)
            case UnionAll():
                return self._union(rel.inputs, rel)
            case Values():
                return [PossibleRows(dict(zip(rel.columns, row))) for row in rel.rows[: MOST_FORMS + 1]]
            case Aggregate() | Reference() | Fixpoint():
                return [self._unknown(rel.columns)]
            case _:
                assert_never(rel)

    def _joined(self, join: Join, visible: bool) -> list[PossibleRows]:
        is_inner = join.kind is JoinKind.INNER
        left, right = (self.rows(side, visible and is_inner) for side in (join.left, join.right))
        if join.kind is JoinKind.ANTI:
            return left
        pairs = [_where(_beside(one, other), join.on) for one in left for other in right]
        if join.kind in (JoinKind.LEFT, JoinKind.FULL):
            pairs += [_beside(one, nulls(join.right)) for one in left]
        if join.kind in (JoinKind.RIGHT, JoinKind.FULL):
            pairs += [_beside(nulls(join.left), other) for other in right]
        return pairs

    def _union(self, inputs: tuple[Relation, ...], rel: Relation) -> list[PossibleRows]:
        """The rows of each input in turn, under the columns of `rel`."""
        forms = self.by_position(inputs, rel.columns)
        known = self.of_one_kind(forms, rel.columns)
        return [
            self._padded(PossibleRows({name: rows.outputs[name] for name in known}, rows.condition), rel)
            for rows in forms
        ]

    def _first(self, left: Relation, right: Relation) -> list[PossibleRows]:
        """The rows of the left input, as far as the right one does not convert them."""
        forms = self.by_position((left, right), left.columns)
        known = {name: column(name) for name in self.of_one_kind(forms, left.columns)}
        return [self._padded(_computed(rows, known), left) for rows in self.rows(left, False)]

    def by_position(self, inputs: tuple[Relation, ...], columns: tuple[str, ...]) -> list[PossibleRows]:
        return [
            PossibleRows(dict(zip(columns, (rows.outputs[name] for name in child.columns))), rows.condition)
            for child in inputs
            for rows in self.rows(child, False)
        ]

    def of_one_kind(self, forms: list[PossibleRows], columns: tuple[str, ...]) -> list[str]:
        """The columns of a union that no input's values are converted for."""
        return [name for name in columns if _is_of_one_kind([self._domain(r.outputs[name]) for r in forms])]

    def _domain(self, expr: Scalar) -> Domain | bool:
        """The domain of an output; True for NULL, which fits all, False for what is not known."""
        inner = expr.unnest()
        match inner:
            case exp.Column() if inner.name in self.variables:
                return self.variables[inner.name].domain or False
            case exp.Null():
                return True
            case exp.Literal() if inner.is_string:
                return Domain(ValueKind.STRING)
            case _:
                number = constant(inner, ValueKind.EXACT)
                return Domain(ValueKind.EXACT, 10) if number and abs(number.value) < 2**31 else False

    def _scanned(self, scan: Scan, visible: bool) -> PossibleRows:
        self.occurrences += 1
        outputs: dict[str, Scalar] = {}
        for number, bound in enumerate(scan.bound):
            name = self._fresh(f"{scan.table}.{bound.source.name}")
            self.variables[name] = attribute(scan, number, name, self.occurrences if visible else 0)
            outputs[bound.name] = column(name)
        return PossibleRows(outputs)

    def _padded(self, rows: PossibleRows, rel: Relation) -> PossibleRows:
        missing = {name: self.anything(name) for name in rel.columns if name not in rows.outputs}
        return PossibleRows({**rows.outputs, **missing}, rows.condition)

    def _unknown(self, columns: Iterable[str]) -> PossibleRows:
        return PossibleRows({name: self.anything(name) for name in columns})

    def anything(self, wish: str) -> exp.Column:
        name = self._fresh(f"any {wish}")
        self.variables[name] = Attribute(name)
        return column(name)

    def _fresh(self, wish: str) -> str:
        name = fresh(wish, self.taken)
        self.taken.add(name)
        return name


def names_in(rel: Relation) -> set[str]:
    """Every name that a variable must not have."""
    stored = {b.source.name for node in nodes(rel) if isinstance(node, Scan) for b in node.bound}
    return stored | {name for node in nodes(rel) for name in node.columns}


def attribute(scan: Scan, number: int, name: str, occurrence: int = 0) -> Attribute:
    source = scan.bound[number].source
    domain = domain_of(source.type)
    return Attribute(name, domain, source.type, scan.table, source.name, occurrence, source.nullable)


def _where(rows: PossibleRows, condition: Scalar) -> PossibleRows:
    parts = conjuncts(replace_columns(condition, rows.outputs))
    return PossibleRows(rows.outputs, (*rows.condition, *parts))


def _computed(rows: PossibleRows, made: Mapping[str, Scalar]) -> PossibleRows:
    outputs = {name: replace_columns(expr, rows.outputs) for name, expr in made.items()}
    return PossibleRows(outputs, rows.condition)


def _beside(left: PossibleRows, right: PossibleRows) -> PossibleRows:
    return PossibleRows({**left.outputs, **right.outputs}, (*left.condition, *right.condition))


def nulls(rel: Relation) -> PossibleRows:
    return PossibleRows({name: exp.null() for name in rel.columns})


def _is_of_one_kind(domains: list[Domain | bool]) -> bool:
    known = [domain for domain in domains if isinstance(domain, Domain)]
    if False in domains or len({domain.kind for domain in known}) > 1:
        return False
    return not known or known[0].kind is not ValueKind.EXACT or compare_exactly(*known)
