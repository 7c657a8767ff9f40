"""The types of what is summed up, written into the plan: they tell what a sum keeps (`delta/numbers.py`).

    SUM(price * qty)   →   SUM(CAST(price * qty AS DECIMAL(21, 2)))

Such a cast changes nothing for Spark, which gave the type, and wherever the call is rewritten or compared the
type goes with it. The types are asked for once, when a view is defined, and are part of its definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar
from viewkeeper.algebra.facts import column_type
from viewkeeper.algebra.relations import Aggregate, Fixpoint, Reference, Relation
from viewkeeper.algebra.walk import nodes, rewrite
from viewkeeper.maintenance.recursion.seminaive import unrolled

Types: TypeAlias = tuple[tuple[str, str], ...]
"""The argument of every sum and average of a plan, inputs first, as text, and its type; "" where unknown."""

_IN_DOUBLES = ("float", "double", "real", "string", "timestamp", "void")
_AS_THEY_ARE = ("bigint", "decimal")


def types_of(plan: Relation, ask: Callable[[Relation, tuple[Scalar, ...]], tuple[str, ...]]) -> Types:
    """The types of all arguments; `ask` tells those of expressions over a relation.

    A recursion stands in it as what its rules give at first. Sums inside of one are not asked about.
    """
    found: list[tuple[str, str]] = []
    for node in nodes(plan):
        if isinstance(node, Aggregate):
            arguments = [call.this for item in node.aggregates if (call := _summing(item)) is not None]
            found += _typed(node.child, arguments, ask)
    return tuple(found)


def _typed(
    child: Relation,
    arguments: list[Scalar],
    ask: Callable[[Relation, tuple[Scalar, ...]], tuple[str, ...]],
) -> Iterator[tuple[str, str]]:
    known = [column_type(child, one.name) if isinstance(one, exp.Column) else None for one in arguments]
    open_questions = tuple(one for one, kind in zip(arguments, known, strict=True) if kind is None)
    source = rewrite(child, lambda node: unrolled(node) if isinstance(node, Fixpoint) else node)
    inside_recursion = any(isinstance(node, Reference) for node in nodes(source))
    answers = iter(() if inside_recursion or not open_questions else ask(source, open_questions))
    for one, kind in zip(arguments, known, strict=True):
        yield one.sql("spark"), kind if kind is not None else next(answers, "")


def with_types(plan: Relation, types: Types, by_ids: bool = False) -> Relation:
    """The plan with the types of what is summed up; `by_ids`: those that ID-based diffs must know."""
    known = iter(types)

    def typed(node: Relation) -> Relation:
        if not isinstance(node, Aggregate):
            return node
        items = tuple(_with_type(item, known, by_ids) for item in node.aggregates)
        return node if items == node.aggregates else replace(node, aggregates=items)

    return rewrite(plan, typed) if types else plan


def _with_type(item: Named, known: Iterator[tuple[str, str]], by_ids: bool) -> Named:
    if _summing(item) is None:
        return item
    text, kind = next(known, ("", ""))
    expr = item.expr.copy()
    call = _call(expr)
    target = _kept_in(kind)
    is_meant = call.this.sql("spark") == text and (not by_ids or _tells_ids(call, target))
    if not target or not is_meant or (isinstance(call.this, exp.Cast) and call.this.to.is_type(target)):
        return item
    call.set("this", exp.cast(call.this, exp.DataType.build(target, dialect="spark")))
    return Named(item.name, expr)


def _tells_ids(call: Scalar, kind: str) -> bool:
    """Sums of whole numbers are kept as they are, and those of doubles not at all."""
    return kind.startswith("decimal") or (kind == "bigint" and isinstance(call, exp.Avg))


def _kept_in(kind: str) -> str:
    """The type that a number is summed up in; "" where its own needs no care."""
    name = kind.lower()
    if name.startswith(_IN_DOUBLES):
        return "double"
    return name if name.startswith(_AS_THEY_ARE) else ""


def _summing(item: Named) -> Scalar | None:
    """The call of SUM or AVG of a number, if the item is one."""
    call = _call(item.expr)
    is_one = isinstance(call, (exp.Sum, exp.Avg)) and not call.args.get("expressions")
    return call if is_one and not isinstance(call.this, (exp.Distinct, exp.Star)) else None


def _call(expr: Scalar) -> Scalar:
    return expr.this if isinstance(expr, exp.Filter) else expr
