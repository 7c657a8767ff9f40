"""Random views as trees of SQL: the shapes of a SELECT, set operations, CTEs and subqueries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from fuzz.aggregates import random_aggregate, random_window
from fuzz.expressions import COMPARABLE, Ref, Scope, bare, column, predicate, value
from fuzz.forms import random_form
from fuzz.query import Expr, Item, Query, Select, SetOp, With
from fuzz.sources import Columns, Draw, Scoped, random_source
from fuzz.subqueries import subquery_predicate, subquery_value

Typed = tuple[Query, list[Ref]]
"""A query and its columns, whose types are guesses."""

ODD = 0.01
"""How many columns have a name with spaces, dots or quotes in it."""

SETS = ("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")


def random_view(rng: Random, relations: Mapping[str, Columns]) -> Query:
    """A query over some relations, two or three levels deep."""
    draw = Draw(rng, relations, random_query)
    roll = rng.random()
    if roll < 0.3:
        return random_form(draw)
    if roll < 0.4:
        return _with_cte(draw)
    return random_query(draw, rng.choice((0, 1, 1, 2)))[0]


def _with_cte(draw: Draw) -> Query:
    name = draw.fresh("w")
    inner, columns = random_query(draw, 1)
    draw.ctes[name] = [(ref.text, ref.type or ref.family) for ref in columns]
    body, _ = random_query(draw, 1)
    return With(name, inner, body)


def random_query(draw: Draw, depth: int) -> Typed:
    roll = draw.rng.random()
    if roll < 0.13:
        return _set_operation(draw, depth)
    found = random_source(draw, depth)
    if roll < 0.45:
        return _aggregated(draw, found)
    if roll < 0.58:
        return _windowed(draw, found)
    if roll < 0.66:
        return _top(draw, found)
    return _plain(draw, found, depth)


def _where(draw: Draw, scope: Scope, depth: int = 0) -> tuple[Expr, ...]:
    found = []
    while draw.rng.random() < 0.25:
        found.append(predicate(draw.rng, scope))
    if draw.rng.random() < 0.15:
        found.append(subquery_predicate(draw, scope))
    return tuple(found)


def _odd_name(draw: Draw) -> str:
    """A name that only quotes make one."""
    form = draw.rng.choice(("avg(x{})", "x {}", "x.{}", "é{}", "x``{}", "__count{}", "SELECT{}"))
    return f"`{form.format(draw.fresh(''))}`"


def _items(draw: Draw, values: list[Expr]) -> tuple[tuple[Item, ...], list[Ref]]:
    names = [draw.fresh("x") if draw.rng.random() > ODD else _odd_name(draw) for _ in values]
    items = tuple(Item(expr, name) for expr, name in zip(values, names))
    return items, [Ref(name, expr.family) for expr, name in zip(values, names)]


def _plain(draw: Draw, found: Scoped, depth: int) -> Typed:
    rng = draw.rng
    values = [bare(rng, value(rng, found.scope, 2)) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
    if rng.random() < 0.15:
        values.append(subquery_value(draw, found.scope))
    items, columns = _items(draw, values)
    query = Select(items, found.source, _where(draw, found.scope), distinct=rng.random() < 0.2)
    return query, columns


def _aggregated(draw: Draw, found: Scoped) -> Typed:
    rng = draw.rng
    keys = [bare(rng, value(rng, found.scope, 1, COMPARABLE)) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    aggregates = [random_aggregate(rng, found.scope) for _ in range(rng.choice((1, 1, 2, 3)))]
    shown = keys if rng.random() < 0.85 else []
    items, columns = _items(draw, [*shown, *aggregates])
    grouping = rng.choice(("ROLLUP", "CUBE", "GROUPING SETS")) if keys and rng.random() < 0.12 else ""
    having = (_having(rng, found.scope),) if keys and rng.random() < 0.2 else ()
    where = _where(draw, found.scope)
    return Select(items, found.source, where, tuple(dict.fromkeys(keys)), grouping, having), columns


def _having(rng: Random, scope: Scope) -> Expr:
    if rng.random() < 0.5:
        return Expr(f"COUNT(*) {rng.choice(('>', '=', '<'))} {rng.choice((1, 2))}", (), "boolean")
    aggregate = random_aggregate(rng, scope)
    return Expr("{0} IS NOT NULL", (aggregate,), "boolean")


def _windowed(draw: Draw, found: Scoped) -> Typed:
    rng = draw.rng
    values = [rng.choice(found.scope).expr for _ in range(rng.choice((1, 2)))]
    values += [random_window(rng, found.scope) for _ in range(rng.choice((1, 1, 2)))]
    items, columns = _items(draw, values)
    return Select(items, found.source, _where(draw, found.scope)), columns


def _top(draw: Draw, found: Scoped) -> Typed:
    """The first rows in an order by all columns: which these are leaves nothing to choose."""
    rng = draw.rng
    fitting = [ref for ref in found.scope if ref.family in COMPARABLE and ref.family != "collated"]
    chosen = rng.sample(fitting, min(len(fitting), rng.choice((1, 2, 3)))) or [rng.choice(found.scope)]
    items, columns = _items(draw, [ref.expr for ref in chosen])
    words = ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
    order = [Expr(f"{ref.text}{rng.choice(words)}", (), ref.family) for ref in columns]
    rng.shuffle(order)
    limit = rng.choice((1, 2, 3, 5))
    return Select(items, found.source, _where(draw, found.scope), order=tuple(order), limit=limit), columns


def _set_operation(draw: Draw, depth: int) -> Typed:
    """Two queries with columns of the same families."""
    rng = draw.rng
    left, columns = _plain(draw, random_source(draw, depth), depth)
    found = random_source(draw, depth)
    values = []
    for ref in columns:
        same = column(rng, found.scope, (ref.family,))
        values.append(same.expr if same else Expr("NULL", (), ref.family))
    items, _ = _items(draw, values)
    right: Query = Select(items, found.source, _where(draw, found.scope))
    if rng.random() < 0.15:
        right = replace(right, distinct=True)
    return SetOp(rng.choice(SETS), left, right), columns
