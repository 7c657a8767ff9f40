"""GROUP BY: keys, single aggregate calls, and the expressions above them.

    SELECT a + 1, SUM(b) / COUNT(*) … GROUP BY a + 1
      → project k, s / n over (aggregate by (a + 1 as k) SUM(b) as s, COUNT(*) as n)

GROUPING SETS, CUBE and ROLLUP are the union of one aggregate for each set of keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product

from sqlglot import exp

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, Scalar, column, null_safe_match, same
from viewkeeper.algebra.relations import Aggregate, Join, JoinKind, Relation, UnionAll
from viewkeeper.errors import InvalidSQL
from viewkeeper.sql.aggregate_calls import (
    call_name,
    depends_on_order,
    in_a_fixed_order,
    is_aggregate_call,
    is_grouping_call,
    over_no_rows,
    unwrapped,
)
from viewkeeper.sql.block import Block, OuterValues, enter
from viewkeeper.sql.order_and_limit import ordinal
from viewkeeper.sql.resolve import Resolver, outside_subqueries
from viewkeeper.sql.scope import Field, Untranslatable
from viewkeeper.sql.subqueries import attach, attach_deferred

_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def is_aggregated(node: exp.Select) -> bool:
    if node.args.get("group") or node.args.get("having"):
        return True
    clauses = [node.args.get("qualify"), node.args.get("order")]
    items = [*node.expressions, *(clause for clause in clauses if clause is not None)]
    return any(has_aggregate(item) for item in items)


def has_aggregate(expr: exp.Expr) -> bool:
    return any(is_aggregate_call(n) and not _is_window_call(n) for n in outside_subqueries(expr))


def _is_window_call(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, _WRAPPERS):
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


@dataclass(frozen=True)
class GroupingNumber:
    """The column that tells the grouping sets apart: bit i is set where key i, from the end, is left out."""

    column: str
    keys: tuple[Scalar, ...]

    def value(self, call: exp.Expr) -> Scalar:
        """grouping(key), or grouping_id(keys) with one bit for each."""
        wanted = [item.unnest() for item in call.expressions]
        if isinstance(call, exp.GroupingId) and (not wanted or wanted == list(self.keys)):
            return column(self.column)
        bits = [self._bit(key) for key in wanted]
        total: Scalar = exp.Literal.number(0)
        for bit in bits:
            doubled = exp.Mul(this=exp.paren(total), expression=exp.Literal.number(2))
            total = exp.Add(this=doubled, expression=bit)
        return exp.cast(total if len(bits) > 1 else bits[0], "bigint" if len(bits) > 1 else "tinyint")

    def _bit(self, key: Scalar) -> Scalar:
        if key not in self.keys:
            raise InvalidSQL("grouping takes a key of GROUP BY.", key.sql(dialect="spark"))
        place = len(self.keys) - 1 - self.keys.index(key)
        with_bit = [n for n in range(1 << len(self.keys)) if n >> place & 1]
        test = exp.In(this=column(self.column), expressions=[exp.Literal.number(n) for n in with_bit])
        return exp.Case().when(test, exp.Literal.number(1)).else_(exp.Literal.number(0))


@dataclass
class Groups:
    """Maps expressions over the input of an aggregation to expressions over its result."""

    keys: dict[Scalar, Scalar]
    calls: dict[Scalar, Scalar] = field(default_factory=dict)
    late: bool = False
    sets: GroupingNumber | None = None

    def __call__(self, expr: Scalar) -> Scalar:
        return self._visit(expr.copy(), is_window_call=False)

    def _visit(self, node: exp.Expr, is_window_call: bool) -> exp.Expr:
        if node in self.keys:
            return self.keys[node].copy()
        if not is_window_call and node in self.calls:
            return self.calls[node].copy()
        if self.sets is not None and is_grouping_call(node):
            return self.sets.value(node)
        if isinstance(node, exp.Column):
            raise InvalidSQL(
                f"The column {node.name} is neither grouped nor inside an aggregate.",
                hint="Add it to GROUP BY, or take an aggregate of it.",
                columns=(node.name,),
            )
        if isinstance(node, (exp.Query, exp.Exists)):
            return node
        for key, value in list(node.args.items()):
            wraps = isinstance(node, exp.Window) or (is_window_call and isinstance(node, _WRAPPERS))
            within = wraps and key == "this"
            if isinstance(value, exp.Expr):
                node.set(key, self._visit(value, within))
            elif isinstance(value, list):
                node.set(key, [self._visit(v, False) if isinstance(v, exp.Expr) else v for v in value])
        return node


def group(
    block: Block, node: exp.Select, outputs: list[Scalar], exprs: list[Scalar], domain: OuterValues | None
) -> Groups:
    """Puts the aggregation on the block's plan; the scope keeps the grouped columns only."""
    keys, sets = _grouping(block, node.args.get("group"), outputs)
    calls = _calls(exprs, keys)
    named = [Named(block.context.fresh(_call_wish(call)), in_a_fixed_order(call.copy())) for call in calls]
    written: dict[Scalar, Scalar] = {
        original: column(n.name) for original, n in zip(calls, named, strict=True)
    }
    if sets is not None:
        return _grouping_sets(block, keys, sets, named, written)
    key_columns = [_key(block, _attached(block, key)) for key in keys]
    links = same(link for link in block.links if link not in {k.name for k in key_columns})
    is_global = not node.args.get("group")
    block.rel = Aggregate(block.rel, (*links, *key_columns), tuple(named))
    groups = Groups(_mapping(keys, key_columns), written)
    if is_global and block.links:
        groups.calls = {call: over_no_rows(call, value) for call, value in written.items()}
        groups.late = domain is None
        if domain is not None:
            _every_outer_row(block, domain)
    _keep_grouped(block, groups)
    return groups


