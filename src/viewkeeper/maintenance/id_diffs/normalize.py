"""Before the passes: the view's plan in the operators that the rules know.

- a duplicate elimination groups by all columns (katsis15, section 4, pass 1);
- EXCEPT and INTERSECT are an antisemijoin and a semijoin of sets;
- conjuncts above an inner join move into it, where the rules can see which sides they compare;
- AVG becomes SUM and COUNT, which are its operator caches (Table 12); a FILTER becomes a CASE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.algebra.build import apart, filtered
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    function,
    literal,
    null_safe_match,
    same,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Difference,
    Distinct,
    Filter,
    Intersection,
    Join,
    JoinKind,
    Relation,
)
from viewkeeper.algebra.schema import WIDE
from viewkeeper.algebra.walk import rewrite
from viewkeeper.delta.numbers import average_from, digits_of


def normalized(plan: Relation) -> Relation:
    return rewrite(rewrite(plan, _known_operator), _condition_moved)


def _known_operator(rel: Relation) -> Relation:
    match rel:
        case Distinct():
            return Aggregate(rel.child, same(rel.columns), ())
        case Difference(all=False):
            return _of_sets(rel.left, rel.right, JoinKind.ANTI)
        case Intersection(all=False):
            return _of_sets(rel.left, rel.right, JoinKind.SEMI)
        case _:
            return rel


def _of_sets(left: Relation, right: Relation, kind: JoinKind) -> Relation:
    """EXCEPT and INTERSECT compare whole rows, and NULL with NULL."""
    left = Aggregate(left, same(left.columns), ())
    others = right.columns
    right, names = apart(left, right)
    on = null_safe_match((a, names[b]) for a, b in zip(left.columns, others, strict=True))
    return Join(left, right, kind, on)


def _condition_moved(rel: Relation) -> Relation:
    if not isinstance(rel, Filter) or not isinstance(rel.child, Join) or rel.child.kind is not JoinKind.INNER:
        return rel
    join = rel.child
    parts = list(conjuncts(rel.condition))
    left = [part for part in parts if columns_of(part) and columns_of(part) <= set(join.left.columns)]
    right = [part for part in parts if columns_of(part) and columns_of(part) <= set(join.right.columns)]
    rest = [part for part in parts if part not in left and part not in right]
    return replace(
        join,
        left=_condition_moved(filtered(join.left, conjunction(left))),
        right=_condition_moved(filtered(join.right, conjunction(right))),
        on=conjunction((*conjuncts(join.on), *rest)),
    )


class Fresh:
    """Names that nothing in a plan has yet."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = {name.lower() for name in taken}

    def __call__(self, wish: str) -> str:
        name, number = wish, 2
        while name.lower() in self.taken:
            name, number = f"{wish}_{number}", number + 1
        self.taken.add(name.lower())
        return name


@dataclass(frozen=True)
class Measures:
    """Aggregates as sums and counts that changes can be added to, and what is shown of them."""

    stored: tuple[Named, ...]
    shown: tuple[Named, ...]


def measures(aggregates: Iterable[Named], names: Fresh) -> Measures | None:
    """The aggregates in terms of SUM and COUNT, or nothing where some has no such terms.

    Every SUM stands beside the COUNT of its values: a sum of no values is NULL. The COUNT of all
    rows tells when a group begins and ends to exist.
    """
    kept = _Kept(names)
    shown = []
    for item in aggregates:
        expr = kept.shown_as(item.name, _without_filter(item.expr))
        if expr is None:
            return None
        shown.append(Named(item.name, expr))
    kept.keep(ROWS)
    return Measures(tuple(kept.stored), tuple(shown))


class _Kept:
    """The sums and counts to be stored, each once."""

    def __init__(self, names: Fresh) -> None:
        self.names = names
        self.stored: list[Named] = []

    def shown_as(self, name: str, call: Scalar) -> Scalar | None:
        """What the aggregate `call`, shown as `name`, is in terms of what is stored."""
        match call:
            case exp.Count() if is_row_count(call):
                return self.keep(ROWS, name)
            case exp.Count() if _plain_argument(call):
                return self.keep(_count(call.this), name)
            case exp.Sum() if _plain_argument(call):
                total = self.keep(exp.Sum(this=call.this.copy()), name)
                self.keep(_count(call.this))
                return total
            case exp.Avg() if _plain_argument(call):
                return self._average(call.this)
            case _:
                return None

    def _average(self, x: Scalar) -> Scalar | None:
        """Of BIGINT, Spark adds up doubles: a sum that is no BIGINT has an average all the same."""
        is_long = isinstance(x, exp.Cast) and x.to.is_type("bigint")
        summed, name = (exp.cast(x, WIDE), self.names("__wide")) if is_long else (x, None)
        total, values = self.keep(exp.Sum(this=summed.copy()), name), self.keep(_count(summed))
        if is_long:
            return exp.Div(this=exp.cast(total, "double"), expression=_null_if_zero(values))
        if digits_of(x) is not None:
            return average_from(x, total, values)
        return exp.Div(this=total, expression=_null_if_zero(values))

    def keep(self, call: Scalar, name: str | None = None) -> Scalar:
        """The column that stores `call`, under the shown name if it is shown as it is stored."""
        known = next((item.name for item in self.stored if item.expr == call), None)
        if known is None:
            hidden = "__sum" if isinstance(call, exp.Sum) else "__rows" if call == ROWS else "__n"
            known = name or self.names(hidden)
            self.stored.append(Named(known, call))
        return column(known)


def _count(argument: Scalar) -> exp.Count:
    return exp.Count(this=argument.copy(), big_int=True)


ROWS = exp.Count(this=exp.Star(), big_int=True)


def is_row_count(call: Scalar) -> bool:
    """COUNT(*), or COUNT of a constant that is not NULL."""
    constant = isinstance(call.this, (exp.Star, exp.Literal))
    return isinstance(call, exp.Count) and constant and not call.expressions


def _plain_argument(call: Scalar) -> bool:
    return not isinstance(call.this, (exp.Distinct, exp.Star)) and not call.expressions


def _null_if_zero(expr: Scalar) -> Scalar:
    return function("nullif", expr, literal(0))


def _without_filter(call: Scalar) -> Scalar:
    """`sum(x) FILTER (WHERE p)` as `sum(CASE WHEN p THEN x END)`; other calls as they are."""
    if not isinstance(call, exp.Filter) or not isinstance(call.this, (exp.Sum, exp.Count, exp.Avg)):
        return call
    inner = call.this
    if isinstance(inner.this, exp.Distinct) or inner.expressions:
        return call
    value = literal(1) if isinstance(inner.this, exp.Star) else inner.this.copy()
    return type(inner)(this=exp.Case().when(call.expression.this.copy(), value))
