"""Transitive closure by squaring: fewer, larger rounds.

    p(X, Y) :- e(X, Y).   p(X, Y) :- p(X, Z), e(Z, Y).      as many rounds as the longest path has edges
    p(X, Y) :- e(X, Y).   p(X, Y) :- p(X, Z), p(Z, Y).      as many as its length has binary digits

Both have the same least fixpoint, whichever side of the linear rule recurs. Maintenance goes by the second: a
changed edge meets the stored closure on both sides, so that it takes about three rounds however long the
paths are. A first evaluation goes by the rules as they were written, whose rounds join with the base relation
only.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.build import named_like
from viewkeeper.algebra.expressions import Named, Scalar, column, equal
from viewkeeper.algebra.relations import (
    Definition,
    Fixpoint,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.maintenance.rules import Rule
from viewkeeper.maintenance.seminaive import recursive_inputs
from viewkeeper.maintenance.unfold import rules_of


def squared(fixpoint: Fixpoint) -> Fixpoint | None:
    """The same closure with the rule that squares; nothing when the fixpoint is no plain closure."""
    if len(fixpoint.definitions) != 1 or not fixpoint.distinct:
        return None
    definition = fixpoint.definitions[0]
    names = frozenset({definition.name})
    rules = rules_of(definition, names)
    recursive = [rule for rule in rules if recursive_inputs(rule, names)]
    base = [rule for rule in rules if not recursive_inputs(rule, names)]
    if len(base) != 1 or len(recursive) != 1 or len(definition.columns) != 2:
        return None
    edge = _edge(base[0])
    if edge is None or not _extends(recursive[0], edge, names):
        return None
    return replace(fixpoint, definitions=(replace(definition, body=_square(definition, edge)),))


def _edge(rule: Rule) -> Scan | None:
    """The base relation, its two columns in order, when the rule is only a copy of it."""
    if len(rule.inputs) != 1 or rule.tests or rule.conditions or not isinstance(rule.inputs[0], Scan):
        return None
    scan = rule.inputs[0]
    names = tuple(output.expr.name for output in rule.outputs if output.is_column)
    bound = {item.name: item for item in scan.bound}
    return replace(scan, bound=tuple(bound[name] for name in names)) if len(set(names)) == 2 else None


def _extends(rule: Rule, edge: Scan, names: frozenset[str]) -> bool:
    """Whether the rule adds one edge to a path, at either end, and does nothing else."""
    places = recursive_inputs(rule, names)
    if len(rule.inputs) != 2 or len(places) != 1 or rule.tests or len(rule.conditions) != 1:
        return False
    path, other = rule.inputs[places[0][0]], rule.inputs[1 - places[0][0]]
    if not isinstance(other, Scan) or other.table != edge.table:
        return False
    ends = {item.source: item.name for item in other.bound}
    if set(ends) != {item.source for item in edge.bound}:
        return False
    edge_ends = tuple(ends[item.source] for item in edge.bound)
    return _is_chain(rule, path.columns, edge_ends) or _is_chain(rule, edge_ends, path.columns)


def _is_chain(rule: Rule, first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """`(first.start, second.end)` where first.end = second.start."""
    put_out = [output.expr.name for output in rule.outputs if output.is_column]
    return put_out == [first[0], second[1]] and _equates(rule.conditions[0], first[1], second[0])


def _equates(condition: Scalar, one: str, other: str) -> bool:
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else ()
    return [side.name for side in sides if isinstance(side, exp.Column)] in ([one, other], [other, one])


def _square(definition: Definition, edge: Scan) -> Relation:
    path = Reference(definition.name, definition.columns)
    left, right = named_like(path, ("__x", "__z1")), named_like(path, ("__z2", "__y"))
    both = Join(left, right, JoinKind.INNER, equal(column("__z1"), column("__z2")))
    ends = (Named(name, column(end)) for name, end in zip(definition.columns, ("__x", "__y"), strict=True))
    return UnionAll((named_like(edge, definition.columns), Project(both, tuple(ends))))
