"""What a summary table stores: mumick97 section 3.1 and the start of section 5.4.

    every view       COUNT(*)                     __rows      ADD     a group at 0 does not exist
    COUNT(e)         COUNT(e)                     __n_e       ADD
    SUM(e), AVG(e)   COUNT(e), SUM(e) or 0        __sum_e     ADD     SUM is NULL where COUNT(e) = 0
    MIN(e), MAX(e)   COUNT(e), the extreme        __min_e     MIN     NULL where COUNT(e) = 0

State columns are named by what they hold, so that views which need the same one have it under the same
name. Where e cannot be NULL, COUNT(e) is COUNT(*) and is not stored twice. Which state a function needs
is said once, in `delta/functions.py`; how a warehouse stores and merges it, in `delta/aggregate_state.py`
and `maintenance/program.py`, and `lattice/summary.py` leads from one to the other.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    function,
    literal,
    replace_columns,
)
from viewkeeper.algebra.relations import Aggregate, Relation
from viewkeeper.delta.parts import Part, PartKind
from viewkeeper.maintenance.lattice.cube_view import CubeView, is_never_null
from viewkeeper.maintenance.lattice.measures import decomposed

ROWS = "__rows"
"""The state column that holds COUNT(*) of a group."""


@dataclass(frozen=True)
class StateColumn:
    """One stored column of a summary table that is not a key."""

    kind: PartKind
    argument: Scalar | None = None

    @property
    def name(self) -> str:
        return ROWS if self.argument is None else f"__{self.kind.value}_{slug(self.argument)}"

    @property
    def lost(self) -> str:
        """In a summary-delta: the extreme of what was deleted, beside that of what was inserted."""
        return f"__lost{self.name[1:]}"

    @property
    def at(self) -> str:
        """How many rows hold an extreme."""
        return f"__at{self.name[1:]}"

    @property
    def is_extreme(self) -> bool:
        return self.kind in (PartKind.MIN, PartKind.MAX)

    def total(self, expr: Scalar) -> Scalar:
        """The aggregate that merges this column's values over rows."""
        if self.is_extreme:
            return function(self.kind.value, expr)
        return function("coalesce", function("sum", expr), literal(0))


STAR = StateColumn(PartKind.ROWS)


def slug(expr: Scalar) -> str:
    """A short name: `qty`, `stores_storeID_region`; what is no column gets a mark of its own."""
    text = expr.sql()
    words = re.sub(r"\W+", "_", text).strip("_")
    if isinstance(expr, exp.Column):
        return words
    return f"{words[:24].strip('_')}_{hashlib.sha1(text.encode()).hexdigest()[:6]}"


def state_columns(view: CubeView) -> tuple[StateColumn, ...]:
    """The state that makes the view's aggregates maintainable, COUNT(*) first, each column once."""
    found = dict.fromkeys([STAR])
    for measure in view.all_measures:
        for _, part in decomposed(measure.expr).parts:
            if part.is_null_over_nothing:
                found[counter(view, part.argument)] = None
            found[of_part(view, part)] = None
    return tuple(found)


def of_part(view: CubeView, part: Part) -> StateColumn:
    counts = part.kind in (PartKind.ROWS, PartKind.COUNT)
    return counter(view, part.argument) if counts else StateColumn(part.kind, _bare(part.argument))


def counter(view: CubeView, argument: Scalar | None) -> StateColumn:
    """The column that counts the values of an expression that are not NULL."""
    if argument is None or is_never_null(view, argument.unnest()):
        return STAR
    return StateColumn(PartKind.COUNT, _bare(argument))


def _bare(argument: Scalar | None) -> Scalar | None:
    """Without the parentheses around the whole, so that equal arguments are equal."""
    return None if argument is None else argument.unnest()


def extremes(view: CubeView) -> tuple[StateColumn, ...]:
    return tuple(state for state in state_columns(view) if state.is_extreme)


def stored_columns(view: CubeView) -> tuple[str, ...]:
    """Keys and state: what the view's stored relation has besides its visible columns."""
    return (*view.key_names, *(state.name for state in state_columns(view)))


def delta_columns(view: CubeView, may_delete: bool) -> tuple[str, ...]:
    """The columns of the view's summary-delta: as stored, and what was lost beside every extreme."""
    names = list(view.key_names)
    for state in state_columns(view):
        names += [state.name, state.lost] if state.is_extreme and may_delete else [state.name]
    return tuple(names)


def final(view: CubeView, call: Scalar) -> Scalar:
    """A measure's value from the state columns."""
    return decomposed(call).final(lambda part: _value(view, part)).unnest()


def _value(view: CubeView, part: Part) -> Scalar:
    """SUM, MIN and MAX are NULL where COUNT(e) is 0, whatever is stored."""
    state = of_part(view, part)
    if not part.is_null_over_nothing:
        return column(state.name)
    some = exp.GT(this=column(counter(view, part.argument).name), expression=literal(0))
    return exp.Case(ifs=[exp.If(this=some, true=column(state.name))])


def final_outputs(view: CubeView) -> tuple[Named, ...]:
    """The visible columns over the stored ones."""
    values = {measure.name: final(view, measure.expr) for measure in view.measures}
    return tuple(Named(o.name, replace_columns(o.expr, values).unnest()) for o in view.outputs)


def visible(view: CubeView, stored: Relation) -> Relation:
    """The view itself from its stored state; without keys there is one row, even over nothing."""
    if not view.all_keys:
        totals = (Named(s.name, s.total(column(s.name))) for s in state_columns(view))
        stored = Aggregate(stored, (), tuple(totals))
    return projected(stored, final_outputs(view))
