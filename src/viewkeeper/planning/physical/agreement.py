"""Where the local engine and Spark mean the same by a plan.

Arrow compares floats in its own way (NaN, −0.0), wraps where Spark fails, casts what Spark does not, and
knows nothing of collations and time zones. So here stands what is known to agree, by operator, function and
type; a law runs both engines over it. Whatever is not here is Spark's.

    whole numbers        + − × are checked, sums are exact; Spark tells what does not fit
    equal, grouped       whole numbers, strings, dates, times, booleans, decimals, binaries; never floats
    less, least          whole numbers, dates, decimals
    just passed on       all of these and floats
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, conjuncts
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import nodes
from viewkeeper.rewrite.equalities import column_equalities

Types = Mapping[str, str]
"""The types of a relation's columns, in Spark's words."""

LeafTypes = Callable[[Scan | Reference], Types]
"""The types of what a plan reads, as far as they are known."""

WHOLE = ("tinyint", "smallint", "int", "bigint")
"""Whole numbers, narrow ones first."""

_TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
_PASSED = frozenset({*WHOLE, *_TIMES, "float", "double", "string", "boolean", "binary"})
_EQUAL = _PASSED - {"float", "double"}
_ORDERED = frozenset({*WHOLE, "date"})
_VOID = "void"

JOINS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
CALLS = (exp.Sum, exp.Count, exp.Min, exp.Max, exp.AnyValue)


class Differ(Exception):
    """The engines may mean different things."""


def agrees_with_spark(plan: Relation, leaf: LeafTypes) -> bool:
    """Whether the local engine answers a plan as Spark does, or does not answer."""
    return plan in agreed_types(plan, leaf)


def agreed_types(plan: Relation, leaf: LeafTypes) -> dict[Relation, Types]:
    """The types of those parts of a plan that both engines understand alike."""
    found: dict[Relation, Types] = {}
    for node in nodes(plan):
        try:
            found[node] = _of(node, found, leaf)
        except (Differ, KeyError):
            continue
    return found


def _of(node: Relation, known: Mapping[Relation, Types], leaf: LeafTypes) -> Types:
    """The types of a node's columns; its inputs agree, or are missed."""
    match node:
        case Scan() | Reference():
            return {name: _passed(kind) for name, kind in _leaf(node, leaf).items()}
        case Filter():
            _is(type_of(node.condition, known[node.child]), "boolean")
            return known[node.child]
        case Project():
            return _items(node.outputs, known[node.child])
        case Distinct():
            return {name: _equal(kind) for name, kind in known[node.child].items()}
        case Expand():
            _is(known[node.child][COUNT], "bigint")
            return {name: kind for name, kind in known[node.child].items() if name != COUNT}
        case UnionAll():
            return _united(node, [known[each] for each in node.inputs])
        case Aggregate():
            return _grouped(node, known[node.child])
        case Join() if node.kind in JOINS:
            return _joined(node, known[node.left], known[node.right])
        case _:
            raise Differ


def _leaf(node: Scan | Reference, leaf: LeafTypes) -> Types:
    known = leaf(node)
    if isinstance(node, Scan):
        return {item.name: known.get(item.source.name, item.source.type) for item in node.bound}
    return {name: known[name] for name in node.columns}


def _items(items: Iterable[Named], types: Types) -> dict[str, str]:
    return {item.name: _passed(type_of(item.expr, types)) for item in items}


def _united(node: UnionAll, inputs: list[Types]) -> Types:
    for each, types in zip(node.inputs, inputs, strict=True):
        if [types[name] for name in each.columns] != [inputs[0][name] for name in node.columns]:
            raise Differ
    return inputs[0]


def _joined(join: Join, left: Types, right: Types) -> Types:
    """Columns of one type are compared, and nothing else is."""
    by = column_equalities(join.on, join.left.columns, join.right.columns)
    if not by or len(by) != len(list(conjuncts(join.on))):
        raise Differ
    for one in by:
        _is(_equal(left[one.left.name]), right[one.right.name])
    return left if join.kind in (JoinKind.SEMI, JoinKind.ANTI) else {**left, **right}


def _grouped(node: Aggregate, types: Types) -> Types:
    keys = {key.name: _equal(type_of(key.expr, types)) for key in node.keys}
    calls = {call: called(call, types) for item in node.aggregates for call in calls_of(item.expr)}
    told = {f"call{number}": kind for number, kind in enumerate(calls.values())}
    named = ((item.name, of_calls(item.expr, list(calls))) for item in node.aggregates)
    return {**keys, **{name: _passed(type_of(expr, told)) for name, expr in named}}


def calls_of(expr: Scalar) -> list[Scalar]:
    """The calls of aggregate functions in an expression, each with its FILTER."""
    if isinstance(expr, (*CALLS, exp.Filter)):
        return [expr]
    return [call for part in expr.iter_expressions() for call in calls_of(part)]


