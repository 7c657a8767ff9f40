"""A snowflake and summaries over it: the same joins grouped by other keys, as lattices are made of."""

from __future__ import annotations

from random import Random

from fuzz.aggregates import random_aggregate
from fuzz.expressions import Ref
from fuzz.query import Expr, Item, Join, Named, Select
from fuzz.schemas import Column, Table
from fuzz.values import BY_TYPE, family_of

KEYS = tuple(str(n) for n in range(1, 13))
MEASURES = ("int", "bigint", "decimal(8,2)", "double", "smallint")
SOURCES = (
    Named("t2", "r1"),
    Join("INNER", Named("t2", "r1"), Named("t1", "r2"), (Expr("r1.a = r2.k"),)),
    Join(
        "INNER",
        Join("INNER", Named("t2", "r1"), Named("t1", "r2"), (Expr("r1.a = r2.k"),)),
        Named("t0", "r3"),
        (Expr("r2.a = r3.k"),),
    ),
)


def star_tables(rng: Random) -> tuple[Table, ...]:
    """Facts `t2` about `t1`, which are parts of `t0`."""

    def of(name: str, kind: str) -> Column:
        return Column(name, kind, BY_TYPE[kind].plain, rng.random() < 0.6)

    def key(name: str, nullable: bool = False) -> Column:
        return Column(name, "int", KEYS, nullable)

    t0 = Table("t0", (key("k"), of("a", "string"), of("b", "boolean")), ("k",))
    t1 = Table("t1", (key("k"), key("a", True), of("b", "string"), of("c", "int")), ("k",), ("a", "t0"))
    measures = (of("c", rng.choice(MEASURES)), of("d", "date"), of("e", rng.choice(MEASURES)))
    keyed = rng.random() < 0.5
    first = key("k") if keyed else of("k", "int")
    t2 = Table("t2", (first, key("a", True), of("b", "string"), *measures), ("k",) * keyed, ("a", "t1"))
    return t0, t1, t2


def random_summary(rng: Random) -> Select:
    """A GROUP BY over one, two or three of the tables, by some of their columns."""
    source = rng.choice((*SOURCES, SOURCES[1], SOURCES[2], SOURCES[2]))
    keys = [Expr(text) for text in ("r1.a", "r1.b", "r1.d")]
    keys += [Expr(text) for text in ("r2.a", "r2.b", "r2.c")] if "r2" in str(source) else []
    keys += [Expr(text) for text in ("r3.a", "r3.b")] if "r3" in str(source) else []
    chosen = tuple(rng.sample(keys, rng.choice((0, 1, 1, 2, 2, 3))))
    scope = [Ref(f"r1.{name}", family_of(kind), kind) for name, kind in (("c", "int"), ("e", "int"))]
    values = [Expr("COUNT(*)")] if rng.random() < 0.7 else []
    plain = rng.sample(("SUM(r1.c)", "SUM(r1.e)", "MIN(r1.d)", "MAX(r1.c)", "COUNT(r1.c)", "AVG(r1.e)"), 2)
    values += [Expr(text) for text in plain]
    if rng.random() < 0.25:
        values.append(random_aggregate(rng, scope))
    items = tuple(Item(expr, f"x{number}") for number, expr in enumerate((*chosen, *values)))
    where = (Expr("r1.b <> 'c'"),) if rng.random() < 0.12 else ()
    return Select(items, source, where, chosen)
