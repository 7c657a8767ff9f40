"""The algebra interpreted over Python dictionaries, rows to signed counts: slow per row, fast to start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from sqlglot import exp

from viewkeeper.algebra.expressions import conjuncts
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Filter,
    Intersection,
    Join,
    JoinKind,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
    Values,
)
from viewkeeper.maintenance.recursion.port import Derivation
from viewkeeper.sql.render import state_name

Bag = dict[tuple, int]
Row = tuple
Value = Callable[[Row], object]


class Database:
    """Named bags; a table `t` is at OLD `t__old`, its change is `t__delta`."""

    def __init__(self, bags: Mapping[str, Bag], columns: Mapping[str, tuple[str, ...]]) -> None:
        self.bags = dict(bags)
        self.columns = dict(columns)
        self.calls = 0

    def value(self, rel: Relation) -> Bag:
        return {row: n for row, n in compiled(rel)(self).items() if n}

    # the port of viewkeeper.maintenance.recursion.port

    def evaluate(self, plans: Mapping[str, Derivation]) -> Mapping[str, int]:
        self.calls += 1
        results = {name: self.value(derivation.relation) for name, derivation in plans.items()}
        self.bags.update(results)
        return {name: len(bag) for name, bag in results.items()}

    def append(self, name: str, more: str) -> None:
        mine = self.bags.setdefault(name, {})
        assert not mine.keys() & self.bags[more].keys(), f"{more} is not disjoint from {name}"
        mine.update(self.bags[more])

    def move(self, name: str, to: str) -> None:
        self.bags[to] = self.bags.pop(name)

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self.bags.pop(name, None)


@lru_cache(maxsize=100_000)
def compiled(rel: Relation) -> Callable[[Database], Bag]:
    match rel:
        case Scan():
            return _scan(rel)
        case Reference():
            return lambda db: db.bags[rel.name]
        case Values():
            rows = [tuple(_value(cell, ())(()) for cell in row) for row in rel.rows]
            return lambda db: _counted((row, 1) for row in rows)
        case Filter():
            child, test = compiled(rel.child), _value(rel.condition, rel.child.columns)
            return lambda db: {row: n for row, n in child(db).items() if test(row) is True}
        case Project():
            return _project(rel)
        case Join():
            return _join(rel)
        case Aggregate():
            return _aggregate(rel)
        case Distinct():
            child = compiled(rel.child)
            return lambda db: {row: 1 for row, n in child(db).items() if n > 0}
        case UnionAll():
            inputs = [compiled(one) for one in rel.inputs]
            return lambda db: _counted(item for one in inputs for item in one(db).items())
        case Difference() | Intersection():
            return _set_operation(rel)
        case Negate():
            child = compiled(rel.child)
            return lambda db: {row: -n for row, n in child(db).items()}
        case Consolidate():
            return compiled(rel.child)
        case Affected():
            child, places = compiled(rel.child), [rel.child.columns.index(name) for name in rel.columns]
            return lambda db: {tuple(row[p] for p in places): 1 for row in child(db)}
        case _:
            raise AssertionError(f"{type(rel).__name__} is not interpreted")


def _counted(items: Iterable[tuple[Row, int]]) -> Bag:
    """The sum of the counts. A row whose counts cancel stays, with 0: `Affected` must still see it."""
    bag: Bag = defaultdict(int)
    for row, n in items:
        bag[row] += n
    return bag


def _scan(rel: Scan) -> Callable[[Database], Bag]:
    name = state_name(rel)

    def run(db: Database) -> Bag:
        bag = db.bags.get(name, {} if rel.at.value == "delta" else db.bags[rel.table])
        places = [db.columns[rel.table].index(bound.source.name) for bound in rel.bound]
        if places == list(range(len(db.columns[rel.table]))):
            return bag
        return _counted((tuple(row[p] for p in places), n) for row, n in bag.items())

    return run


def _project(rel: Project) -> Callable[[Database], Bag]:
    child = compiled(rel.child)
    values = [_value(output.expr, rel.child.columns) for output in rel.outputs]
    return lambda db: _counted((tuple(v(row) for v in values), n) for row, n in child(db).items())


def _join(rel: Join) -> Callable[[Database], Bag]:
    left, right = compiled(rel.left), compiled(rel.right)
    keys, rest = _keys(rel)
    both = (*rel.left.columns, *rel.right.columns)
    test = [_value(part, both) for part in rest]
    null_safe = [safe for _, _, safe in keys]
    mine, theirs = [k for k, _, _ in keys], [k for _, k, _ in keys]
    padding = (None,) * len(rel.right.columns)

    def run(db: Database) -> Bag:
        lefts = left(db)
        if not lefts:
            return {}
        index: dict[Row, list[tuple[Row, int]]] = defaultdict(list)
        for row, n in right(db).items():
            key = tuple(k(row) for k in theirs)
            if all(safe or part is not None for safe, part in zip(null_safe, key)):
                index[key].append((row, n))
        result: list[tuple[Row, int]] = []
        for row, n in lefts.items():
            found = index.get(tuple(k(row) for k in mine), ())
            found = [(o, m) for o, m in found if all(t((*row, *o)) is True for t in test)]
            if rel.kind is JoinKind.SEMI or rel.kind is JoinKind.ANTI:
                alive = any(m > 0 for _, m in found)
                if alive is (rel.kind is JoinKind.SEMI):
                    result.append((row, n))
                continue
            result.extend(((*row, *o), n * m) for o, m in found)
            if rel.kind is JoinKind.LEFT and not any(m > 0 for _, m in found):
                result.append(((*row, *padding), n))
        return _counted(result)

    assert rel.kind in (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)
    return run


def _keys(rel: Join) -> tuple[list[tuple[Value, Value, bool]], list[exp.Expression]]:
    """The equalities between the sides, and the rest of the condition."""
    keys, rest = [], []
    left, right = set(rel.left.columns), set(rel.right.columns)
    for part in conjuncts(rel.on):
        sides = None
        if isinstance(part, (exp.EQ, exp.NullSafeEQ)):
            one = {found.name for found in part.this.find_all(exp.Column)}
            other = {found.name for found in part.expression.find_all(exp.Column)}
            if one <= left and other <= right:
                sides = (part.this, part.expression)
            elif one <= right and other <= left:
                sides = (part.expression, part.this)
        if sides is None:
            rest.append(part)
        else:
            mine, theirs = _value(sides[0], rel.left.columns), _value(sides[1], rel.right.columns)
            keys.append((mine, theirs, isinstance(part, exp.NullSafeEQ)))
    return keys, rest


def _aggregate(rel: Aggregate) -> Callable[[Database], Bag]:
    child = compiled(rel.child)
    keys = [_value(key.expr, rel.child.columns) for key in rel.keys]
    calls = [_call(item.expr, rel.child.columns) for item in rel.aggregates]

    def run(db: Database) -> Bag:
        groups: dict[Row, list[tuple[Row, int]]] = defaultdict(list)
        for row, n in child(db).items():
            if n:
                groups[tuple(k(row) for k in keys)].append((row, n))
        if not keys:
            groups.setdefault((), [])
        return {(*key, *(call(rows) for call in calls)): 1 for key, rows in groups.items()}

    return run


def _call(expr: exp.Expression, columns: tuple[str, ...]) -> Callable[[list[tuple[Row, int]]], object]:
    if not isinstance(expr, exp.AggFunc):
        raise AssertionError(f"{expr.sql()} is not interpreted")
    star = isinstance(expr.this, exp.Star)
    argument = (lambda row: 1) if star else _value(expr.this, columns)
    kind = type(expr)

    def run(rows: list[tuple[Row, int]]) -> object:
        values = [(argument(row), n) for row, n in rows]
        values = [(value, n) for value, n in values if value is not None]
        if kind is exp.Count:
            return sum(n for _, n in values)
        if not values:
            return None
        if kind is exp.Sum:
            return sum(value * n for value, n in values)
        if kind is exp.Avg:
            return sum(value * n for value, n in values) / sum(n for _, n in values)
        return min(v for v, _ in values) if kind is exp.Min else max(v for v, _ in values)

    return run


def _set_operation(rel: Difference | Intersection) -> Callable[[Database], Bag]:
    left, right = compiled(rel.left), compiled(rel.right)

    def run(db: Database) -> Bag:
        lefts, rights = left(db), right(db)
        result: Bag = {}
        for row, n in lefts.items():
            m = rights.get(row, 0)
            if rel.all:
                count = n - m if isinstance(rel, Difference) else min(n, m)
            else:
                count = int((m > 0) is isinstance(rel, Intersection) and n > 0)
            if count > 0:
                result[row] = count
        return result

    return run


_BINARY: dict[type, Callable[[object, object], object]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Div: lambda a, b: a / b if b else None,
    exp.Mod: lambda a, b: a % b if b else None,
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
}


def _value(expr: exp.Expression, columns: tuple[str, ...]) -> Value:
    if isinstance(expr, exp.Column):
        place = columns.index(expr.name)
        return lambda row: row[place]
    if isinstance(expr, exp.Paren):
        return _value(expr.this, columns)
    if isinstance(expr, exp.Literal):
        constant = expr.this if expr.is_string else (float(expr.this) if "." in expr.this else int(expr.this))
        return lambda row: constant
    if isinstance(expr, exp.Boolean):
        truth = bool(expr.this)
        return lambda row: truth
    if isinstance(expr, exp.Null):
        return lambda row: None
    if isinstance(expr, exp.Cast):
        return _value(expr.this, columns)
    if isinstance(expr, exp.Neg):
        inner = _value(expr.this, columns)
        return lambda row: None if (v := inner(row)) is None else -v
    if isinstance(expr, exp.Not):
        inner = _value(expr.this, columns)
        return lambda row: None if (v := inner(row)) is None else not v
    if isinstance(expr, exp.Coalesce):
        parts = [_value(part, columns) for part in (expr.this, *expr.expressions)]
        return lambda row: next((v for part in parts if (v := part(row)) is not None), None)
    return _binary(expr, columns)


def _binary(expr: exp.Expression, columns: tuple[str, ...]) -> Value:
    if not isinstance(expr, exp.Binary):
        raise AssertionError(f"{expr.sql()} is not interpreted")
    left, right = _value(expr.this, columns), _value(expr.expression, columns)
    if isinstance(expr, (exp.NullSafeEQ, exp.Is)):
        return lambda row: left(row) == right(row)
    if isinstance(expr, exp.And):
        return lambda row: _and(left(row), right(row))
    if isinstance(expr, exp.Or):
        return lambda row: _or(left(row), right(row))
    operate = _BINARY[type(expr)]
    return lambda row: None if (a := left(row)) is None or (b := right(row)) is None else operate(a, b)


def _and(one: object, other: object) -> object:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _or(one: object, other: object) -> object:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False
