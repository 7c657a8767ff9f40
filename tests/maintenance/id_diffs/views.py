"""Random views over keyed tables, and random changes of the tables."""

from __future__ import annotations

from random import Random

from sqlglot import exp

from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    conjunction,
    equal,
    function,
    literal,
    not_,
    or_,
    same,
)
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
    UnionAll,
)
from viewkeeper.algebra.schema import Column, TableSchema

Tables = dict[str, list[tuple[int | None, ...]]]


def _table(name: str, key: tuple[str, ...], *attributes: str) -> TableSchema:
    columns = [Column(name, "int", nullable=False) for name in key] + [Column(a, "int") for a in attributes]
    return TableSchema(name, tuple(columns), key)


SCHEMAS = {
    schema.name: schema
    for schema in (
        _table("r", ("k",), "a", "b", "c"),
        _table("s", ("k", "l"), "d", "e"),
        _table("t", ("m",), "f", "g"),
    )
}


class ViewMaker:
    """Draws plans; column names are unique in a plan."""

    def __init__(self, random: Random, scans: int = 3, plain: bool = False) -> None:
        """`plain`: functions look at one column, and aggregates are sums and counts."""
        self.random, self.scans, self.names, self.plain = random, scans, 0, plain

    def view(self, depth: int) -> Relation:
        below = self.scan() if depth == 0 or self.scans <= 0 else None
        if below is not None:
            return below
        often = (self.project, self.aggregate, self.join, self.join)
        others = (self.filter, self.project, self.join, self.semijoin, self.union, self.aggregate)
        make = self.random.choice((*often, *others, self.distinct, self.set_operation))
        return make(depth - 1)

    def name(self, wish: str) -> str:
        self.names += 1
        return f"{wish}{self.names}"

    def scan(self) -> Relation:
        self.scans -= 1
        schema = self.random.choice(list(SCHEMAS.values()))
        read = [c for c in schema.columns if self.random.random() < 0.85] or [schema.columns[0]]
        return Scan(schema.name, tuple(Bound(self.name(c.name), c) for c in read))

    def filter(self, depth: int) -> Relation:
        below = self.view(depth)
        return Filter(below, self.condition(below.columns))

    def project(self, depth: int) -> Relation:
        below = self.view(depth)
        kept = [Named(name, column(name)) for name in below.columns if self.random.random() < 0.6]
        made = [Named(self.name("p"), self.value(below.columns)) for _ in range(self.random.randint(0, 2))]
        return Project(below, tuple(kept + made) or same(below.columns[:1]))

    def join(self, depth: int) -> Relation:
        left, right = self.view(depth), self.view(self.random.randint(0, depth))
        return Join(left, right, JoinKind.INNER, self.join_condition(left, right))

    def semijoin(self, depth: int) -> Relation:
        left, right = self.view(depth), self.view(self.random.randint(0, depth))
        kind = self.random.choice((JoinKind.SEMI, JoinKind.ANTI))
        return Join(left, right, kind, self.join_condition(left, right))

    def union(self, depth: int) -> Relation:
        branches = [self.view(depth), self.view(self.random.randint(0, depth))]
        width = min(len(branch.columns) for branch in branches)
        trimmed = [Project(b, same(self.random.sample(b.columns, width))) for b in branches]
        return UnionAll(tuple(trimmed))

    def distinct(self, depth: int) -> Relation:
        below = self.view(depth)
        names = [name for name in below.columns if self.random.random() < 0.6] or below.columns[:1]
        return Distinct(Project(below, same(names)))

    def set_operation(self, depth: int) -> Relation:
        left, right = self.view(depth), self.view(self.random.randint(0, depth))
        width = self.random.randint(1, min(len(left.columns), len(right.columns), 2))
        left, right = Project(left, same(left.columns[:width])), Project(right, same(right.columns[-width:]))
        return self.random.choice((Difference, Intersection))(left, right, all=False)

    def aggregate(self, depth: int) -> Relation:
        below = self.view(depth)
        count = self.random.choice((0, 1, 1, 1, 2))
        keys = [Named(self.name("g"), self.key(below.columns)) for _ in range(count)]
        calls = [Named(self.name("x"), self.call(below.columns)) for _ in range(self.random.randint(1, 3))]
        return Aggregate(below, tuple(keys), tuple(calls))

    def key(self, names: tuple[str, ...]) -> Scalar:
        return self.value(names) if self.random.random() < 0.2 else column(self.random.choice(names))

    def call(self, names: tuple[str, ...]) -> Scalar:
        value = self.value(names) if self.random.random() < 0.3 else column(self.random.choice(names))
        sums = (
            exp.Count(this=exp.Star(), big_int=True),
            exp.Count(this=value.copy(), big_int=True),
            exp.Sum(this=value.copy()),
            exp.Sum(this=value.copy()),
            exp.Avg(this=value.copy()),
        )
        of_any_kind = (
            exp.Min(this=value.copy()),
            exp.Count(this=exp.Distinct(expressions=[value.copy()]), big_int=True),
        )
        call: Scalar = self.random.choice(sums if self.plain else (*sums, *of_any_kind))
        if self.random.random() < 0.15:
            return exp.Filter(this=call, expression=exp.Where(this=self.condition(names)))
        return call

    def value(self, names: tuple[str, ...]) -> Scalar:
        one, other = column(self.random.choice(names)), column(self.random.choice(names))
        other = one if self.plain else other
        return self.random.choice(
            (
                exp.Add(this=one.copy(), expression=other.copy()),
                exp.Mul(this=one.copy(), expression=literal(2)),
                function("coalesce", one, literal(7)),
                exp.Case().when(exp.GT(this=one.copy(), expression=literal(1)), other.copy()),
                literal(5),
            )
        )

    def condition(self, names: tuple[str, ...]) -> Scalar:
        parts = [self.comparison(names) for _ in range(self.random.choice((1, 1, 2)))]
        return or_(*parts) if self.random.random() < 0.3 else conjunction(parts)

    def comparison(self, names: tuple[str, ...]) -> Scalar:
        one = column(self.random.choice(names))
        if self.random.random() < 0.15:
            return exp.Is(this=one, expression=exp.null())
        constant = self.random.random() < 0.6
        other = literal(self.random.randint(0, 1)) if constant else column(self.random.choice(names))
        test = self.random.choice((exp.EQ, exp.GT, exp.LTE, exp.NEQ))(this=one, expression=other)
        return not_(test) if self.random.random() < 0.1 else test

    def join_condition(self, left: Relation, right: Relation) -> Scalar:
        if self.random.random() < 0.1:
            return exp.true()
        parts: list[Scalar] = []
        for _ in range(self.random.choice((1, 1, 2))):
            one, other = column(self.random.choice(left.columns)), column(self.random.choice(right.columns))
            parts.append(equal(one, other))
        if self.random.random() < 0.2:
            parts.append(self.comparison((*left.columns, *right.columns)))
        if self.random.random() < 0.1:
            one, other = column(self.random.choice(left.columns)), column(self.random.choice(right.columns))
            return not_(and_(equal(one, literal(1)), equal(other, literal(1))))
        return conjunction(parts)


