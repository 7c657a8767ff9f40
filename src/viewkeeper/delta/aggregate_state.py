"""What is stored of an aggregate so that changes can be merged into it.

One row per group: the group-by columns, COUNT(*) as `__rows`, and one column per piece of state that
the aggregates need, each once (quass96 4.1: "we assume that a count aggregate function is also
computed"; mumick97 3.1 for NULLs). An extreme has a second column, `__at_…`: how many rows hold it,
so that deleting one of several equal minima needs no look at the base.

    SELECT k, MIN(x), AVG(y) … GROUP BY k   →   k, __rows, __min_x, __at_min_x, __n_x, __sum_y, __n_y
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from viewkeeper.algebra.build import fresh, projected
from viewkeeper.algebra.expressions import Named, Scalar, column, same
from viewkeeper.algebra.relations import Aggregate, Relation
from viewkeeper.delta.functions import decompose
from viewkeeper.delta.parts import ROWS, Decomposition, Part, PartKind

ROWS_NAME = "__rows"
"""The state column that holds COUNT(*): a group where it is 0 does not exist."""


@dataclass(frozen=True)
class AggregateState:
    """An aggregate all of whose functions have state, and the names of its state columns."""

    aggregate: Aggregate
    calls: tuple[tuple[str, Decomposition], ...]
    names: tuple[tuple[Part, str], ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.aggregate.key_names

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for part, _ in self.names)

    @property
    def extremes(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.is_extreme)

    @property
    def moments(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.is_moment)

    @cached_property
    def _name(self) -> dict[Part, str]:
        return dict(self.names)

    def name(self, part: Part) -> str:
        return self._name[part]

    def part(self, name: str) -> Part | None:
        """What a column holds, where it is a piece of state."""
        return self._part.get(name)

    @cached_property
    def _part(self) -> dict[str, Part]:
        return {name: part for part, name in self.names}

    def at(self, part: Part) -> str:
        """The column that says how many rows hold an extreme."""
        return f"__at{self.name(part)[1:]}"

    def counter(self, part: Part) -> str:
        """The column that counts the values which are not NULL."""
        return self.name(Part(PartKind.COUNT, part.argument))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the stored relation."""
        found = list(self.keys)
        for part, name in self.names:
            found += [name, self.at(part)] if part.is_extreme else [name]
        return tuple(found)

    @cached_property
    def outputs(self) -> tuple[Named, ...]:
        """The aggregate's own columns over the stored ones."""

        def stored(part: Part) -> Scalar:
            return column(self.name(part))

        return (*same(self.keys), *(Named(name, call.final(stored)) for name, call in self.calls))

    @property
    def depends_on_order(self) -> bool:
        """Whether a second computation from the same rows may store another last digit."""
        return any(part.is_moment or part.inexact for part in self.parts)

    @property
    def as_stored(self) -> Relation:
        """The aggregate, put together of the pieces that are stored: the same to the last digit."""
        if not any(part.kind is PartKind.TOTAL for part in self.parts):
            return self.aggregate
        totals = tuple(Named(name, part.call) for part, name in self.names)
        return self.visible(replace(self.aggregate, aggregates=totals))

    def visible(self, stored: Relation) -> Relation:
        """The aggregate itself, from its state."""
        return projected(stored, self.outputs)


def aggregate_state(aggregate: Aggregate) -> AggregateState | None:
    """The state of an aggregate; none when one of its functions has none."""
    calls = tuple((item.name, decompose(item.expr)) for item in aggregate.aggregates)
    known = tuple((name, call) for name, call in calls if call is not None)
    if len(known) < len(calls):
        return None
    parts = dict.fromkeys([ROWS, *(part for _, call in known for _, part in call.parts)])
    for part in tuple(parts):
        for argument in (part.argument, part.other):
            if part.is_null_over_nothing and argument is not None:
                parts[Part(PartKind.COUNT, argument)] = None
    return AggregateState(aggregate, known, tuple(_named(tuple(parts), aggregate.key_names).items()))


def _named(parts: tuple[Part, ...], taken: tuple[str, ...]) -> Mapping[Part, str]:
    names: dict[Part, str] = {}
    stems: dict[Scalar, str] = {}
    for part in parts:
        if part.argument is None:
            names[part] = ROWS_NAME
            continue
        if part.argument not in stems:
            stems[part.argument] = fresh(_stem(part.argument, len(stems) + 1), stems.values())
        names[part] = fresh(f"__{part.kind.value}_{stems[part.argument]}", (*taken, *names.values()))
    return names


def _stem(argument: Scalar, number: int) -> str:
    """A column's name, whatever type it is read in; an expression is numbered."""
    value = argument.this if isinstance(argument, exp.Cast) else argument
    return value.name if isinstance(value, exp.Column) else f"e{number}"
