"""Where a query has several right answers, and Spark gives one of them.

    LIMIT 3 without a total order      of rows that tie, any
    ANY_VALUE(x), FIRST(x), MODE(x)    any of the values that qualify
    COLLECT_LIST(x)                    in any order
    ROW_NUMBER() over ties             in any order

Such views are kept, with one answer that does not change by itself. What may differ from another answer is
told here by the text alone, for the note to the user and for `verify`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from viewkeeper.sql.aggregate_calls import call_name, unwrapped
from viewkeeper.sql.dialect import ViewkeeperSpark
from viewkeeper.sql.order_and_limit import ordinal
from viewkeeper.sql.with_text import tokens

_ANY_VALUE = (exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.AnyValue, exp.ArgMax, exp.ArgMin)
_LISTS = (exp.ArrayAgg, exp.ArrayUniqueAgg)
_BY_PLACE = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.NthValue)
_ORDERED_AGAIN = (exp.ArraySort, exp.ArraySize, exp.ArrayContains)
_ESTIMATES = (exp.ApproxQuantile,)
_ESTIMATE_NAMES = frozenset("histogram_numeric count_min_sketch approx_top_k".split())
_NAMES: dict[type, str] = {
    exp.ArrayAgg: "collect_list",
    exp.ArrayUniqueAgg: "collect_set",
    exp.GroupConcat: "listagg",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
    exp.ApproxQuantile: "approx_percentile",
}
_PICKS = (exp.Max, exp.Min, exp.Median, exp.PercentileDisc, exp.Greatest, exp.Least, exp.Mode)
_ADDED_UP = tuple(
    """sum avg mean std var covar corr kurt skew regr product try_sum try_avg histogram_numeric
    aggregate reduce""".split()
)
_MOMENTS = ("std", "var", "covar", "corr", "kurt", "skew", "regr")


@dataclass(frozen=True)
class FirstRows:
    """A query that ends in LIMIT: its text without, and the places in its output that it is ordered by;
    None where it is ordered by something else."""

    unlimited: str
    order: tuple[int, ...] | None


@dataclass(frozen=True)
class Choices:
    """What a text leaves open. `notes` says it to the user.

    `columns` are the places of the output columns that may have other values, None where all of them, and
    which rows there are. `lists` are arrays whose order is open and nothing else. `first_rows` is set where
    LIMIT at the very end is all that is open. `adds_up`: floats are added up, in an order that is open too.
    `picks_zeros`: of −0.0 and 0.0, which are equal, either may be picked. `moments`: some of these sums are
    variances and the like, which have fewer digits.
    """

    notes: tuple[str, ...] = ()
    columns: frozenset[int] | None = frozenset()
    lists: frozenset[int] = frozenset()
    first_rows: FirstRows | None = None
    adds_up: bool = False
    picks_zeros: bool = False
    moments: bool = False


@lru_cache(maxsize=1024)
def choices(sql: str) -> Choices:
    """What the text of a query leaves open."""
    try:
        tree = sqlglot.parse_one(sql, dialect=ViewkeeperSpark)
    except SqlglotError:
        return Choices(adds_up=True)
    calls = [call_name(node) for node in tree.find_all(exp.Func)]
    adds_up = any(name.startswith(_ADDED_UP) for name in calls)
    moments = any(name.startswith(_MOMENTS) for name in calls)
    adds_up |= any(isinstance(node, exp.With) and bool(node.args.get("recursive")) for node in tree.walk())
    picks = any(isinstance(node, _PICKS) for node in tree.walk())
    open_nodes = [(node, note) for node in tree.walk() if (note := _note(node)) is not None]
    notes = tuple(dict.fromkeys(note for _, note in open_nodes))
    at_the_end = [node for node, _ in open_nodes if node is tree]
    others = [node for node, _ in open_nodes if node is not tree]
    if at_the_end:
        first = _first_rows(sql, tree) if not others else None
        return Choices(notes, None, frozenset(), first, adds_up, picks, moments)
    columns, lists = _places(tree, others)
    return Choices(notes, columns, lists, None, adds_up, picks, moments)


def _note(node: exp.Expr) -> str | None:
    """What is open about one node, as a sentence."""
    if isinstance(node, exp.Query) and _cuts(node):
        order = node.args.get("order")
        if order is None:
            return "LIMIT without ORDER BY keeps any of the rows"
        return None if _is_total(node, order) else "of rows that tie in ORDER BY, LIMIT keeps any"
    if isinstance(node, exp.Window):
        return _window_note(node)
    if isinstance(node, exp.Func) and not isinstance(_owner(node), exp.Window):
        return _call_note(node)
    return None


def _call_note(call: exp.Func) -> str | None:
    if call.find(exp.Column) is None and not isinstance(call, exp.Mode):
        return None
    name = _NAMES.get(type(call), call_name(call))
    if isinstance(call, _LISTS) or (isinstance(call, exp.GroupConcat) and not _orders_itself(call)):
        return None if isinstance(_owner(call), _ORDERED_AGAIN) else f"{name} gives its values in any order"
    if isinstance(call, exp.Mode):
        return (
            None
            if call.args.get("deterministic")
            else f"of values that are equally frequent, {name} gives any"
        )
    if isinstance(call, (exp.ArgMax, exp.ArgMin)):
        return f"of rows that tie, {name} takes any"
    if isinstance(call, _ANY_VALUE):
        return f"{name} takes any row of its group"
    if isinstance(call, _ESTIMATES) or name in _ESTIMATE_NAMES:
        return f"{name} is an estimate that depends on the order of rows"
    return None


def _orders_itself(call: exp.GroupConcat) -> bool:
    """LISTAGG(x) WITHIN GROUP (ORDER BY x): rows that tie have the same value."""
    order = call.this if isinstance(call.this, exp.Order) else _owner_order(call)
    value = order.this if isinstance(call.this, exp.Order) and order else call.this
    value = value.expressions[0] if isinstance(value, exp.Distinct) else value
    return order is not None and any(item.this == value for item in order.expressions)


def _owner_order(call: exp.Expr) -> exp.Order | None:
    owner = call.parent
    found = owner.expression if isinstance(owner, exp.WithinGroup) else None
    return found if isinstance(found, exp.Order) else None


def _window_note(window: exp.Window) -> str | None:
    call, spec = unwrapped(window.this), window.args.get("spec")
    name = _NAMES.get(type(call), call_name(call))
    if isinstance(call, (exp.Mode, *_LISTS, *_ESTIMATES, exp.GroupConcat)):
        return _call_note(call)
    by_rows = spec is not None and str(spec.args.get("kind", "")).upper() == "ROWS" and not _is_whole(spec)
    if isinstance(call, (*_BY_PLACE, *_ANY_VALUE)) or by_rows:
        return f"rows that tie in the order of a window come to {name} in any order"
    return None


def _is_whole(spec: exp.Expr) -> bool:
    ends = [str(spec.args.get(end, "")).upper() for end in ("start", "end")]
    return ends == ["UNBOUNDED", "UNBOUNDED"]


def _owner(node: exp.Expr) -> exp.Expr | None:
    """What a call stands in, past FILTER, WITHIN GROUP and IGNORE NULLS."""
    parent = node.parent
    while isinstance(parent, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        parent = parent.parent
    return parent


def _cuts(query: exp.Query) -> bool:
    """Whether a query keeps some of its rows only; inside EXISTS it does not matter which."""
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if isinstance(query.parent, exp.Exists) or (limit is None and offset is None):
        return False
    count = limit.args.get("expression") if limit is not None else None
    return not (isinstance(count, (exp.Var, exp.Column)) and count.name.lower() == "all" and offset is None)


def _is_total(query: exp.Query, order: exp.Expr) -> bool:
    """Whether all output columns stand in ORDER BY: rows that tie are then copies of each other."""
    names = [name.lower() for name in query.named_selects]
    by = _ordered_by(query, order)
    return bool(names) and "*" not in names and by is not None and set(by) == set(range(len(names)))


def _ordered_by(query: exp.Query, order: exp.Expr) -> tuple[int, ...] | None:
    """The places of output columns that ORDER BY names; None where it names something else."""
    names = [name.lower() for name in query.named_selects]
    found = []
    for item in order.expressions:
        value = item.this if isinstance(item, exp.Ordered) else item
        place = ordinal(value, len(names))
        if place is None and isinstance(value, exp.Column) and names.count(value.name.lower()) == 1:
            place = names.index(value.name.lower())
        if place is None or "*" in names:
            return None
        found.append(place)
    return tuple(found)


def _first_rows(sql: str, tree: exp.Expr) -> FirstRows | None:
    """The text without the ORDER BY, LIMIT and OFFSET that it ends in."""
    depth, cut = 0, None
    for word in tokens(sql):
        depth += word.token_type is TokenType.L_PAREN
        depth -= word.token_type is TokenType.R_PAREN
        ends = word.token_type in (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET)
        if not depth and ends and cut is None:
            cut = word.start
    if cut is None or not isinstance(tree, exp.Query):
        return None
    order = tree.args.get("order")
    return FirstRows(sql[:cut], () if order is None else _ordered_by(tree, order))


def _places(tree: exp.Expr, nodes: list[exp.Expr]) -> tuple[frozenset[int] | None, frozenset[int]]:
    """The output columns that the nodes stand in: those whose values are open, and open lists."""
    if not nodes:
        return frozenset(), frozenset()
    if not isinstance(tree, exp.Select) or tree.args.get("distinct") or tree.is_star:
        return None, frozenset()
    outputs = [item.unalias() for item in tree.expressions]
    open_columns: set[int] = set()
    lists: set[int] = set()
    for node in nodes:
        place = next((n for n, item in enumerate(outputs) if any(node is one for one in item.walk())), None)
        if place is None:
            return None, frozenset()
        is_list = isinstance(node, _LISTS) and unwrapped(outputs[place]) is node
        (lists if is_list else open_columns).add(place)
    open_columns |= set(_that_name(tree, open_columns | lists))
    return frozenset(open_columns), frozenset(lists - open_columns)


def _that_name(tree: exp.Select, open_columns: set[int]) -> Iterator[int]:
    """Output columns that name one of the open ones: SELECT ANY_VALUE(x) AS a, a + 1 AS b."""
    names = {tree.expressions[place].alias.lower() for place in open_columns} - {""}
    for place, item in enumerate(tree.expressions):
        used = {one.name.lower() for one in item.unalias().find_all(exp.Column) if not one.table}
        if place not in open_columns and used & names:
            yield place
