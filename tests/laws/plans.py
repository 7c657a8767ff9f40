"""Random plans over every node of the algebra, nested.

`GENERATORS` maps each node type to the function that draws one. A plan is drawn from a budget of
nodes, which its inputs share, and column names are never used twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st
from sqlglot import exp

from tests.laws.databases import DOMAINS, TABLES
from tests.laws.expressions import (
    AGGREGATES,
    ANY,
    BOOLEAN,
    CONDITIONS,
    INT,
    JOIN_CONDITIONS,
    RATIO,
    SCALARS,
    WINDOW_FUNCTIONS,
    Template,
)
from tests.laws.harness import scan
from viewkeeper.algebra.build import projected, restricted_to
from viewkeeper.algebra.counts import consolidated, weighted
from viewkeeper.algebra.expressions import Named, Scalar, column, conjunction, same
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Definition,
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

Types: TypeAlias = dict[str, str]


@dataclass(frozen=True)
class Typed:
    """A plan and the types of its columns."""

    rel: Relation
    types: Types

    def of(self, wanted: str) -> list[str]:
        return [name for name, type_ in self.types.items() if wanted in (ANY, type_)]

    def has(self, takes: Iterable[str]) -> bool:
        return all(self.of(wanted) for wanted in takes)


class Draw:
    """Draws from hypothesis and hands out names."""

    def __init__(self, draw: st.DrawFn, counted: bool) -> None:
        self._draw, self.counted, self.names = draw, counted, 0

    def name(self, stem: str = "c") -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def pick(self, options: Iterable[Any]) -> Any:
        return self._draw(st.sampled_from(list(options)))

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def some(self, options: Iterable[Any], at_least: int, at_most: int) -> list[Any]:
        have = list(options)
        low, high = min(at_least, len(have)), min(at_most, len(have))
        return (
            self._draw(st.lists(st.sampled_from(have), min_size=low, max_size=high, unique=True))
            if have
            else []
        )

    def filled(self, templates: Iterable[Template], child: Typed) -> tuple[Scalar, str]:
        """A template over columns of the child, and the type it gives."""
        template = self.pick(t for t in templates if child.has(t.takes))
        names = [self.pick(child.of(wanted)) for wanted in template.takes]
        gives = child.types[names[0]] if template.gives == ANY else template.gives
        return template.over(*names), gives


def plan(d: Draw, budget: int) -> Typed:
    if budget <= 1:
        return draw_scan(d, budget)
    generator = d.pick(INNER_NODES)
    return generator(d, budget - 1)


def draw_scan(d: Draw, budget: int) -> Typed:
    table = d.pick(sorted(TABLES))
    names = {c.name: d.name(c.name) for c in TABLES[table]}
    types = {names[c.name]: c.type for c in TABLES[table]}
    return Typed(scan(table, d.counted and d.number(0, 1) == 1, **names), types)


def draw_values(d: Draw, budget: int) -> Typed:
    """A constant; inside a plan now and then a recursive one."""
    if budget > 1 and d.number(0, 2) == 2:
        return draw_fixpoint(d, budget)
    name, rows = d.name("v"), d.some(DOMAINS[INT], 0, 3)
    literals = tuple((exp.cast(exp.convert(value), "int"),) for value in rows)
    if not literals:
        return draw_scan(d, budget)
    return Typed(Values((name,), literals), {name: INT})


def draw_filter(d: Draw, budget: int) -> Typed:
    child = plan(d, budget)
    condition, _ = d.filled(CONDITIONS, child)
    return Typed(Filter(child.rel, condition), child.types)


def draw_project(d: Draw, budget: int) -> Typed:
    child = plan(d, budget)
    kept = d.some(child.rel.columns, 1, 3)
    outputs, types = list(same(kept)), {name: child.types[name] for name in kept}
    for _ in range(d.number(0, 2)):
        name = d.name("p")
        expr, types[name] = d.filled(SCALARS, child)
        outputs.append(Named(name, expr))
    return Typed(projected(child.rel, outputs), types)


def draw_join(d: Draw, budget: int) -> Typed:
    left, right = _two(d, budget)
    kind = d.pick(JoinKind)
    on = conjunction(join_condition(d, left, right) for _ in range(d.number(0, 2)))
    types = left.types if kind in (JoinKind.SEMI, JoinKind.ANTI) else {**left.types, **right.types}
    return Typed(Join(left.rel, right.rel, kind, on), types)


def join_condition(d: Draw, left: Typed, right: Typed) -> Scalar:
    """A comparison of columns of both sides, or a condition on one where they have no type in common."""
    common = sorted(set(left.types.values()) & set(right.types.values()))
    if not common:
        return d.filled(CONDITIONS, d.pick((left, right)))[0]
    wanted = d.pick(common)
    sides = (d.pick(left.of(wanted)), d.pick(right.of(wanted)))
    return exp.paren(d.pick(JOIN_CONDITIONS).over(*sides))


def draw_lateral(d: Draw, budget: int) -> Typed:
    child, name = plan(d, budget), d.name("x")
    numbers = d.some(child.of(INT), 0, 2)
    values = [column(number) for number in numbers] or [exp.Literal.number(1)]
    produced = {**child.types, name: INT}
    outer = d.pick((True, False))
    return Typed(
        Lateral(child.rel, exp.Explode(this=exp.Array(expressions=values)), (name,), outer), produced
    )


def draw_aggregate(d: Draw, budget: int) -> Typed:
    child, types = plan(d, budget), {}
    keys, aggregates = [], []
    for name in d.some(child.rel.columns, 0, 2):
        keys.append(Named(d.name("g"), column(name)))
        types[keys[-1].name] = child.types[name]
    if d.number(0, 3) == 3:
        expr, type_ = d.filled(SCALARS, child)
        keys.append(Named(d.name("g"), expr))
        types[keys[-1].name] = type_
    for _ in range(d.number(0 if keys else 1, 2)):
        expr, type_ = d.filled(AGGREGATES, child)
        aggregates.append(Named(d.name("n"), expr))
        types[aggregates[-1].name] = type_
    return Typed(Aggregate(child.rel, tuple(keys), tuple(aggregates)), types)


def draw_distinct(d: Draw, budget: int) -> Typed:
    child = plan(d, budget)
    return Typed(Distinct(child.rel), child.types)


def draw_union(d: Draw, budget: int) -> Typed:
    left, right = _alike(d, budget)
    return Typed(UnionAll((left.rel, right.rel)), left.types)


def draw_difference(d: Draw, budget: int) -> Typed:
    left, right = _alike(d, budget)
    return Typed(Difference(left.rel, right.rel, d.pick((True, False))), left.types)


def draw_intersection(d: Draw, budget: int) -> Typed:
    left, right = _alike(d, budget)
    return Typed(Intersection(left.rel, right.rel, d.pick((True, False))), left.types)


def draw_window(d: Draw, budget: int) -> Typed:
    child = plan(d, budget)
    partition = d.some(child.rel.columns, 0, 2)
    by = [column(name) for name in partition]
    order = exp.Order(expressions=[_ordered(d.pick(child.rel.columns))])
    function, type_ = d.filled(WINDOW_FUNCTIONS, child)
    name = d.name("w")
    expr = exp.Window(this=function, partition_by=by, order=order)
    return Typed(Window(child.rel, tuple(partition), (Named(name, expr),)), {**child.types, name: type_})


def draw_top_k(d: Draw, budget: int) -> Typed:
    child = plan(d, budget)
    order = tuple(_ordered(name, d.pick((True, False))) for name in d.some(child.rel.columns, 0, 2))
    return Typed(TopK(child.rel, order, d.pick((1, 2, 3, 0)), d.number(0, 1)), child.types)


def draw_fixpoint(d: Draw, budget: int) -> Typed:
    """Numbers reachable by steps of two: it reads no table, and so never changes."""
    name, n = d.name("up"), d.name("n")
    start = Values((n,), ((exp.cast(exp.convert(d.number(0, 1)), "int"),),))
    again = Project(
        Filter(Reference(name, (n,)), exp.LT(this=column(n), expression=exp.convert(2))),
        (Named(n, exp.cast(exp.Add(this=column(n), expression=exp.convert(2)), "int")),),
    )
    body = UnionAll((start, again))
    return Typed(Fixpoint((Definition(name, (n,), body),), name, True), {n: INT})


def draw_consolidate(d: Draw, budget: int) -> Typed:
    child = plan(d, budget)
    return Typed(Consolidate(child.rel), child.types)


def draw_negate(d: Draw, budget: int) -> Typed:
    """A signed view: something less a part of itself, which is a bag again."""
    child = plan(d, budget)
    condition, _ = d.filled(CONDITIONS, child)
    return Typed(UnionAll((child.rel, Negate(Filter(child.rel, condition)))), child.types)


def draw_affected(d: Draw, budget: int) -> Typed:
    child = plan(d, budget)
    names = d.some(child.rel.columns, 1, 3)
    return Typed(Affected(child.rel, tuple(names)), {name: child.types[name] for name in names})


def draw_expand(d: Draw, budget: int) -> Typed:
    """The same bag by the long way: counted, consolidated, and copied out."""
    child = plan(d, budget)
    return Typed(Expand(consolidated(weighted(child.rel))), child.types)


def draw_reference(d: Draw, budget: int) -> Typed:
    """References occur inside a fixpoint."""
    return draw_fixpoint(d, budget)


def _two(d: Draw, budget: int) -> tuple[Typed, Typed]:
    share = d.number(1, max(1, budget - 1))
    return plan(d, share), plan(d, budget - share)


def _alike(d: Draw, budget: int) -> tuple[Typed, Typed]:
    """Two plans with the same types, column by column."""
    left, right = _two(d, budget)
    common = [t for t in sorted(set(left.types.values()) & set(right.types.values())) if t != RATIO]
    if not common:
        return _is_null(d, left), _is_null(d, right)
    kept = [(d.pick(left.of(t)), d.pick(right.of(t))) for t in d.some(common, 1, 2)]
    types = {mine: left.types[mine] for mine, _ in kept}
    one = Typed(restricted_to(left.rel, [mine for mine, _ in kept]), types)
    return one, Typed(restricted_to(right.rel, [theirs for _, theirs in kept]), types)


def _is_null(d: Draw, child: Typed) -> Typed:
    name = d.name("p")
    test = exp.Is(this=column(d.pick(child.rel.columns)), expression=exp.null())
    return Typed(projected(child.rel, (Named(name, test),)), {name: BOOLEAN})


def _ordered(name: str, descending: bool = False) -> exp.Ordered:
    return exp.Ordered(this=column(name), desc=descending, nulls_first=not descending)


Generator: TypeAlias = Callable[[Draw, int], Typed]

GENERATORS: dict[type, Generator] = {
    Scan: draw_scan,
    Reference: draw_reference,
    Values: draw_values,
    Filter: draw_filter,
    Project: draw_project,
    Join: draw_join,
    Lateral: draw_lateral,
    Aggregate: draw_aggregate,
    Distinct: draw_distinct,
    UnionAll: draw_union,
    Difference: draw_difference,
    Intersection: draw_intersection,
    Window: draw_window,
    TopK: draw_top_k,
    Fixpoint: draw_fixpoint,
    Negate: draw_negate,
    Consolidate: draw_consolidate,
    Affected: draw_affected,
    Expand: draw_expand,
}

ONLY_IN_RULES = (Affected, Expand)
"""Nodes that rules and explicit plans are made of; a view has none of them."""

INNER_NODES = [g for node, g in GENERATORS.items() if node not in (*ONLY_IN_RULES, Scan, Reference, Fixpoint)]
INNER_NODES += [draw_join, draw_join, draw_join, draw_aggregate, draw_aggregate, draw_filter, draw_project]


@st.composite
def plans(draw: st.DrawFn, budget: int = 6, counted: bool = False) -> Typed:
    """A view over the test tables."""
    d = Draw(draw, counted)
    return plan(d, d.number(2, budget))


@st.composite
def plans_with(draw: st.DrawFn, node: type, budget: int = 3, counted: bool = False) -> Typed:
    """A view whose root is of this node type."""
    d = Draw(draw, counted)
    return GENERATORS[node](d, d.number(1, budget))
