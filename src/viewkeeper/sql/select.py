"""One SELECT, in the order of its meaning:

FROM → WHERE → GROUP BY, HAVING → windows, QUALIFY → outputs → DISTINCT → ORDER BY … LIMIT
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.algebra.build import projected, restricted_to
from viewkeeper.algebra.expressions import Named, Scalar, column, same
from viewkeeper.algebra.relations import Distinct, Lateral
from viewkeeper.errors import InvalidSQL
from viewkeeper.sql.block import Block, OuterValues, link_pending, where
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.generators import generate, is_generator
from viewkeeper.sql.grouping import Groups, group, is_aggregated
from viewkeeper.sql.order_and_limit import limits, ordered, ordinal, top
from viewkeeper.sql.resolve import Resolver, top_down
from viewkeeper.sql.scope import NeedsDomain
from viewkeeper.sql.sources import from_clause
from viewkeeper.sql.subqueries import attach, attach_deferred, is_plain_select
from viewkeeper.sql.windows import named_windows, with_windows


@dataclass(frozen=True)
class Output:
    """A select item: what the user calls it, and its value over the plan."""

    name: str
    expr: Scalar


@dataclass
class Items:
    """The resolved expressions above WHERE."""

    outputs: list[Output]
    having: Scalar | None
    qualify: Scalar | None
    order: list[exp.Ordered]

    def changed(self, change: Callable[[Scalar], Scalar]) -> Items:
        return Items(
            [Output(o.name, change(o.expr)) for o in self.outputs],
            None if self.having is None else change(self.having),
            None if self.qualify is None else change(self.qualify),
            [ordered(change(item.this), item) for item in self.order],
        )


def select(
    context: Context, node: exp.Select, domain: OuterValues | None, keep_pending: bool = False
) -> Translated:
    """The answer of a SELECT; see `query.translate` for the domain and pending conditions."""
    block = from_clause(context, node, domain)
    _where(block, node)
    if keep_pending and is_plain_select(node):
        return Translated(
            block.rel, (), (), block.links, block.matches, block.null_safe, pending=block.pending
        )
    link_pending(block)
    groups = is_aggregated(node)
    items = _items(block, node, defer=groups)
    if groups:
        grouped = group(block, node, [o.expr for o in items.outputs], _all_of(items), domain)
        if grouped.late:
            return _late(block, node, items, grouped)
        items = items.changed(lambda expr: attach_deferred(block, grouped(expr)))
    if items.having is not None:
        block.filter(items.having)
    items = _windowed(block, items)
    if items.qualify is not None:
        block.filter(items.qualify)
    return _answer(block, node, items)


def _where(block: Block, node: exp.Select) -> None:
    condition = node.args.get("where")
    if condition is None:
        return
    block.scope.free_allowed = block.scope.bound is None and block.scope.parent is not None
    where(block, condition.this)
    block.scope.free_allowed = False


def _items(block: Block, node: exp.Select, defer: bool) -> Items:
    """Every expression above WHERE, its names resolved; outputs first, since the others see their aliases."""
    windows = named_windows(node)
    resolver = Resolver(block.scope, lambda n: attach(block, n), defer=defer, named_windows=windows)
    outputs: list[Output] = []
    for item in node.expressions:
        for output in _expanded(block, item, resolver):
            outputs.append(output)
            block.scope.aliases.setdefault(output.name.lower(), output.expr)
    having = _clause(node, "having", replace(resolver, alias_first=True))
    qualify = _clause(node, "qualify", resolver)
    order = _order(node, outputs, replace(resolver, alias_first=True)) if limits(node) else []
    return Items(outputs, having, qualify, order)


def _clause(node: exp.Select, name: str, resolver: Resolver) -> Scalar | None:
    clause = node.args.get(name)
    return resolver(clause.this) if clause is not None else None


def _order(node: exp.Select, outputs: list[Output], resolver: Resolver) -> list[exp.Ordered]:
    clause = node.args.get("order")
    items = []
    for item in clause.expressions if clause else ():
        position = ordinal(item.this, len(outputs))
        expr = resolver(item.this) if position is None else outputs[position].expr
        items.append(ordered(expr, item))
    return items


def _expanded(block: Block, item: exp.Expr, resolver: Resolver) -> list[Output]:
    """A select item; a star stands for several."""
    inner = item.unalias()
    if item.is_star and isinstance(item, (exp.Star, exp.Column)):
        return _star(block, item)
    if is_generator(inner):
        return _generator(block, item, resolver)
    return [Output(_name(item), resolver(inner))]


def _star(block: Block, item: exp.Expr) -> list[Output]:
    star = item if isinstance(item, exp.Star) else item.this
    table = item.table if isinstance(item, exp.Column) and item.table else None
    left_out = {node.name.lower() for node in star.args.get("except_") or ()}
    if star.args.get("replace") or star.args.get("rename"):
        raise InvalidSQL("REPLACE and RENAME after a star are not Spark SQL.")
    fields = [f for f in block.scope.star(table) if f.name.lower() not in left_out]
    return [Output(f.name, column(f.column)) for f in fields]


def _generator(block: Block, item: exp.Expr, resolver: Resolver) -> list[Output]:
    """explode(…) in the select list makes rows as LATERAL VIEW does."""
    aliases = tuple(node.name for node in item.args.get("aliases") or ())
    names = generate(item.unalias(), aliases or ((item.alias,) if item.alias else ()))
    produced = tuple(block.context.fresh(name) for name in names)
    block.rel = Lateral(block.rel, resolver(item.unalias()), produced)
    return [Output(n, column(c)) for n, c in zip(names, produced, strict=True)]


def _name(item: exp.Expr) -> str:
    """The name Spark gives to a select item; for an expression without alias, its text."""
    if isinstance(item, (exp.Alias, exp.Column, exp.Dot)):
        return item.alias_or_name or item.name
    return item.sql(dialect="spark")


def _all_of(items: Items) -> list[Scalar]:
    rest = [items.having, items.qualify, *(item.this for item in items.order)]
    return [o.expr for o in items.outputs] + [expr for expr in rest if expr is not None]


def _windowed(block: Block, items: Items) -> Items:
    windows = with_windows(block, _all_of(items))
    return items.changed(lambda expr: top_down(expr, windows.get)) if windows else items


def _late(block: Block, node: exp.Select, items: Items, groups: Groups) -> Translated:
    """An aggregate without GROUP BY, tied to the outer row by equalities: computed above a left join."""
    bounds = limits(node)
    if items.having is not None or items.qualify is not None or (bounds and (bounds[0] < 1 or bounds[1])):
        raise NeedsDomain(block.scope)
    late: dict[str, Scalar] = {}
    for output in items.outputs:
        expr = groups(output.expr)
        if expr.find(exp.Query, exp.Window) is not None:
            raise NeedsDomain(block.scope)
        late[block.context.fresh(output.name)] = expr
    names = tuple(output.name for output in items.outputs)
    return Translated(block.rel, names, tuple(late), block.links, block.matches, late=late)


def _answer(block: Block, node: exp.Select, items: Items) -> Translated:
    names = tuple(output.name for output in items.outputs)
    kept = block.links
    named: list[Named] = []
    for output in items.outputs:
        named.append(_named(block, output, {n.name for n in named} | set(kept)))
    columns = tuple(item.name for item in named)
    order = [ordered(_ordering(block, named, item.this), item) for item in items.order]
    extra = tuple(i.this.name for i in order if i.this.name not in columns)
    hidden = dict.fromkeys((*kept, *extra))
    block.rel = projected(block.rel, (*named, *same(n for n in hidden if n not in columns)))
    if node.args.get("distinct"):
        _check_distinct(node, extra)
        block.rel = Distinct(block.rel)
    bounds = limits(node)
    if bounds is not None:
        block.rel = top(block.context, block.rel, order, bounds, block.links)
    if extra:
        rest = tuple(n for n in kept if n not in columns)
        block.rel = restricted_to(block.rel, (*columns, *rest))
    return Translated(block.rel, names, columns, block.links, block.matches, block.null_safe)


def _named(block: Block, output: Output, taken: set[str]) -> Named:
    """The output as a column of the plan; a plain column keeps its name when it is used once."""
    if isinstance(output.expr, exp.Column) and output.expr.name not in taken:
        return Named(output.expr.name, output.expr)
    return Named(block.context.fresh(output.name), output.expr)


def _ordering(block: Block, named: list[Named], expr: Scalar) -> Scalar:
    """The column that ORDER BY sorts by: an output, or a column carried along for it."""
    for item in named:
        if item.expr == expr or item.expr == expr.unnest():
            return column(item.name)
    return column(block.add_column("sort", expr))


def _check_distinct(node: exp.Select, extra: tuple[str, ...]) -> None:
    if node.args["distinct"].args.get("on"):
        raise InvalidSQL("DISTINCT ON is not Spark SQL.")
    if extra:
        raise InvalidSQL("ORDER BY after SELECT DISTINCT can only use the selected columns.")
