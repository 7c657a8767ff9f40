"""A query of any form to an answer: SELECT, set operations, VALUES, and WITH before any of them."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.relations import (
    Difference,
    Distinct,
    Intersection,
    Relation,
    UnionAll,
    Values,
)
from viewkeeper.errors import InvalidSQL
from viewkeeper.sql.block import OuterValues
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.order_and_limit import limited
from viewkeeper.sql.scope import Field, NeedsDomain, Scope, Untranslatable


def translate(
    context: Context, query: exp.Expr, domain: OuterValues | None = None, keep_pending: bool = False
) -> Translated:
    """The query inside `context.parent`. Without a domain, outer columns may only be free.

    `keep_pending`: the caller takes the free conditions of a plain SELECT into its join.
    """
    from viewkeeper.sql.recursion import with_clause
    from viewkeeper.sql.select import select

    context = with_clause(context, query, domain)
    match query:
        case exp.Select():
            return select(context, query, domain, keep_pending)
        case exp.Subquery():
            if not _has_tail(query):
                return translate(context, query.this, domain, keep_pending)
            return _with_tail(context, query, translate(context, query.this, domain))
        case exp.SetOperation():
            return _with_tail(context, query, _set_operation(context, query, domain))
        case exp.Values():
            return values(context, query, domain)
        case exp.Table():
            return select(context, exp.select("*").from_(query), domain, keep_pending)
        case _:
            raise Untranslatable(f"a query of the form {query.sql(dialect='spark')}")


def values(context: Context, node: exp.Values, domain: OuterValues | None = None) -> Translated:
    if domain is not None:
        raise Untranslatable("VALUES inside a correlated query")
    rows = tuple(tuple(_row(item)) for item in node.expressions)
    if any(cell.find(exp.Column) for row in rows for cell in row):
        raise Untranslatable("VALUES with columns in it")
    names = tuple(f"col{number}" for number in range(1, len(rows[0]) + 1))
    columns = tuple(context.fresh(name) for name in names)
    return Translated(Values(columns, rows), names, columns)


def _row(item: exp.Expr) -> list[exp.Expr]:
    if isinstance(item, exp.Tuple):
        return [cell.unalias().copy() for cell in item.expressions]
    return [item.unnest().copy()]


def _set_operation(context: Context, node: exp.SetOperation, domain: OuterValues | None) -> Translated:
    if node.args.get("by_name") or node.args.get("side") or node.args.get("on"):
        raise Untranslatable("a set operation by name")
    left = translate(context, node.this, domain)
    right = translate(context, node.expression, domain)
    if domain is None and (left.links or right.links):
        raise NeedsDomain(Scope(parent=context.parent))
    if len(left.names) != len(right.names):
        raise InvalidSQL(
            "The two sides of a set operation have different numbers of columns.",
            f"{len(left.names)} and {len(right.names)}: {node.sql(dialect='spark')[:120]}",
        )
    columns = tuple(context.fresh(name) for name in (*left.names, *left.links))
    sides = (_aligned(left, columns), _aligned(right, columns))
    rel = _combined(node, sides[0], sides[1])
    links = columns[len(left.names) :]
    return Translated(rel, left.names, columns[: len(left.names)], links, left.matches, left.null_safe)


def _aligned(answer: Translated, columns: tuple[str, ...]) -> Relation:
    names = (*answer.columns, *answer.links)
    pairs = zip(columns, names, strict=True)
    return projected(answer.rel, (Named(new, column(old)) for new, old in pairs))


def _combined(node: exp.SetOperation, left: Relation, right: Relation) -> Relation:
    distinct = bool(node.args.get("distinct"))
    match node:
        case exp.Union():
            both = UnionAll((*_inputs(left), right))
            return Distinct(both) if distinct else both
        case exp.Except():
            return Difference(left, right, all=not distinct)
        case exp.Intersect():
            return Intersection(left, right, all=not distinct)
        case _:
            raise Untranslatable(f"the set operation {node.key.upper()}")


def _inputs(rel: Relation) -> tuple[Relation, ...]:
    return rel.inputs if isinstance(rel, UnionAll) else (rel,)


def _has_tail(node: exp.Expr) -> bool:
    return any(node.args.get(clause) for clause in ("order", "limit", "offset"))


def _with_tail(context: Context, node: exp.Expr, answer: Translated) -> Translated:
    """ORDER BY, LIMIT and OFFSET after a set operation: they see its output columns only."""
    if not _has_tail(node):
        return answer
    fields = [Field(None, n, c) for n, c in zip(answer.names, answer.columns, strict=True)]
    return limited(context, node, answer, Scope(fields))
