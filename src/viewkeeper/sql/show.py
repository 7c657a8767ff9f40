"""Plans as text, one node a line, inputs indented below it. Golden tests are written in it.

project a, c
  inner join on a = b
    scan r [new] (a)
    scan s [delta] (b, c)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from viewkeeper.algebra.expressions import Named, Scalar, is_true
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
from viewkeeper.algebra.walk import children
from viewkeeper.sql.render import render_expression


def show(rel: Relation) -> str:
    return "\n".join(_lines(rel, 0))


def _lines(rel: Relation, depth: int) -> Iterable[str]:
    yield "  " * depth + headline(rel)
    for number, child in enumerate(children(rel)):
        if isinstance(rel, Fixpoint):
            definition = rel.definitions[number]
            yield "  " * (depth + 1) + f"{definition.name}({', '.join(definition.columns)}) ="
            yield from _lines(child, depth + 2)
        else:
            yield from _lines(child, depth + 1)


def headline(rel: Relation) -> str:
    """The node itself, without its inputs."""
    match rel:
        case Scan():
            names = ", ".join(
                b.name if b.name == b.source.name else f"{b.source.name} as {b.name}" for b in rel.bound
            )
            return f"scan {rel.table} [{rel.at.value}{', counted' if rel.counted else ''}] ({names})"
        case Reference():
            return f"reference {rel.name} ({', '.join(rel.columns)})"
        case Values():
            return f"values ({', '.join(rel.columns)}) × {len(rel.rows)}"
        case Filter():
            return f"filter {_text(rel.condition)}"
        case Project():
            return f"project {_named(rel.outputs)}"
        case Join():
            on = "" if is_true(rel.on) else f" on {_text(rel.on)}"
            return f"{rel.kind.value} join{on}"
        case Lateral():
            return (
                f"lateral{' outer' if rel.outer else ''} {_text(rel.generator)} as {', '.join(rel.produced)}"
            )
        case Aggregate():
            return f"aggregate by ({_named(rel.keys)}) {_named(rel.aggregates)}".rstrip()
        case Distinct():
            return "distinct"
        case UnionAll():
            return "union all"
        case Difference():
            return "except all" if rel.all else "except"
        case Intersection():
            return "intersect all" if rel.all else "intersect"
        case Window():
            return f"window by ({', '.join(rel.partition)}) {_named(rel.functions)}"
        case TopK():
            order = ", ".join(_text(item) for item in rel.order)
            offset = f" offset {rel.offset}" if rel.offset else ""
            return f"top {rel.limit}{offset} by {order or 'all columns'}"
        case Fixpoint():
            return f"fixpoint {rel.result}{' (set)' if rel.distinct else ' (bag)'}"
        case Negate():
            return "negate"
        case Consolidate():
            return "consolidate"
        case Affected():
            return f"affected ({', '.join(rel.columns)})"
        case Expand():
            return "expand counts"
        case _:
            assert_never(rel)


def _named(items: Iterable[Named]) -> str:
    def one(item: Named) -> str:
        text = _text(item.expr)
        return item.name if text == item.name else f"{text} as {item.name}"

    return ", ".join(one(item) for item in items)


def _text(expr: Scalar) -> str:
    return render_expression(expr)
