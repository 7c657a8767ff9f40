"""Subqueries in expressions become joins (Neumann and Kemper, "Unnesting Arbitrary Queries", 2015).

    WHERE EXISTS (Q)      a semi join with Q, on the conditions of Q that mention the outer row
    WHERE x NOT IN (Q)    an anti join on  x = q OR (x = q) IS NULL
    (SELECT agg … Q)      a left join with Q grouped by what ties it to the outer row;
                          COUNT of a missing group is 0
    anything else         the distinct values of the outer columns join Q as a *domain*; Q carries them
                          along, and a null-safe join brings its rows back to the outer rows

Under OR, in CASE, or in a select list, EXISTS (Q) is (SELECT COUNT(*) … Q) > 0, and IN and NOT IN are the
tests of rows that WHERE makes of them: TRUE or FALSE. SQL's NULL is not among their values in Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, column, equal, same
from viewkeeper.algebra.facts import determines
from viewkeeper.algebra.relations import Aggregate, JoinKind, Project, Relation
from viewkeeper.sql.aggregate_calls import is_aggregate_call
from viewkeeper.sql.block import Block, domain_of, join_condition, trial_domain
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.resolve import OuterColumn, is_in_query, is_not_in_query, outside_subqueries, top_down
from viewkeeper.sql.scope import NeedsDomain, Untranslatable

_DERIVED = "__rows"


def semi_join(block: Block, part: exp.Expr) -> bool:
    """Joins a conjunct of WHERE that is [NOT] EXISTS or [NOT] IN; says whether it was one."""
    inner = part.unnest()
    negated = isinstance(inner, exp.Not)
    test = inner.this.unnest() if negated else inner
    if is_in_query(test):
        test = _in_as_exists(block, test, negated)
    if not isinstance(test, exp.Exists) or not isinstance(test.this, exp.Query):
        return False
    answer = correlated(block, _bare(test.this), keep_pending=True)
    if answer.late is not None:
        block.filter(exp.false() if negated else exp.true())
        return True
    block.join(answer.rel, JoinKind.ANTI if negated else JoinKind.SEMI, join_condition(answer))
    return True


def attach(block: Block, node: exp.Expr) -> Scalar:
    """Joins a subquery to the block's plan; gives the expression of its value."""
    match node:
        case exp.Subquery():
            return scalar_value(block, node.unnest())
        case exp.Exists():
            return _positive(scalar_value(block, _counted(node.this)))
        case exp.In():
            return _positive(scalar_value(block, _counted(_matching(node, _outer_items(node), _equal))))
        case exp.Not():
            test = node.this.unnest()
            rows = _matching(test, _outer_items(test), _equal_or_unknown)
            return _nothing(scalar_value(block, _counted(rows)))
        case _:
            return scalar_value(block, node)


def attach_deferred(block: Block, expr: Scalar) -> Scalar:
    """Subqueries that waited for the aggregation are joined to its result."""

    def join(node: exp.Expr) -> Scalar | None:
        if is_in_query(node) or is_not_in_query(node):
            return attach(block, node)
        return attach(block, node) if isinstance(node, (exp.Query, exp.Exists)) else None

    return top_down(expr, join)


def scalar_value(block: Block, query: exp.Expr) -> Scalar:
    """The single value of a scalar subquery; NULL when it has no row."""
    answer = correlated(block, query)
    if len(answer.names) != 1:
        raise Untranslatable("a scalar subquery with several columns")
    if answer.late is None and not determines(answer.rel, answer.links, block.context.schemas):
        answer = _the_only_row(block.context, answer)
    value = answer.columns[0]
    kind = JoinKind.INNER if _one_row(answer.rel) else JoinKind.LEFT
    block.join(answer.rel, kind, join_condition(answer))
    return answer.late[value].copy() if answer.late else column(value)


def _the_only_row(context: Context, answer: Translated) -> Translated:
    """A query that may have several rows: its single value, or, as in Spark, an error for an outer row
    that meets more than one."""
    value, count = context.fresh(answer.names[0]), context.fresh("matches")
    largest = Named(value, exp.Max(this=column(answer.columns[0])))
    rows = Named(count, exp.Count(this=exp.Star()))
    rel = Aggregate(answer.rel, same(answer.links), (largest, rows))
    several = exp.GT(this=column(count), expression=exp.Literal.number(1))
    complaint = exp.Literal.string("a scalar subquery returned more than one row")
    error = exp.Anonymous(this="raise_error", expressions=[complaint])
    only = exp.paren(exp.Case().when(several, error).else_(column(value)))
    return replace(answer, rel=rel, columns=(value,), late={value: only})


def _one_row(rel: Relation) -> bool:
    """Whether the plan has exactly one row, so that no outer row is lost by joining it."""
    while isinstance(rel, Project):
        rel = rel.child
    return isinstance(rel, Aggregate) and not rel.keys


