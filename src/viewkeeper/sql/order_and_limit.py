"""ORDER BY … LIMIT … OFFSET; inside a correlated query, a row number per outer row.

ORDER BY alone says nothing about a bag and is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.expressions import Named, Scalar, and_, column, columns_of
from viewkeeper.algebra.relations import Filter, Relation, TopK, Window
from viewkeeper.errors import InvalidSQL
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.scope import Scope, Untranslatable

_MOST_ROWS = 2**31 - 1


def limits(node: exp.Expr) -> tuple[int, int] | None:
    """LIMIT and OFFSET as numbers; None when there are neither."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    skipped = _number(offset) if offset else 0
    if limit is None or _is_all(limit):
        return (_MOST_ROWS - skipped, skipped) if skipped else None
    return _number(limit), skipped


def _is_all(limit: exp.Expr) -> bool:
    inner = limit.args.get("expression")
    return isinstance(inner, (exp.Var, exp.Column)) and inner.name.lower() == "all"


def _number(clause: exp.Expr) -> int:
    value = clause.args.get("expression")
    if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
        return int(value.name)
    if isinstance(value, exp.Neg):
        raise InvalidSQL("LIMIT and OFFSET cannot be negative.", clause.sql(dialect="spark"))
    raise Untranslatable("LIMIT or OFFSET that is not a number")


def ordered(expr: Scalar, like: exp.Ordered | None = None) -> exp.Ordered:
    """An ORDER BY item with its place of NULLs spelled out, as Spark has it: first when ascending."""
    descending = bool(like and like.args.get("desc"))
    first = like.args.get("nulls_first") if like else None
    return exp.Ordered(
        this=expr.copy(), desc=descending, nulls_first=not descending if first is None else bool(first)
    )


def top(
    context: Context,
    rel: Relation,
    order: Sequence[exp.Ordered],
    bounds: tuple[int, int],
    links: tuple[str, ...],
) -> Relation:
    """The rows `offset … offset + limit` of each group of links."""
    limit, offset = bounds
    if not links:
        return TopK(rel, tuple(order), limit, offset)
    named = {item.this.name for item in order if isinstance(item.this, exp.Column)}
    ties = [ordered(column(name)) for name in rel.columns if name not in named and name not in links]
    items = [*(item.copy() for item in order), *ties] or [ordered(column(links[0]))]
    number = context.fresh("place")
    window = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(name) for name in links],
        order=exp.Order(expressions=items),
        over="OVER",
    )
    numbered = Window(rel, links, (Named(number, window),))
    return restricted_to(Filter(numbered, _between(column(number), limit, offset)), rel.columns)


def _between(place: Scalar, limit: int, offset: int) -> Scalar:
    if limit == 1:
        return exp.EQ(this=place, expression=exp.Literal.number(offset + 1))
    below = exp.LTE(this=place, expression=exp.Literal.number(offset + limit))
    above = exp.GT(this=place.copy(), expression=exp.Literal.number(offset))
    return and_(above, below) if offset else below


def limited(context: Context, node: exp.Expr, answer: Translated, scope: Scope) -> Translated:
    """An answer ordered by its own outputs and cut."""
    bounds = limits(node)
    if bounds is None:
        return answer
    order = node.args.get("order")
    items = [output_order(item, answer.columns, scope) for item in (order.expressions if order else ())]
    return replace(answer, rel=top(context, answer.rel, items, bounds, answer.links))


def output_order(item: exp.Expr, columns: Sequence[str], scope: Scope) -> exp.Ordered:
    like = item if isinstance(item, exp.Ordered) else exp.Ordered(this=item)
    position = ordinal(like.this, len(columns))
    if position is not None:
        return ordered(column(columns[position]), like)
    from viewkeeper.sql.resolve import Resolver

    resolved = Resolver(scope, _no_subquery)(like.this)
    if not columns_of(resolved):
        raise Untranslatable("ORDER BY a constant")
    return ordered(resolved, like)


def ordinal(expr: exp.Expr, count: int) -> int | None:
    """`ORDER BY 2` and `GROUP BY 2`: a position in the select list, from 0."""
    if not (isinstance(expr, exp.Literal) and not expr.is_string and expr.name.isdigit()):
        return None
    position = int(expr.name)
    if not 1 <= position <= count:
        raise InvalidSQL(f"The position {position} is not in the select list, which has {count} items.")
    return position - 1


def _no_subquery(node: exp.Expr) -> Scalar:
    raise Untranslatable("a subquery in ORDER BY")
