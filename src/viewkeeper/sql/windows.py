"""Window functions: each partition becomes a list of columns, and each list one node.

A function whose value depends on the order of ties (ROW_NUMBER, LAG, ROWS frames) is ordered by all
columns after its own order, so that the view is a function of its tables. RANK and RANGE frames treat
ties alike and are left as they are.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, column
from viewkeeper.algebra.facts import determines
from viewkeeper.algebra.relations import Window
from viewkeeper.sql.aggregate_calls import depends_on_order, unwrapped
from viewkeeper.sql.block import Block
from viewkeeper.sql.order_and_limit import ordered
from viewkeeper.sql.resolve import outside_subqueries
from viewkeeper.sql.scope import Untranslatable

_RANKS = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
_PLACES = (exp.RowNumber, exp.Lag, exp.Lead, exp.Ntile)
_ENDS = (exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.NthValue, exp.AnyValue)


def named_windows(node: exp.Select) -> dict[str, exp.Window]:
    """The definitions of the WINDOW clause."""
    return {window.this.name.lower(): window for window in node.args.get("windows") or ()}


def with_windows(block: Block, exprs: list[Scalar]) -> dict[Scalar, Scalar]:
    """Adds the window functions of the expressions to the plan; gives the column of each."""
    found: dict[Scalar, None] = {}
    for expr in exprs:
        for node in outside_subqueries(expr):
            if isinstance(node, exp.Window):
                found[node.copy()] = None
    groups: dict[tuple[str, ...], list[tuple[Scalar, exp.Window]]] = {}
    for window in found:
        assert isinstance(window, exp.Window)
        partition = _partition(block, window)
        groups.setdefault(partition, []).append((window, window))
    result: dict[Scalar, Scalar] = {}
    for partition, members in groups.items():
        named = [_function(block, partition, window) for _, window in members]
        block.rel = Window(block.rel, partition, tuple(named))
        result |= {original: column(n.name) for (original, _), n in zip(members, named, strict=True)}
    return result


def _partition(block: Block, window: exp.Window) -> tuple[str, ...]:
    """PARTITION BY as columns; expressions become columns first. The links come before them."""
    names = [block.add_column("part", expr) for expr in window.args.get("partition_by") or ()]
    return tuple(dict.fromkeys((*block.links, *names)))


def _function(block: Block, partition: tuple[str, ...], window: exp.Window) -> Named:
    new = window.copy()
    new.set("partition_by", [column(name) for name in partition])
    order = [ordered(item.this, item) for item in (_order_of(window))]
    if _ties_show(window, block, partition, order):
        order = [*order, *_tie_breakers(block, partition, order)]
    new.set("order", exp.Order(expressions=order) if order else None)
    return Named(block.context.fresh(unwrapped(window.this).key), new)


def _order_of(window: exp.Window) -> list[exp.Ordered]:
    order = window.args.get("order")
    return list(order.expressions) if order else []


def _ties_show(
    window: exp.Window, block: Block, partition: tuple[str, ...], order: list[exp.Ordered]
) -> bool:
    """Whether rows that compare equal under ORDER BY could be told apart by the function's value."""
    plain = {item.this.name for item in order if isinstance(item.this, exp.Column)}
    if determines(block.rel, (*partition, *plain), block.context.schemas):
        return False
    call = unwrapped(window.this)
    spec = window.args.get("spec")
    if isinstance(call, _RANKS):
        return False
    if isinstance(call, _PLACES):
        return True
    whole = _is_whole(spec, order)
    if isinstance(call, _ENDS):
        return _end_shows(window, spec, order, whole)
    if depends_on_order(call):
        raise Untranslatable(f"{call.key} over a window depends on the order of ties")
    return spec is not None and (spec.args.get("kind") or "").upper() == "ROWS" and not whole


def _is_whole(spec: exp.Expr | None, order: list[exp.Ordered]) -> bool:
    """Whether the frame is the whole partition."""
    if spec is None:
        return not order
    return (
        spec.args.get("start") == "UNBOUNDED"
        and spec.args.get("end") == "UNBOUNDED"
        and ((spec.args.get("end_side") or "").upper() == "FOLLOWING")
    )


def _end_shows(window: exp.Window, spec: exp.Expr | None, order: list[exp.Ordered], whole: bool) -> bool:
    """FIRST_VALUE needs a frame that starts with the partition, LAST_VALUE one that ends with it,
    unless frames count rows: a RANGE frame would be another one under a finer order."""
    call = unwrapped(window.this)
    ignores_nulls = window.find(exp.IgnoreNulls) is not None
    value = call.this.this if isinstance(call.this, (exp.IgnoreNulls, exp.RespectNulls)) else call.this
    if any(item.this == value for item in order[:1]):
        return False
    if whole or (spec is not None and (spec.args.get("kind") or "").upper() == "ROWS"):
        return True
    starts = spec is None or spec.args.get("start") == "UNBOUNDED"
    if isinstance(call, (exp.First, exp.FirstValue)) and starts and not ignores_nulls:
        return True
    raise Untranslatable(f"{call.key} over a RANGE frame depends on the order of ties")


def _tie_breakers(block: Block, partition: tuple[str, ...], order: list[exp.Ordered]) -> list[exp.Ordered]:
    given = {item.this for item in order}
    names = [n for n in block.rel.columns if n not in partition and column(n) not in given]
    return [ordered(column(name)) for name in names]
