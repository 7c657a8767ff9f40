"""Runs the fragments of a plan that are placed on the driver, and has Spark look up what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import pyarrow as pa

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.expressions import conjunction
from viewkeeper.algebra.relations import Filter, Relation
from viewkeeper.algebra.schema import Column
from viewkeeper.engine.local.evaluate import Evaluation, TooMuch
from viewkeeper.engine.rows import Held, nothing
from viewkeeper.limits import LIMITS, Limits
from viewkeeper.planning.physical import Facts, Input, KnownTypes, Physical, lowered
from viewkeeper.planning.physical.agreement import LeafTypes, agreed_types, agrees_with_spark
from viewkeeper.planning.physical.in_lists import is_among
from viewkeeper.planning.physical.keys import TYPES, Keys
from viewkeeper.planning.physical.plan import Fragment, KnownValues, leaves
from viewkeeper.sql.render import state_name

LookUp = Callable[[Relation], pa.Table | None]
"""The rows of a plan that scans one relation for known keys; None where they are too many."""


def run(
    physical: Physical, held: Mapping[str, Held], look_up: LookUp, limits: Limits = LIMITS
) -> Held | None:
    """The rows of a plan that is placed on the driver; None where Spark has to run it after all.

    `held` are the rows of its inputs by their names. What is asked twice for the same keys is looked up once.
    """
    known, once = dict(held), cache(look_up)
    try:
        for fragment in physical.fragments:
            known[fragment.name] = _run(fragment, known, once, limits)
    except TooMuch:
        return None
    return known[physical.result.name]


def here(plan: Relation, held: Mapping[str, Held], limits: Limits = LIMITS) -> Held | None:
    """The rows of a plan over rows that are held, where it is placed on the driver."""
    inputs = {name: Input(rows.rows, joins=0, is_few=True, held=True) for name, rows in held.items()}
    facts = Facts(inputs, types=KnownTypes(lambda leaf: held[state_name(leaf)].types), limits=limits)
    physical = lowered(plan, facts)
    return run(physical, held, nowhere, limits) if physical.is_here else None


def nowhere(plan: Relation) -> pa.Table | None:
    """What looks nothing up."""
    return None


def _run(fragment: Fragment, known: Mapping[str, Held], look_up: LookUp, limits: Limits) -> Held:
    columns = tuple(Column(name, kind) for name, kind in fragment.types)
    if is_empty(fragment.plan):
        return nothing(columns)
    if fragment.lookups:
        table = _looked_up(fragment, known, look_up, limits)
        return nothing(columns) if table is None else Held(table.select(list(fragment.plan.columns)), columns)
    return Held(evaluation(fragment.plan, known, limits).rows(fragment.plan), columns)


def _looked_up(
    fragment: Fragment, known: Mapping[str, Held], look_up: LookUp, limits: Limits
) -> pa.Table | None:
    """What Spark finds for the keys that are asked for; None where there are none, and it is not asked."""
    found = {one.column: keys_of(known[one.of], one.key, limits, one.null_safe) for one in fragment.lookups}
    few = {name: keys for name, keys in found.items() if keys is not None}
    if any(not keys.values and not keys.has_null for keys in few.values()):
        return None
    if not few:
        raise TooMuch
    table = look_up(Filter(fragment.plan, conjunction(is_among(name, keys) for name, keys in few.items())))
    if table is None:
        raise TooMuch
    return table


def keys_of(held: Held, name: str, limits: Limits, null_safe: bool = True) -> Keys | None:
    """The values of a column, where they can be written down and are few; NULL only where it equals NULL."""
    values, kind = held.table[name].unique(), held.types[name]
    if kind not in TYPES or len(values) > limits.in_list:
        return None
    return Keys(tuple(sorted(values.drop_null().to_pylist())), kind, null_safe and values.null_count > 0)


def evaluation(plan: Relation, held: Mapping[str, Held], limits: Limits) -> Evaluation:
    """A plan ready to be evaluated over rows that are held."""
    return Evaluation(lambda leaf: held[state_name(leaf)].table, agreed_types(plan, types_of(held)), limits)


def types_of(held: Mapping[str, Held]) -> LeafTypes:
    """The types of what is held, by the names of inputs."""
    return lambda leaf: held[state_name(leaf)].types


@dataclass
class HeldValues(KnownValues):
    """Values of rows that the driver holds, and of what it can put together from them."""

    held: Mapping[str, Held]
    limits: Limits = LIMITS
    any: bool = True
    _known: dict[Relation, Held | None] = field(default_factory=dict)

    def keys(self, rel: Relation, name: str) -> Keys | None:
        found = self._rows(rel)
        return keys_of(found, name, self.limits) if found is not None and found.rows else None

    def knows(self, rel: Relation) -> bool:
        return self._rows(rel) is not None

    def _rows(self, rel: Relation) -> Held | None:
        if rel not in self._known:
            self._known[rel] = self._found(rel)
        return self._known[rel]

    def _found(self, rel: Relation) -> Held | None:
        if not all(state_name(leaf) in self.held for leaf in leaves(rel)):
            return None
        if not agrees_with_spark(rel, types_of(self.held)):
            return None
        own = evaluation(rel, self.held, self.limits)
        try:
            table = own.rows(rel)
        except TooMuch:
            return None
        return Held(table, tuple(Column(name, own.types[rel][name]) for name in rel.columns))
