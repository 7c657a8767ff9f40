"""Tables 9, 11 and 12: γ of SUM, COUNT and (by its operator caches) AVG, from the changes alone.

    moved   =  γ_G, sum(±x)→x_Δ, sum(sign)→rows_Δ (changes)
               γ_G, sum(x_post) − sum(x_pre)→x_Δ (touched)            where all is one update inside groups
    beside  =  moved ⟕_G Output^pre
    Δ⁺      =  groups that Output lacks
    Δ⁻      =  groups of which no row is left
    Δᵘ      =  the others: c_pre = c, c_post = c + c_Δ
    Δ±      =  moved, where a view holds the groups, none begins or ends, and nobody asks for c_pre and c_post

The paper's tables leave out the creation and death of groups. The count of rows in a group decides
both; the count of values beside each sum decides whether it is NULL. Without grouping columns there
is one group, always.

`wide`: whole numbers are added up where there is room for sums that do not fit on the way. A new sum
overflows where it does not fit itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected, renamed
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    columns_of,
    function,
    literal,
    not_,
    null_safe_match,
    or_,
    rename_columns,
    same,
)
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Aggregate, Join, JoinKind, Relation, State
from viewkeeper.algebra.schema import WIDE
from viewkeeper.delta.numbers import digits_of, in_type_of_sum, widened
from viewkeeper.delta.parts import when
from viewkeeper.maintenance.id_diffs.diffs import DiffSchema, delete_schema, pre, truly_changed
from viewkeeper.maintenance.id_diffs.ids import Subview
from viewkeeper.maintenance.id_diffs.normalize import is_row_count
from viewkeeper.maintenance.id_diffs.rules.change import Propagated, in_order, inserted
from viewkeeper.maintenance.id_diffs.rules.touched import NEW_PREFIX, SIGN, Fate

MOVED_PREFIX = "__moved_"


def is_additive(view: Subview) -> bool:
    """Whether pass 1 has put the aggregate in terms of SUM and COUNT, with a count of rows."""
    plan = _aggregate(view)
    calls = [item.expr for item in plan.aggregates]
    plain = all(isinstance(c, (exp.Sum, exp.Count)) and not isinstance(c.this, exp.Distinct) for c in calls)
    return plain and any(is_row_count(c) for c in calls) and all(_values_counted(c, calls) for c in calls)


def _values_counted(call: Scalar, calls: list[Scalar]) -> bool:
    return not isinstance(call, exp.Sum) or exp.Count(this=call.this.copy(), big_int=True) in calls


def moved(view: Subview, changes: Relation, wide: bool = False) -> Relation:
    """Per group, by how much each sum and count has moved."""
    plan = _aggregate(view)
    return Aggregate(changes, plan.keys, tuple(_movement(item, wide) for item in plan.aggregates))


def _movement(item: Named, wide: bool) -> Named:
    sign, call = column(SIGN), item.expr
    if is_row_count(call):
        amount: Scalar = sign
    elif isinstance(call, exp.Count):
        missing = exp.Is(this=exp.paren(call.this.copy()), expression=exp.null())
        amount = exp.Case().when(missing, literal(0)).else_(sign)
    else:
        amount = _signed(widened(call.this) if wide else call.this, sign)
    return Named(MOVED_PREFIX + item.name, in_type_of_sum(call.this, function("sum", amount)))


def _signed(value: Scalar, sign: Scalar) -> Scalar:
    """sign·x; a product would have fewer digits after the point than x."""
    gone = exp.LT(this=sign.copy(), expression=literal(0))
    return when(gone, exp.Neg(this=exp.paren(value.copy())), value)


def moved_by_update(view: Subview, touched: Relation, wide: bool = False) -> Relation:
    """The same where rows stay in their groups: each has its values before and after beside each other."""
    plan = _aggregate(view)
    return Aggregate(touched, plan.keys, tuple(_difference(item, wide) for item in plan.aggregates))


def _difference(item: Named, wide: bool) -> Named:
    call = exp.Sum(this=widened(item.expr.this)) if wide and isinstance(item.expr, exp.Sum) else item.expr
    if is_row_count(call):
        amount: Scalar = function("sum", literal(0))
    else:
        after = rename_columns(call, {name: NEW_PREFIX + name for name in columns_of(call)})
        moved_by = exp.Sub(this=_or_zero(after), expression=_or_zero(call.copy()))
        amount = moved_by if isinstance(call, exp.Count) else in_type_of_sum(item.expr.this, moved_by)
    return Named(MOVED_PREFIX + item.name, amount)


def _or_zero(call: Scalar) -> Scalar:
    return call if isinstance(call, exp.Count) else function("coalesce", call, literal(0))


def beside_output(view: Subview, moved_groups: Relation) -> Relation:
    """The moved groups beside what the output holds of them; NULLs where it has no such group."""
    plan = _aggregate(view)
    other = {name: pre(name) for name in view.columns}
    on = null_safe_match((key, pre(key)) for key in plan.key_names)
    return Join(moved_groups, renamed(view.at(State.OLD), other), JoinKind.LEFT, on)


def moves(view: Subview, groups: Relation, fate: Fate, top: Subview, names: Mapping[str, str]) -> Propagated:
    """What is added to a view that holds the aggregate, under the `names` that its columns have there: the
    view is not looked at."""
    plan = _aggregate(view)
    items = [item for item in plan.aggregates if item.name in fate.updated]
    shown = tuple(names[item.name] for item in items)
    values = {item.expr.this: names[item.name] for item in items if isinstance(item.expr, exp.Count)}
    counts = tuple((names[i.name], values[i.expr.this]) for i in items if isinstance(i.expr, exp.Sum))
    ids = tuple(names[name] for name in view.ids)
    schema = DiffSchema(DiffKind.MOVE, top.name, ids, (), shown, shown, counts)
    by = [(item.name, column(MOVED_PREFIX + item.name)) for item in items]
    some = or_(*(exp.NEQ(this=amount, expression=literal(0)) for _, amount in by))
    named = [Named(names[name], column(name)) for name in view.ids]
    added = [Named(names[name], amount.copy()) for name, amount in by]
    return Propagated(schema, in_order(projected(filtered(groups, some), (*named, *added)), schema))


def sums(view: Subview, beside: Relation, fate: Fate, wide: bool = False) -> Iterator[Propagated]:
    plan = _aggregate(view)
    rows = next(item.name for item in plan.aggregates if is_row_count(item.expr))
    new = (*same(plan.key_names), *(_new_value(item, plan, wide) for item in plan.aggregates))
    exists = not_(exp.Is(this=column(pre(rows)), expression=exp.null()))
    left = exp.GT(this=_total(rows), expression=literal(0))
    if fate.births:
        missing = exp.Is(this=column(pre(rows)), expression=exp.null())
        yield inserted(view, projected(filtered(beside, and_(missing, left)), new))
    if fate.deaths:
        gone = delete_schema(view.name, view.ids, view.attributes)
        yield Propagated(gone, in_order(filtered(beside, and_(exists, not_(left))), gone))
    names = view.attributes
    schema = DiffSchema(DiffKind.UPDATE, view.name, view.ids, names, names, fate.updated)
    alive = filtered(beside, and_(exists, left) if fate.deaths else exists)
    after = projected(alive, (*new, *same(pre(name) for name in names)))
    yield Propagated(schema, truly_changed(in_order(after, schema), schema, fate.updated))


def _new_value(item: Named, plan: Aggregate, wide: bool) -> Named:
    if isinstance(item.expr, exp.Count):
        return Named(item.name, _total(item.name))
    counted = exp.Count(this=item.expr.this.copy(), big_int=True)
    values = next(other.name for other in plan.aggregates if other.expr == counted)
    none_left = exp.EQ(this=_total(values), expression=literal(0))
    is_widened = wide and digits_of(item.expr.this) is None
    new = exp.cast(_total(item.name, WIDE), "bigint") if is_widened else _total(item.name)
    return Named(item.name, exp.Case().when(none_left, exp.null()).else_(new))


def _total(name: str, kind: str = "") -> Scalar:
    """What there was and by how much it has moved, in the type `kind` where that is given."""
    old = function("coalesce", column(pre(name)), literal(0))
    moved_by = function("coalesce", column(MOVED_PREFIX + name), literal(0))
    return exp.Add(this=exp.cast(old, kind) if kind else old, expression=moved_by)


def _aggregate(view: Subview) -> Aggregate:
    assert isinstance(view.plan, Aggregate)
    return view.plan
