"""Random views for the law of irrelevant updates, with conditions over every kind of domain."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from viewkeeper.algebra.build import renamed
from viewkeeper.algebra.expressions import Named, Scalar, column, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Difference,
    Distinct,
    Filter,
    Intersection,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Window,
)
from viewkeeper.algebra.schema import Column

TYPES = ("int", "bigint", "string", "decimal(6,2)", "date", "double", "boolean", "timestamp_ntz")
TABLES: dict[str, tuple[Column, ...]] = {
    "r": (Column("a", "int"), Column("b", "int"), Column("s", "string"), Column("p", "decimal(6,2)")),
    "q": (Column("c", "int"), Column("e", "bigint"), Column("t", "string"), Column("d", "date")),
    "u": (Column("k", "int"), Column("x", "double"), Column("o", "decimal(6,2)"), Column("f", "date")),
    "w": (Column("g", "boolean"), Column("n", "int"), Column("z", "timestamp_ntz"), Column("y", "double")),
}
VALUES: dict[str, tuple[str, ...]] = {
    "int": ("-1", "0", "1", "2", "3"),
    "bigint": ("-1", "0", "1", "2", "3"),
    "string": ("''", "'a'", "'ab'", "'b'"),
    "decimal(6,2)": ("-0.50", "0.00", "1.00", "1.01", "2.50"),
    "date": ("DATE '2020-01-01'", "DATE '2020-01-02'", "DATE '2020-02-29'", "DATE '2020-03-01'"),
    "double": ("CAST('NaN' AS DOUBLE)", "-0.5", "0.0", "1.0", "2.5"),
    "boolean": ("TRUE", "FALSE"),
    "timestamp_ntz": ("TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP '2020-01-01 12:30:00'"),
}
_OPERATORS = ("=", "=", "<", "<=", ">", ">=", "<>")
_COMPARABLE = {"int": "exact", "bigint": "exact", "decimal(6,2)": "exact"}


def scalar(text: str) -> Scalar:
    """SQL text as a scalar expression of the algebra."""

    def bare(node: exp.Expression) -> exp.Expression:
        return column(node.name) if isinstance(node, exp.Column) else node

    return sqlglot.parse_one(text, dialect="spark").transform(bare)


@dataclass
class Views:
    """Draws views; `dice` decides everything, so that a seed is a case."""

    dice: random.Random
    scans: int = 0

    def view(self) -> Relation:
        """An SPJ block, often with an operator above it and a filter above that."""
        rel, types = self.block()
        for _ in range(self.dice.choice((0, 1, 1, 2))):
            rel, types = self.above(rel, types)
            if self.dice.random() < 0.6:
                rel = self.filtered(rel, types)
        return rel

    def block(self) -> tuple[Relation, dict[str, str]]:
        rel, types = self.scan()
        for _ in range(self.dice.choice((0, 1, 1, 1, 2))):
            other, more = self.scan()
            if self.dice.random() < 0.3:
                other = self.filtered(other, more)
            kind = self.dice.choice((JoinKind.INNER, JoinKind.INNER, JoinKind.INNER, *JoinKind))
            rel = Join(rel, other, kind, self.condition({**types, **more}))
            types = types if kind in (JoinKind.SEMI, JoinKind.ANTI) else {**types, **more}
        return (self.filtered(rel, types) if self.dice.random() < 0.8 else rel), types

    def scan(self) -> tuple[Relation, dict[str, str]]:
        self.scans += 1
        table = self.dice.choice(("r", "r", "q", "u", "w"))
        bound = tuple(Bound(f"{c.name}{self.scans}", c) for c in TABLES[table])
        return Scan(table, bound), {b.name: b.source.type for b in bound}

    def filtered(self, rel: Relation, types: dict[str, str]) -> Relation:
        return Filter(rel, self.condition(types)) if types else rel

    def above(self, rel: Relation, types: dict[str, str]) -> tuple[Relation, dict[str, str]]:
        match self.dice.choice(
            ("project", "distinct", "group", "union", "minus", "both", "window", "top", "join")
        ):
            case "project":
                return self.projected(rel, types)
            case "distinct":
                rel, types = self.narrow(rel, types)
                return Distinct(rel), types
            case "group":
                return self.grouped(rel, types)
            case "window":
                number = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[column(next(iter(types)))])
                name = self.fresh("n")
                return Window(rel, (next(iter(types)),), (Named(name, number),)), {**types, name: "bigint"}
            case "top":
                return TopK(rel, (exp.Ordered(this=column(next(iter(types))), nulls_first=True),), 2), types
            case "join":
                other, more = self.scan()
                return Join(rel, other, JoinKind.INNER, self.condition({**types, **more})), {**types, **more}
            case operator:
                return self.combined(operator, rel, types)

    def combined(
        self, operator: str, rel: Relation, types: dict[str, str]
    ) -> tuple[Relation, dict[str, str]]:
        """A union or difference with another block, over columns of the same types where there are some."""
        other, more = self.block()
        pairs = [(n, m) for n in types for m in more if types[n] == more[m]]
        chosen = dict(self.dice.sample(pairs, min(2, len(pairs))))
        if not chosen or len(set(chosen.values())) < len(chosen):
            return rel, types
        left = Project(rel, same(chosen))
        right = Project(other, same(chosen.values()))
        kept = {name: types[name] for name in chosen}
        if operator == "union":
            return UnionAll((left, right)), kept
        node = Difference if operator == "minus" else Intersection
        return node(left, right, self.dice.random() < 0.5), kept

    def projected(self, rel: Relation, types: dict[str, str]) -> tuple[Relation, dict[str, str]]:
        rel, types = self.narrow(rel, types)
        made = {self.fresh("m"): name for name in types if types[name] == "int"}
        outputs = (*same(types), *(Named(new, scalar(f"{old} + 1")) for new, old in made.items()))
        return Project(rel, outputs), {**types, **dict.fromkeys(made, "int")}

    def grouped(self, rel: Relation, types: dict[str, str]) -> tuple[Relation, dict[str, str]]:
        names = self.dice.sample(sorted(types), min(len(types), self.dice.choice((0, 1, 1, 2))))
        keys = {self.fresh("k"): name for name in names}
        total = self.fresh("n")
        grouped = Aggregate(
            rel,
            tuple(Named(new, column(old)) for new, old in keys.items()),
            (Named(total, exp.Count(this=exp.Star())),),
        )
        return grouped, {**{new: types[old] for new, old in keys.items()}, total: "bigint"}

    def narrow(self, rel: Relation, types: dict[str, str]) -> tuple[Relation, dict[str, str]]:
        names = self.dice.sample(sorted(types), min(3, len(types)))
        new = {name: self.fresh(name[0]) for name in names}
        kept = renamed(Project(rel, same(names)), new)
        return kept, {new[name]: types[name] for name in names}

    def fresh(self, stem: str) -> str:
        self.scans += 1
        return f"{stem}{self.scans}"

    def condition(self, types: dict[str, str], depth: int = 2) -> Scalar:
        parts = [self.formula(types, depth) for _ in range(self.dice.choice((1, 1, 1, 2, 2, 3)))]
        return scalar(" AND ".join(f"({part})" for part in parts))

    def formula(self, types: dict[str, str], depth: int) -> str:
        if depth and self.dice.random() < 0.25:
            left, right = (self.formula(types, depth - 1) for _ in range(2))
            return self.dice.choice(
                (f"({left}) OR ({right})", f"NOT (({left}) AND ({right}))", f"NOT ({left})")
            )
        return self.atom(types)

    def atom(self, types: dict[str, str]) -> str:
        name = self.dice.choice(sorted(types))
        kind, operator, value = types[name], self.dice.choice(_OPERATORS), self.value(types[name])
        others = [n for n in types if n != name and _kind(types[n]) == _kind(kind)]
        if others and self.dice.random() < 0.6:
            other = self.dice.choice(others)
            return self.dice.choice(
                (f"{name} {operator} {other}",) * 4
                + (self.moved(name, operator, other, kind), f"{name} <=> {other}")
            )
        return self.dice.choice(
            (f"{name} {operator} {value}",) * 6
            + (f"{name} IN ({value}, {self.value(kind)})", f"{name} NOT IN ({value}, {self.value(kind)})")
            + (
                f"{name} BETWEEN {value} AND {self.value(kind)}",
                f"{name} NOT BETWEEN {value} AND {self.value(kind)}",
            )
            + (f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} IN ({value}, NULL)")
            + ((f"{name} LIKE 'a%'", f"upper({name}) = 'A'") if kind == "string" else ())
            + ((name,) if kind == "boolean" else ())
        )

    def moved(self, name: str, operator: str, other: str, kind: str) -> str:
        """`x op y + c` where the domain has a sum."""
        by = self.dice.choice((-2, -1, 1, 2))
        if _kind(kind) == "exact":
            return f"{name} {operator} {other} + {by}"
        return (
            f"{name} {operator} date_add({other}, {by})" if kind == "date" else f"{name} {operator} {other}"
        )

    def value(self, kind: str) -> str:
        return self.dice.choice(VALUES[kind])

    def row(self, table: str) -> tuple[Any, ...]:
        """A row as SQL literals; every column is NULL now and then."""
        return tuple("NULL" if self.dice.random() < 0.12 else self.value(c.type) for c in TABLES[table])


def _kind(kind: str) -> str:
    return _COMPARABLE.get(kind, kind)