def random_view(random: Random, plain: bool = False) -> Relation:
    return ViewMaker(random, random.randint(1, 3), plain).view(random.choice((1, 2, 2, 3, 3, 4)))


def random_tables(random: Random, rows: int = 5) -> Tables:
    return {
        name: [_row(random, schema, key) for key in sorted(_keys(random, schema, rows))]
        for name, schema in SCHEMAS.items()
    }


def random_change(random: Random, tables: Tables) -> tuple[Tables, Tables]:
    """The tables after some insertions, deletions and updates; and rows that came and went."""
    after: Tables = {}
    noise: Tables = {}
    for name, schema in SCHEMAS.items():
        new = {_key(schema, row): row for row in tables[name]}
        noise[name] = []
        for _ in range(random.choice((0, 1, 2, 4, 6))):
            _modify(random, schema, new, noise[name])
        after[name] = list(new.values())
    return after, noise


def _modify(
    random: Random, schema: TableSchema, rows: dict[tuple[int, ...], tuple[int | None, ...]], noise: list
) -> None:
    what = random.choice(("insert", "delete", "update", "update", "update", "rekey"))
    if what == "insert" or not rows:
        for key in _keys(random, schema, 1):
            rows.setdefault(key, _row(random, schema, key))
        return
    key = random.choice(list(rows))
    row = rows[key]
    noise.append(row)
    if what in ("delete", "rekey"):
        del rows[key]
    if what == "rekey":
        for new in _keys(random, schema, 1):
            rows.setdefault(new, (*new, *row[len(new) :]))
    if what == "update":
        place = random.randrange(len(schema.key), len(schema.columns))
        rows[key] = (*row[:place], _value(random), *row[place + 1 :])


def _keys(random: Random, schema: TableSchema, count: int) -> set[tuple[int, ...]]:
    wanted = random.randint(min(1, count), count)
    return {tuple(random.randint(0, 3) for _ in schema.key) for _ in range(wanted)}


def _row(random: Random, schema: TableSchema, key: tuple[int, ...]) -> tuple[int | None, ...]:
    return (*key, *(_value(random) for _ in schema.columns[len(key) :]))


def _key(schema: TableSchema, row: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(value for value in row[: len(schema.key)] if value is not None)


def _value(random: Random) -> int | None:
    return random.choice((0, 1, 2, None))