def correlated(block: Block, query: exp.Expr, keep_pending: bool = False) -> Translated:
    """The query inside the block's scope: free where its outer columns allow it, else with a domain."""
    from viewkeeper.sql.query import translate

    context = block.context.inside(block.scope)
    try:
        return translate(context, query, None, keep_pending)
    except NeedsDomain as needs:
        if needs.scope.parent is not block.scope:
            raise
    used = _outer_columns(block, query)
    return translate(context, query, domain_of(block, used))


def _outer_columns(block: Block, query: exp.Expr) -> set[str]:
    """Which columns of the block's plan the query mentions, found by translating it once for show."""
    from viewkeeper.sql.query import translate

    probe = replace(block.scope, asked=set())
    translate(block.context.inside(probe), query, trial_domain(block))
    return probe.asked


def _bare(query: exp.Query) -> exp.Query:
    """A query of which only the existence of rows matters: DISTINCT and ORDER BY do not."""
    if not isinstance(query, exp.Select) or query.args.get("limit") or query.args.get("offset"):
        return query
    query = query.copy()
    query.set("distinct", None)
    query.set("order", None)
    if is_plain_select(query):
        query.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
    return query


def is_plain_select(query: exp.Expr) -> bool:
    """FROM and WHERE only: each row of them is a row of the query."""
    if not isinstance(query, exp.Select):
        return False
    clauses = ("group", "having", "qualify", "limit", "offset", "distinct", "laterals", "with_")
    if any(query.args.get(clause) for clause in clauses):
        return False
    items = [node for item in query.expressions for node in outside_subqueries(item)]
    return not any(is_aggregate_call(node) or isinstance(node, (exp.Window, exp.Explode)) for node in items)


def _counted(query: exp.Query) -> exp.Select:
    """SELECT COUNT(*) of the query's rows."""
    query = _bare(query)
    count = exp.Count(this=exp.Star())
    if is_plain_select(query):
        counted = query.copy()
        counted.set("expressions", [count])
        counted.set("order", None)
        return counted  # type: ignore[return-value]
    return exp.select(count).from_(query.subquery(_DERIVED))


def _positive(count: Scalar) -> Scalar:
    return exp.paren(exp.GT(this=count, expression=exp.Literal.number(0)))


def _nothing(count: Scalar) -> Scalar:
    return exp.paren(exp.EQ(this=count, expression=exp.Literal.number(0)))


def _in_as_exists(block: Block, test: exp.In, negated: bool) -> exp.Exists:
    """x IN (Q) in WHERE; negated, a comparison that is NULL counts as a match."""
    left = [_outer(block.resolve(item)) for item in _items(test.this)]
    if negated:
        return exp.Exists(this=_matching(test, left, _equal_or_unknown))
    return exp.Exists(this=_matching(test, left, _equal))


def _outer_items(test: exp.In) -> list[Scalar]:
    """The values that are looked for, which are resolved already."""
    return [_outer(item) for item in _items(test.this)]


def _matching(test: exp.In, left: list[Scalar], condition: Callable[[Scalar, Scalar], Scalar]) -> exp.Query:
    """The rows of the IN query for which the condition holds of `x` and the query's outputs."""
    query = test.args["query"].unnest()
    if is_plain_select(query) and not any(item.is_star for item in query.expressions):
        right = [item.unalias().copy() for item in query.expressions]
        inner = query.copy()
    else:
        names = [f"c{number}" for number in range(len(left))]
        right = [exp.column(name, table=_DERIVED) for name in names]
        identifiers = [exp.to_identifier(name) for name in names]
        alias = exp.TableAlias(this=exp.to_identifier(_DERIVED), columns=identifiers)
        source = exp.Subquery(this=query.copy(), alias=alias)
        inner = exp.select(exp.Literal.number(1)).from_(source)
    if len(left) != len(right):
        raise Untranslatable("IN over a query with another number of columns")
    for one, other in zip(left, right, strict=True):
        inner = inner.where(condition(one, other), copy=False)
    return inner  # type: ignore[no-any-return]


def _equal(left: Scalar, right: Scalar) -> Scalar:
    return equal(right, left)


def _equal_or_unknown(left: Scalar, right: Scalar) -> Scalar:
    unknown = exp.Is(this=exp.paren(_equal(left, right)), expression=exp.null())
    return exp.paren(exp.or_(_equal(left, right), unknown))


def _items(expr: exp.Expr) -> list[exp.Expr]:
    inner = expr.unnest()
    return list(inner.expressions) if isinstance(inner, exp.Tuple) else [inner]


def _outer(expr: Scalar) -> Scalar:
    """Plan columns marked as such, so that no inner name can capture them."""

    def mark(node: exp.Expr) -> exp.Expr:
        return OuterColumn(this=node.this.copy()) if isinstance(node, exp.Column) else node

    return expr.transform(mark)
