"""Random subqueries: IN, EXISTS and scalar ones, correlated or not, in WHERE and in the select list."""

from __future__ import annotations

from random import Random

from fuzz.aggregates import random_aggregate
from fuzz.expressions import COMPARABLE, Ref, Scope, column, equality, predicate
from fuzz.query import Expr, Item, Named, Select
from fuzz.sources import Draw, quoted
from fuzz.values import family_of


def _inner(draw: Draw) -> tuple[Named, list[Ref]]:
    name = draw.rng.choice(sorted(draw.relations))
    alias = draw.fresh("s")
    scope = [Ref(f"{alias}.{quoted(c)}", family_of(kind), kind) for c, kind in draw.relations[name]]
    return Named(name, alias), scope


def _correlation(rng: Random, outer: Scope, inner: Scope, chance: float) -> tuple[Expr, ...]:
    found = [equality(rng, inner, outer)] if rng.random() < chance else []
    if rng.random() < 0.3:
        found.append(predicate(rng, inner, 0))
    return tuple(found)


def subquery_predicate(draw: Draw, scope: Scope) -> Expr:
    """`[NOT] EXISTS`, `[NOT] IN`, or a comparison with one value."""
    rng = draw.rng
    source, inner = _inner(draw)
    roll = rng.random()
    if roll < 0.4:
        query = Select((Item(Expr("1")),), source, _correlation(rng, scope, inner, 0.9))
        return Expr(f"{rng.choice(('EXISTS', 'NOT EXISTS'))} ({{0}})", (query,), "boolean")
    ref = column(rng, scope, COMPARABLE)
    same = column(rng, inner, (ref.family,)) if ref else None
    if ref is None or same is None:
        return Expr("EXISTS ({0})", (Select((Item(Expr("1")),), source),), "boolean")
    if roll < 0.8:
        query = Select((Item(same.expr),), source, _correlation(rng, scope, inner, 0.25))
        return Expr(f"{{0}} {rng.choice(('IN', 'NOT IN'))} ({{1}})", (ref.expr, query), "boolean")
    extreme = Expr(f"{rng.choice(('MIN', 'MAX'))}({{0}})", (same.expr,), same.family)
    query = Select((Item(extreme),), source, _correlation(rng, scope, inner, 0.5))
    return Expr(f"{{0}} {rng.choice(('=', '<', '>=', '<>'))} ({{1}})", (ref.expr, query), "boolean")


def subquery_value(draw: Draw, scope: Scope) -> Expr:
    """An aggregate over another relation, or the truth of a condition on it, as a column."""
    rng = draw.rng
    if rng.random() < 0.4:
        return Expr("({0})", (subquery_predicate(draw, scope),), "boolean")
    source, inner = _inner(draw)
    aggregate = random_aggregate(rng, inner)
    query = Select((Item(aggregate),), source, _correlation(rng, scope, inner, 0.7))
    return Expr("({0})", (query,), aggregate.family)