def of_calls(expr: Scalar, calls: list[Scalar]) -> Scalar:
    """An expression of calls as one of the columns `call0`, `call1`, … that hold their values."""

    def named(part: Scalar) -> Scalar:
        return exp.column(f"call{calls.index(part)}", quoted=True) if part in calls else part

    return expr.transform(named)


def called(call: Scalar, types: Types) -> str:
    """The type of a call."""
    match call:
        case exp.Filter(this=exp.AnyValue() as of):
            _is(type_of(call.expression.this, types), "boolean")
            return _passed(type_of(of.this, types))
        case exp.Filter(this=of):
            _is(type_of(call.expression.this, types), "boolean")
            return called(of, types)
        case exp.Count(this=exp.Star()) if not call.expressions:
            return "bigint"
        case exp.Count(this=of) if not call.expressions:
            type_of(of, types)
            return "bigint"
        case exp.Sum(this=of):
            _whole(type_of(of, types))
            return "bigint"
        case exp.Min(this=of) | exp.Max(this=of) if not call.expressions:
            return _ordered(type_of(of, types))
        case _:
            raise Differ


def type_of(expr: Scalar, types: Types) -> str:
    """The type that Spark gives to an expression that both engines understand alike."""
    match expr:
        case exp.Column():
            return types[expr.name]
        case exp.Paren():
            return type_of(expr.this, types)
        case exp.Literal() | exp.Boolean() | exp.Null():
            return _constant(expr)
        case exp.Neg(this=exp.Literal(this="2147483648")):
            raise Differ
        case exp.Neg(this=of):
            return _whole(type_of(of, types))
        case exp.Add() | exp.Sub() | exp.Mul():
            return _wider(*(_whole(type_of(side, types)) for side in (expr.left, expr.right)))
        case exp.And() | exp.Or():
            return _all((expr.left, expr.right), types)
        case exp.Not(this=of):
            return _all((of,), types)
        case exp.Is(this=of, expression=exp.Null()):
            type_of(of, types)
            return "boolean"
        case exp.EQ() | exp.NEQ() | exp.NullSafeEQ() | exp.NullSafeNEQ():
            _equal(common_type((expr.left, expr.right), types))
            return "boolean"
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            _ordered(common_type((expr.left, expr.right), types))
            return "boolean"
        case exp.Coalesce() | exp.Case() | exp.Cast():
            return _chosen(expr, types)
        case _:
            raise Differ


def _chosen(expr: exp.Coalesce | exp.Case | exp.Cast, types: Types) -> str:
    match expr:
        case exp.Coalesce():
            return common_type((expr.this, *expr.expressions), types)
        case exp.Case(this=None):
            _all([one.this for one in expr.args["ifs"]], types)
            return common_type(branches(expr), types)
        case exp.Cast():
            _whole(type_of(expr.this, types))
            return _whole(expr.to.sql(dialect="spark").lower())
        case _:
            raise Differ


def branches(case: exp.Case) -> list[Scalar]:
    """The values of a CASE, that of ELSE last."""
    return [*(one.args["true"] for one in case.args["ifs"]), case.args.get("default") or exp.null()]


def _constant(expr: Scalar) -> str:
    match expr:
        case exp.Null():
            return _VOID
        case exp.Boolean():
            return "boolean"
        case exp.Literal(is_string=True):
            return "string"
        case exp.Literal() if expr.is_int and int(expr.this) < 2**63:
            return "int" if int(expr.this) < 2**31 else "bigint"
        case _:
            raise Differ


def common_type(values: Iterable[Scalar], types: Types) -> str:
    """The type of values of which one is taken, or which are compared."""
    kinds = {type_of(value, types) for value in values} - {_VOID}
    if len(kinds) > 1:
        return _wider(*(_whole(kind) for kind in kinds))
    return kinds.pop() if kinds else _VOID


def _all(parts: Iterable[Scalar], types: Types) -> str:
    for part in parts:
        _is(type_of(part, types), "boolean")
    return "boolean"


def _wider(*kinds: str) -> str:
    return max(kinds, key=WHOLE.index)


def _is(kind: str, wanted: str) -> str:
    if kind != wanted:
        raise Differ
    return kind


def _whole(kind: str) -> str:
    if kind not in WHOLE:
        raise Differ
    return kind


def _passed(kind: str) -> str:
    if kind not in _PASSED and not kind.startswith("decimal("):
        raise Differ
    return kind


def _equal(kind: str) -> str:
    if kind not in _EQUAL and not kind.startswith("decimal("):
        raise Differ
    return kind


def _ordered(kind: str) -> str:
    if kind not in _ORDERED and not kind.startswith("decimal("):
        raise Differ
    return kind
