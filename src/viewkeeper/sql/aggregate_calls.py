"""Which calls are aggregates, which are window functions, and which depend on chance or on order."""

from __future__ import annotations

import re

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, function, literal

_WINDOW_ONLY = (
    exp.RowNumber,
    exp.Rank,
    exp.DenseRank,
    exp.PercentRank,
    exp.CumeDist,
    exp.Ntile,
    exp.Lag,
    exp.Lead,
    exp.NthValue,
)
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
_AGGREGATE_NAMES = frozenset(
    """any some every bool_and bool_or bit_and bit_or bit_xor count_if count_min_sketch kurtosis
    skewness histogram_numeric try_sum try_avg bitmap_construct_agg bitmap_or_agg bitmap_and_agg
    hll_sketch_agg hll_union_agg regr_count regr_avgx regr_avgy regr_r2 regr_slope regr_intercept
    regr_sxx regr_sxy regr_syy percentile median mode std stddev variance collect_list collect_set
    array_agg listagg string_agg max_by min_by first_value last_value any_value approx_percentile
    percentile_approx approx_count_distinct product grouping grouping_id mean measure collect_union
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float theta_intersection_agg theta_sketch_agg theta_union_agg
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer""".split()
)
_ORDER_SENSITIVE = (
    exp.First,
    exp.Last,
    exp.FirstValue,
    exp.LastValue,
    exp.AnyValue,
    exp.ArrayAgg,
    exp.GroupConcat,
)
_ZERO_WHEN_EMPTY = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RegrCount)
_CHANCE = (
    exp.Rand,
    exp.Randn,
    exp.Randstr,
    exp.Uuid,
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentDatetime,
    exp.CurrentUser,
    exp.CurrentDatabase,
    exp.CurrentCatalog,
    exp.CurrentSchema,
    exp.CurrentTimezone,
    exp.CurrentTimestampLTZ,
    exp.CurrentVersion,
    exp.SessionUser,
    exp.Localtimestamp,
    exp.Localtime,
    exp.TableSample,
)
_CHANCE_NAMES = frozenset(
    """rand randn random randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
    input_file_name input_file_block_start input_file_block_length now localtimestamp curdate
    current_timestamp current_date current_time current_timezone current_user user session_user
    current_catalog current_database current_schema version reflect java_method try_reflect""".split()
)

CLOCK_WORD = r"(?:now|today|yesterday|tomorrow)"
"""What Spark reads from the clock where a text is cast to a date or a timestamp; a zone may follow."""

_CLOCK = re.compile(rf"\s*{CLOCK_WORD}(\s+\S+)?\s*", re.IGNORECASE)

_RANDOM_NAMES = frozenset(
    "rand randn random uuid shuffle uniform randstr monotonically_increasing_id".split()
)


def call_name(node: exp.Expr) -> str:
    """The lower-case name of a function call; empty for anything else."""
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        return str(node.name).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def unwrapped(node: exp.Expr) -> exp.Expr:
    """The call inside FILTER, WITHIN GROUP and IGNORE NULLS."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node


def is_aggregate_call(node: exp.Expr) -> bool:
    """Whether this node is an aggregate call, with its FILTER; a call under OVER is none."""
    call = unwrapped(node)
    if isinstance(call, _WINDOW_ONLY):
        return False
    if isinstance(call, exp.AggFunc):
        return True
    return isinstance(call, exp.Anonymous) and call_name(call) in _AGGREGATE_NAMES


def is_grouping_call(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Grouping, exp.GroupingId))


def depends_on_order(node: exp.Expr) -> bool:
    """Whether an aggregate's value depends on the order in which rows come."""
    call = unwrapped(node)
    if node.find(exp.Column) is None:
        return False
    if isinstance(call, exp.ArrayAgg) and call_name(call) == "collect_set":
        return False
    if isinstance(call, exp.GroupConcat):
        return not _orders_by_itself(call.this)
    return isinstance(call, _ORDER_SENSITIVE) or call_name(call) in {"string_agg", "listagg"}


def _orders_by_itself(node: exp.Expr) -> bool:
    """LISTAGG(x) WITHIN GROUP (ORDER BY …, x): equal keys mean equal values, so ties do not show."""
    if not isinstance(node, exp.Order):
        return False
    value = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    return any(item.this == value for item in node.expressions)


def in_a_fixed_order(node: exp.Expr) -> exp.Expr:
    """LISTAGG with its value as the last thing that it is ordered by, and Spark's empty separator.

    COLLECT_LIST and COLLECT_SET give their values in any order that they like: sorted, it is the same one
    each time. So is the least of the modes.
    """
    call = unwrapped(node)
    if isinstance(call, (exp.ArrayAgg, exp.ArrayUniqueAgg)):
        return function("sort_array", node)
    if isinstance(call, exp.Mode) and call.args.get("deterministic") is None and call.this is not None:
        call.set("deterministic", exp.true())
    if not isinstance(call, exp.GroupConcat):
        return node
    if call.args.get("separator") is None:
        call.set("separator", exp.Literal.string(""))
    if not _orders_by_itself(call.this):
        order = call.this if isinstance(call.this, exp.Order) else exp.Order(this=call.this, expressions=[])
        value = order.this.expressions[0] if isinstance(order.this, exp.Distinct) else order.this
        last = exp.Ordered(this=value.copy(), desc=False, nulls_first=True)
        call.set("this", exp.Order(this=order.this.copy(), expressions=[*order.expressions, last]))
    return node


def is_chance(node: exp.Expr) -> bool:
    """Whether a call's value is not a function of its arguments."""
    if isinstance(node, _CHANCE):
        return True
    if call_name(node) == "unix_timestamp" or isinstance(node, exp.StrToUnix):
        return node.this is None or isinstance(node.this, exp.CurrentTimestamp)
    return call_name(node) in _CHANCE_NAMES


def is_clock_literal(node: exp.Expr) -> bool:
    """DATE 'today', TIMESTAMP 'now' and the like: literals that are read from the clock."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return False
    return node.to.is_type(*exp.DataType.TEMPORAL_TYPES) and _CLOCK.fullmatch(node.this.name) is not None


def is_random(node: exp.Expr) -> bool:
    """Whether a call gives another value each time even within one statement."""
    return isinstance(node, (exp.Rand, exp.Randn, exp.Uuid, exp.Randstr)) or call_name(node) in _RANDOM_NAMES


def over_no_rows(call: exp.Expr, value: Scalar) -> Scalar:
    """The aggregate `value` with what it is over no rows in the place of a missing group's NULL."""
    inner = unwrapped(call)
    if isinstance(inner, _ZERO_WHEN_EMPTY):
        return function("coalesce", value, literal(0))
    if isinstance(inner, exp.ArrayAgg) or call_name(inner) in {"collect_set", "collect_list"}:
        return function("coalesce", value, exp.Array(expressions=[]))
    return value
