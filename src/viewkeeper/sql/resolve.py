"""Names to plan columns inside one scalar expression; subqueries become joins of the block's plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.sql.aggregate_calls import is_aggregate_call
from viewkeeper.sql.scope import Scope, Untranslatable


class OuterColumn(exp.Column):
    """A column that is already one of the enclosing plan: no name in the text is it."""


Attach = Callable[[exp.Expr], Scalar]


@dataclass
class Resolver:
    """Resolves against `scope`. `attach` joins a subquery to the plan and gives its value.

    With `defer`, subqueries outside of aggregate calls are left for a later resolver: they belong
    above the aggregation.
    """

    scope: Scope
    attach: Attach
    alias_first: bool = False
    defer: bool = False
    named_windows: dict[str, exp.Window] | None = None

    def __call__(self, expr: exp.Expr) -> Scalar:
        return self._visit(expr.copy(), within_aggregate=False)

    def _visit(self, node: exp.Expr, within_aggregate: bool) -> Scalar:
        match node:
            case exp.Column():
                return self._column(node, within_aggregate)
            case exp.Subquery() | exp.Exists() | exp.Select() | exp.SetOperation():
                return self._subquery(node, within_aggregate)
            case exp.In() if is_in_query(node):
                node.set("this", self._visit(node.this, within_aggregate))
                return self._subquery(node, within_aggregate)
            case exp.Not() if is_not_in_query(node):
                test = node.this.unnest()
                test.set("this", self._visit(test.this, within_aggregate))
                return self._subquery(exp.Not(this=test), within_aggregate)
            case exp.Window() if node.args.get("alias"):
                node = self._named_window(node)
        inside = within_aggregate or is_aggregate_call(node)
        for key, value in list(node.args.items()):
            if isinstance(value, exp.Expr):
                node.set(key, self._visit(value, inside))
            elif isinstance(value, list):
                node.set(key, [self._visit(v, inside) if isinstance(v, exp.Expr) else v for v in value])
        return node

    def _column(self, node: exp.Column, within_aggregate: bool) -> Scalar:
        if isinstance(node.this, exp.Star):
            raise Untranslatable("a star inside an expression")
        if isinstance(node, OuterColumn):
            bare = exp.Column(this=node.this.copy())
            return self.scope.captured(bare)
        parts = tuple(part.name for part in node.parts)
        found = self.scope.lookup(parts, self.alias_first and not within_aggregate)
        return found if isinstance(found, (exp.Column, exp.Literal)) else exp.paren(found, copy=False)

    def _subquery(self, node: exp.Expr, within_aggregate: bool) -> Scalar:
        if self.defer and not within_aggregate:
            return node
        return self.attach(node)

    def _named_window(self, node: exp.Window) -> exp.Window:
        name = node.args["alias"].name.lower()
        definition = (self.named_windows or {}).get(name)
        if definition is None:
            raise Untranslatable(f"the window {name} is not defined")
        new = definition.copy()
        new.set("this", node.this)
        new.set("over", "OVER")
        return new


def is_in_query(node: exp.Expr) -> TypeGuard[exp.In]:
    """x IN (SELECT …)"""
    return isinstance(node, exp.In) and bool(node.args.get("query"))


def is_not_in_query(node: exp.Expr) -> bool:
    """x NOT IN (SELECT …), a test of its own: with NULLs about it is not the opposite of IN in Spark."""
    return isinstance(node, exp.Not) and is_in_query(node.this.unnest())


def top_down(expr: Scalar, change: Callable[[exp.Expr], Scalar | None]) -> Scalar:
    """`expr` with each outermost node that `change` maps replaced; subqueries are not entered."""

    def visit(node: exp.Expr) -> exp.Expr:
        new = change(node)
        if new is not None:
            return new
        if isinstance(node, (exp.Query, exp.Exists)):
            return node
        for key, value in list(node.args.items()):
            if isinstance(value, exp.Expr):
                node.set(key, visit(value))
            elif isinstance(value, list):
                node.set(key, [visit(v) if isinstance(v, exp.Expr) else v for v in value])
        return node

    return visit(expr.copy())


def outside_subqueries(expr: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, but not those inside its subqueries."""
    yield expr
    if isinstance(expr, exp.Query) and not isinstance(expr, exp.Subquery):
        return
    for child in expr.iter_expressions():
        if not isinstance(child, exp.Query):
            yield from outside_subqueries(child)