def _every_outer_row(block: Block, domain: OuterValues) -> None:
    """An aggregate without GROUP BY has a row for every outer row, also over nothing."""
    outer = enter(block.context, domain)
    assert outer is not None
    on = null_safe_match(zip(outer.links, block.links, strict=True))
    block.rel = Join(outer.rel, block.rel, JoinKind.LEFT, on)
    block.links = outer.links
    block.scope.bound = outer.scope.bound


def _key(block: Block, expr: Scalar) -> Named:
    if isinstance(expr, exp.Column):
        return Named(expr.name, expr)
    return Named(block.context.fresh(expr.name or "key"), expr)


def _mapping(keys: list[Scalar], columns: list[Named]) -> dict[Scalar, Scalar]:
    mapping: dict[Scalar, Scalar] = {}
    for key, named in zip(keys, columns, strict=True):
        mapping[key] = column(named.name)
    return mapping


def _keep_grouped(block: Block, groups: Groups) -> None:
    """Above the aggregation only grouped columns, and the domain, can be named."""
    fields = []
    for found in block.scope.fields:
        key = groups.keys.get(column(found.column))
        if key is not None:
            fields.append(Field(found.table, found.name, key.name, found.visible))
    block.scope.fields[:] = fields
    if block.scope.bound is not None:
        for link in block.links:
            groups.keys.setdefault(column(link), column(link))


def _calls(exprs: list[Scalar], keys: list[Scalar]) -> list[Scalar]:
    """The distinct aggregate calls, each with its FILTER."""
    found: dict[Scalar, None] = {}
    for expr in exprs:
        for node in outside_subqueries(expr):
            if is_aggregate_call(node) and not _is_window_call(node) and not _is_wrapped(node):
                if not is_grouping_call(node):
                    found[_checked(node, keys)] = None
    return list(found)


def _is_wrapped(node: exp.Expr) -> bool:
    return isinstance(node.parent, _WRAPPERS) and node.parent.this is node


def _checked(call: exp.Expr, keys: list[Scalar]) -> Scalar:
    inner = unwrapped(call)
    for child in inner.iter_expressions():
        if has_aggregate(child):
            raise InvalidSQL("An aggregate cannot be inside another aggregate.", call.sql(dialect="spark"))
    has_fixed_order = isinstance(inner, (exp.GroupConcat, exp.ArrayAgg))
    if depends_on_order(call) and not has_fixed_order and inner.this not in keys:
        raise Untranslatable(f"{call_name(inner)} depends on the order of the rows")
    if call.find(exp.Query) is not None:
        raise Untranslatable("a subquery inside an aggregate")
    return call.copy()


def _call_wish(call: Scalar) -> str:
    inner = unwrapped(call)
    name = call_name(inner) or "agg"
    argument = inner.this
    return f"{name}_{argument.name}" if isinstance(argument, exp.Column) else name


# GROUP BY: expressions, positions, aliases, ALL, and sets of keys


def _grouping(
    block: Block, clause: exp.Expr | None, outputs: list[Scalar]
) -> tuple[list[Scalar], list[tuple[Scalar, ...]] | None]:
    """The keys, and the sets of keys when there are several."""
    if clause is None:
        return [], None
    if clause.args.get("all"):
        return _unique([e for e in outputs if not has_aggregate(e)]), None
    items = list(clause.expressions)
    trailing = [n for name in ("grouping_sets", "cube", "rollup") for n in clause.args.get(name) or ()]
    if trailing:
        return _trailing(block, items, trailing, outputs)
    if not any(isinstance(item, (exp.Cube, exp.Rollup, exp.GroupingSets)) for item in items):
        return _unique([_group_key(block, item, outputs) for item in items]), None
    factors = [_sets_of(block, item, outputs) for item in items]
    sets = [tuple(_unique([e for part in combo for e in part])) for combo in product(*factors)]
    return _unique([e for keys in sets for e in keys]), sets


