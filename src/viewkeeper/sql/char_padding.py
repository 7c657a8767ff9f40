"""CHAR(n) where values are compared: Spark pads the shorter side with blanks, and so does a plan.

    c = 'ab'      →   c = 'ab  '                         where c is CHAR(4)
    c < 'abcde'   →   rpad(c, 5, ' ') < 'abcde'

Spark follows columns through projections, groups, joins and recursions, and knows nothing of what an
expression makes of them. Stored values are padded already, so that nothing else depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, function, literal, map_named
from viewkeeper.algebra.relations import (
    Aggregate,
    Definition,
    Difference,
    Distinct,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    Lateral,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Window,
)
from viewkeeper.algebra.walk import nodes, rewrite, scans
from viewkeeper.sql.scope import Untranslatable

Length = Callable[[Scalar], int | None]
"""The n of a column that is CHAR(n)."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


def padded(rel: Relation, query: exp.Query) -> Relation:
    """The plan of a query with blanks where Spark would pad; raises where only Spark knows."""
    if not any(_char(bound.source.declared) for scan in scans(rel) for bound in scan.bound):
        return rel
    if any(found.args.get("query") and _is_constant(found.this) for found in query.find_all(exp.In)):
        raise Untranslatable("a constant is looked for in a subquery, beside columns of type CHAR")
    fixpoints = (node for node in nodes(rel) if isinstance(node, Fixpoint))
    declared = _Declared({one.name: one for node in fixpoints for one in node.definitions})
    return rewrite(rel, lambda node: _padded_node(node, declared))


def _padded_node(node: Relation, declared: _Declared) -> Relation:
    def change(expr: Scalar) -> Scalar:
        return expr.transform(lambda one: _padded(one, length))

    def length(expr: Scalar) -> int | None:
        inner = expr.unnest()
        return declared.length(node, inner.name, inside=True) if isinstance(inner, exp.Column) else None

    match node:
        case Filter():
            return replace(node, condition=change(node.condition))
        case Join():
            return replace(node, on=change(node.on))
        case Project():
            return replace(node, outputs=map_named(node.outputs, change))
        case Aggregate():
            keys, calls = map_named(node.keys, change), map_named(node.aggregates, change)
            return replace(node, keys=keys, aggregates=calls)
        case Window():
            return replace(node, functions=map_named(node.functions, change))
        case _:
            return node


@dataclass(frozen=True)
class _Declared:
    """How columns are declared; those of a recursion as in the first branch of its definition."""

    definitions: Mapping[str, Definition]

    def length(self, rel: Relation, name: str, inside: bool = False) -> int | None:
        """The n of a column that a plan shows; `inside`: of one that its own expressions read."""
        match rel:
            case Scan():
                return next((_char(b.source.declared) for b in rel.bound if b.name == name), None)
            case Join():
                side = rel.left if name in rel.left.columns else rel.right
                return self.length(side, name)
            case Project() if not inside:
                return self._passed(rel.child, next(o.expr for o in rel.outputs if o.name == name))
            case Aggregate() if not inside:
                found = next((key.expr for key in rel.keys if key.name == name), None)
                return None if found is None else self._passed(rel.child, found)
            case Lateral() | Window() if name not in rel.child.columns:
                return None
            case Filter() | Distinct() | TopK() | Project() | Aggregate() | Lateral() | Window():
                return self.length(rel.child, name)
            case UnionAll():
                return self.length(rel.inputs[0], rel.inputs[0].columns[rel.columns.index(name)])
            case Difference() | Intersection():
                return self.length(rel.left, name)
            case Fixpoint():
                return self._defined(rel.result, rel.columns.index(name))
            case Reference():
                return self._defined(rel.name, rel.columns.index(name))
            case _:
                return None

    def _defined(self, relation: str, place: int) -> int | None:
        """That of a column of a recursion; a definition that starts from itself tells nothing."""
        found = self.definitions.get(relation)
        if found is None:
            return None
        others = {name: one for name, one in self.definitions.items() if name != relation}
        return _Declared(others).length(found.body, found.body.columns[place])

    def _passed(self, child: Relation, expr: Scalar) -> int | None:
        return self.length(child, expr.name) if isinstance(expr, exp.Column) else None


def _char(declared: str) -> int | None:
    found = re.fullmatch(r"char\((\d+)\)", declared)
    return int(found[1]) if found else None


def _padded(node: exp.Expr, length: Length) -> exp.Expr:
    match node:
        case exp.In() if node.expressions and not node.args.get("query"):
            return _compared(node, node.this, node.expressions, length)
        case exp.Case(this=exp.Expr()):
            return _compared(node, node.this, [one.this for one in node.args["ifs"]], length)
        case exp.DecodeCase():
            return _compared(node, node.expressions[0], node.expressions[1:-1:2], length)
        case _ if isinstance(node, _COMPARISONS):
            mine, other = node.left, node.right
            if length(mine) is None:
                mine, other = other, mine
            return _compared(node, mine, [other], length)
        case _:
            return node


def _compared(node: exp.Expr, value: Scalar, others: list[Scalar], length: Length) -> exp.Expr:
    """A comparison of a column with others: of CHAR(n) with constants, in as many characters."""
    own = length(value)
    if own is None or any(length(other) == own for other in others):
        return node
    if any(length(other) is not None for other in others):
        raise Untranslatable("columns of type CHAR of different lengths are compared")
    if not all(map(_is_constant, others)):
        return node
    texts = [other for other in others if not isinstance(other.unnest(), exp.Null)]
    if not all(map(_is_text, texts)):
        raise Untranslatable("a column of type CHAR is compared with an expression")
    wide = max([own, *(len(text.unnest().name) for text in texts)])
    if wide > own and isinstance(node, exp.Case | exp.DecodeCase):
        raise Untranslatable("a column of type CHAR is compared with a longer text")
    for text in texts:
        text.replace(literal(text.unnest().name.ljust(wide)))
    if wide > own:
        value.replace(function("rpad", value, literal(wide), literal(" ")))
    return node


def _is_constant(expr: Scalar) -> bool:
    return expr.find(exp.Column, exp.Query) is None


def _is_text(expr: Scalar) -> bool:
    """A text that has as many characters as it shows."""
    inner = expr.unnest()
    return isinstance(inner, exp.Literal) and inner.is_string and "\\" not in inner.name
