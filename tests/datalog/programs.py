"""Recursive programs that the laws are tried with, and the tables that they read."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.sql.known_relations import StaticCatalog

LINK = TableSchema("link", (Column("src", "int"), Column("dst", "int")))
COST = TableSchema("cost", (Column("src", "int"), Column("dst", "int"), Column("price", "int")))
NODE = TableSchema("node", (Column("id", "int"),))
MARK = TableSchema("mark", (Column("id", "int"),))
TABLES = {schema.name: schema for schema in (LINK, COST, NODE, MARK)}
CATALOG = StaticCatalog(TABLES.values())


@dataclass(frozen=True)
class Example:
    """`rules` always stand; each of `optional` is added and dropped while data changes."""

    name: str
    tables: tuple[str, ...]
    rules: str
    optional: tuple[str, ...] = ()


EXAMPLES = (
    Example(
        "right-linear closure",
        ("link",),
        "reach(X, Y) :- link(X, Y).  reach(X, Y) :- link(X, Z), reach(Z, Y).",
        ("reach(X, X) :- link(X, _).",),
    ),
    Example(
        "left-linear closure over two tables",
        ("link", "cost"),
        "reach(X, Y) :- link(X, Y).  reach(X, Y) :- reach(X, Z), link(Z, Y).",
        ("reach(X, Y) :- reach(X, Z), cost(Z, Y, P), P > 1.", "reach(X, Y) :- cost(X, Y, 2)."),
    ),
    Example(
        "non-linear closure",
        ("link",),
        "reach(X, Y) :- link(X, Y).  reach(X, Y) :- reach(X, Z), reach(Z, Y).",
        ("reach(0, 3).", "reach(Y, X) :- reach(X, Y), X < 2."),
    ),
    Example(
        "same generation",
        ("link", "mark"),
        """sg(X, Y) :- link(P, X), link(P, Y), X != Y.
           sg(X, Y) :- link(P, X), sg(P, Q), link(Q, Y).""",
        ("sg(X, X) :- mark(X).",),
    ),
    Example(
        "odd and even paths",
        ("link", "mark"),
        """odd(X, Y) :- link(X, Y).
           odd(X, Y) :- even(X, Z), link(Z, Y).
           even(X, Y) :- odd(X, Z), link(Z, Y).""",
        ("even(X, X) :- mark(X).", "odd(X, Y) :- even(Y, X)."),
    ),
    Example(
        "reachability with negation above",
        ("link", "node", "mark"),
        """r(X) :- mark(X).
           r(Y) :- r(X), link(X, Y).
           unreached(X) :- node(X), not r(X).
           blocked(X, Y) :- link(X, Y), unreached(X), not unreached(Y).""",
        ("unreached(X) :- mark(X), !link(X, _).",),
    ),
    Example(
        "recursion through what is not marked",
        ("link", "mark"),
        """free(X, Y) :- link(X, Y), not mark(Y).
           free(X, Y) :- free(X, Z), link(Z, Y), not mark(Y).
           cut(X) :- link(X, _), not free(X, _).""",
        ("free(X, Y) :- link(X, Y), X > Y, not link(Y, X).",),
    ),
    Example(
        "bounded hop counts",
        ("link", "mark"),
        """hops(X, 0) :- mark(X).
           hops(Y, N + 1) :- hops(X, N), link(X, Y), N < 4.
           nearest(X, M) :- groupby(hops(X, N), [X], M = min(N)).
           rim(X) :- nearest(X, M), groupby(nearest(_, N), [], T = max(N)), M = T.""",
        ("hops(X, 2) :- link(X, X).",),
    ),
    Example(
        "aggregation above recursion",
        ("link", "cost"),
        """reach(X, Y) :- link(X, Y).
           reach(X, Y) :- reach(X, Z), cost(Z, Y, _).
           degree(X, N, F) :- groupby(reach(X, Y), [X], N = count(), F = max(Y)).
           dear(X, T) :- groupby(cost(X, _, P), [X], T = sum(P)), degree(X, N, _), N > 1.""",
    ),
    Example(
        "recursion below which is an aggregate",
        ("link", "cost"),
        """cheapest(X, Y, M) :- groupby(cost(X, Y, P), [X, Y], M = min(P)).
           way(X, Y) :- cheapest(X, Y, M), M <= 2.
           way(X, Y) :- way(X, Z), groupby(cost(Z, Y, P), [Z, Y], S = sum(P)), S < 5.
           way(X, Y) :- way(X, Z), way(Z, Y), link(X, Y).""",
    ),
    Example(
        "bill of materials with quantities",
        ("cost",),
        """part(A, B, Q, 1) :- cost(A, B, Q).
           part(A, C, Q1 * Q2, D + 1) :- part(A, B, Q1, D), cost(B, C, Q2), D < 3.
           needs(A, C, T) :- groupby(part(A, C, Q, _), [A, C], T = sum(Q)).""",
    ),
    Example(
        "points-to",
        ("link", "cost", "node", "mark"),
        """points(V, O) :- link(V, O), mark(O).
           points(V, O) :- cost(V, W, 1), points(W, O).
           points(V, O) :- cost(V, W, 2), points(W, P), heap(P, O).
           heap(P, O) :- cost(V, W, 3), points(V, P), points(W, O).
           alias(V, W) :- points(V, O), points(W, O), V < W.
           alone(V) :- node(V), not alias(V, _), not alias(_, V).""",
        ("heap(O, O) :- mark(O).",),
    ),
    Example(
        "two recursions, one above the other",
        ("link", "cost", "mark"),
        """a(X, Y) :- link(X, Y).
           a(X, Y) :- a(X, Z), a(Z, Y).
           b(X, Y) :- cost(X, Y, _), not a(X, Y).
           b(X, Y) :- b(X, Z), a(Z, Y), not mark(Z).
           c(X) :- b(X, X).""",
        ("b(X, Y) :- mark(X), a(Y, X).",),
    ),
    Example(
        "nonrecursive",
        ("link", "cost", "mark"),
        """hop(X, Y) :- link(X, Z), link(Z, Y).
           hop(X, Y) :- cost(X, Y, P), P = 1.
           only(X, Y) :- hop(X, Y), not link(X, Y), not mark(X).""",
        ("hop(X, X) :- mark(X).",),
    ),
)