def _trailing(
    block: Block, items: list[exp.Expr], trailing: list[exp.Expr], outputs: list[Scalar]
) -> tuple[list[Scalar], list[tuple[Scalar, ...]]]:
    """GROUP BY a, b WITH CUBE, and Hive's GROUP BY a, b GROUPING SETS (…)."""
    keys = _unique([_group_key(block, item, outputs) for item in items])
    if len(trailing) != 1:
        raise Untranslatable("several kinds of grouping sets at once")
    node = trailing[0]
    if isinstance(node, exp.GroupingSets) or node.expressions:
        return keys, _sets_of(block, node, outputs)
    return keys, _powers(keys) if isinstance(node, exp.Cube) else _prefixes(keys)


def _sets_of(block: Block, item: exp.Expr, outputs: list[Scalar]) -> list[tuple[Scalar, ...]]:
    match item:
        case exp.Cube() | exp.Rollup():
            units = [_unit(block, node, outputs) for node in item.expressions]
            chosen = _powers(units) if isinstance(item, exp.Cube) else _prefixes(units)
            return [tuple(e for unit in some for e in unit) for some in chosen]
        case exp.GroupingSets():
            return [keys for node in item.expressions for keys in _sets_of(block, node, outputs)]
        case _:
            return [_unit(block, item, outputs)]


def _unit(block: Block, node: exp.Expr, outputs: list[Scalar]) -> tuple[Scalar, ...]:
    inner = node.unnest()
    parts = inner.expressions if isinstance(inner, exp.Tuple) else [inner]
    return tuple(_group_key(block, part, outputs) for part in parts)


def _powers(items: list) -> list:  # type: ignore[type-arg]
    return [some for size in range(len(items), -1, -1) for some in combinations(items, size)]


def _prefixes(items: list) -> list:  # type: ignore[type-arg]
    return [tuple(items[:size]) for size in range(len(items), -1, -1)]


def _group_key(block: Block, item: exp.Expr, outputs: list[Scalar]) -> Scalar:
    position = ordinal(item, len(outputs))
    key = outputs[position] if position is not None else _resolved(block, item)
    if has_aggregate(key):
        raise InvalidSQL("GROUP BY cannot contain an aggregate.", key.sql(dialect="spark"))
    return key.copy()


def _resolved(block: Block, item: exp.Expr) -> Scalar:
    """A key as the select list writes it: its subqueries wait, so that equal texts compare equal."""
    return Resolver(block.scope, lambda node: attach(block, node), defer=True)(item).unnest()


def _attached(block: Block, key: Scalar) -> Scalar:
    return attach_deferred(block, key) if key.find(exp.Query) is not None else key


def _unique(exprs: list[Scalar]) -> list[Scalar]:
    return list(dict.fromkeys(exprs))


def _grouping_sets(
    block: Block,
    keys: list[Scalar],
    sets: list[tuple[Scalar, ...]],
    named: list[Named],
    written: dict[Scalar, Scalar],
) -> Groups:
    """One aggregate for each set; the keys that a set leaves out are NULL in its rows."""
    if any(not any(key in some for some in sets) for key in keys):
        raise Untranslatable("a key that is in no grouping set")
    if any(key.find(exp.Query) is not None for key in keys):
        raise Untranslatable("a subquery in a grouping set")
    columns = [Named(block.context.fresh(key.name or "key"), key) for key in keys]
    number = block.context.fresh("grouping")
    branches = [_branch(block, columns, some, named, number) for some in sets]
    block.rel = UnionAll(tuple(branches)) if len(branches) > 1 else branches[0]
    groups = Groups(_mapping(keys, columns), written)
    groups.sets = GroupingNumber(number, tuple(keys))
    _keep_grouped(block, groups)
    return groups


def _branch(
    block: Block, columns: list[Named], some: tuple[Scalar, ...], named: list[Named], number: str
) -> Relation:
    mine = [c for c in columns if c.expr in some]
    gid = sum(1 << place for place, c in enumerate(reversed(columns)) if c.expr not in some)
    literal = Named(number, exp.cast(exp.Literal.number(gid), "bigint"))
    by = (*same(block.links), *mine, literal)
    rel = Aggregate(block.rel, by, tuple(named))
    outputs = [Named(c.name, column(c.name) if c in mine else exp.null()) for c in columns]
    names = (*block.links, number, *(n.name for n in named))
    return projected(rel, (*outputs, *same(names)))
