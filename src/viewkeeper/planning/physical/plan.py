"""A physical plan: what Spark is told, as a plain value.

It is made of *fragments*, each one query. A later one refers to an earlier one by its name; the last one is
the result. What Spark cannot know stands beside the queries: which fragment is broadcast or written first,
which inputs one task reads, which joins find both sides there, which filters are IN-lists of known keys. The
executor does what is written here, and `explain` prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import Join, Reference, Relation, Scan
from viewkeeper.algebra.walk import nodes
from viewkeeper.limits import LIMITS, Limits
from viewkeeper.planning.physical.keys import Keys
from viewkeeper.sql.render import render, state_name

Leaf = Scan | Reference


@dataclass(frozen=True)
class Input:
    """What is known of an input before it is read.

    `rows` are at most as many as it has, `read` are those of the files that are opened for it. `key`: no two
    rows agree in these columns. `joins` is how many joins are behind it in the one task that reads it; None
    where several tasks do. `is_few`: it may be hashed where it is looked up. `held`: its rows are on the
    driver.
    """

    rows: float = inf
    read: int = 0
    key: tuple[str, ...] = ()
    joins: int | None = None
    is_few: bool = False
    held: bool = False


class KnownValues:
    """What the driver knows of the values in a plan's inputs: nothing."""

    any: bool = False
    """Whether it knows those of some input."""

    def keys(self, rel: Relation, name: str) -> Keys | None:
        """The values of a column, where they are known and few."""
        return None

    def knows(self, rel: Relation) -> bool:
        """Whether the driver has the rows of a relation: then nothing of it need be looked up."""
        return False


@dataclass(frozen=True)
class KnownTypes:
    """The types of columns: of an input, as far as they are known; of a whole plan, for which Spark must be
    asked; None where it cannot be asked yet."""

    of_leaf: Callable[[Leaf], Mapping[str, str]]
    of_plan: Callable[[Relation], Mapping[str, str]] | None = None


@dataclass(frozen=True)
class Facts:
    """What passes may look at: the inputs by their names in SQL, known values and types, and the limits.

    `near` is about which part of what is stored known keys name; None: it is not looked up by them. At most
    `most_lookups` are made, each an action: Spark takes one for a plan. `wanted` are the columns and types
    that the result is to have, where that is known.
    """

    inputs: Mapping[str, Input]
    values: KnownValues = field(default_factory=KnownValues)
    types: KnownTypes | None = None
    limits: Limits = LIMITS
    near: float | None = None
    most_lookups: float = inf
    wanted: tuple[tuple[str, str], ...] | None = None

    def rows(self, leaf: Leaf) -> float:
        return self.input(leaf).rows

    def input(self, leaf: Leaf) -> Input:
        return self.inputs.get(state_name(leaf), Input())


@dataclass(frozen=True)
class Lookup:
    """Rows of what is stored whose `column` is one of the values of `key` in the relation `of`, which the
    driver holds."""

    column: str
    of: str
    key: str
    null_safe: bool = False


@dataclass(frozen=True)
class Fragment:
    """One query. `is_part`: it may be in a plan many times.

    `here`: the driver runs it. `lookups`: Spark does, for these keys alone, and the driver holds what it
    finds. `types` are those of its columns, where they are known.

    `merged` and `hashed` are joins whose two sides are in one task: they are sorted there, or the right side
    is hashed. `joins` is how many joins its task has, where all of it is in one; else None.
    """

    name: str
    plan: Relation
    is_part: bool = True
    broadcast: bool = False
    materialize: bool = False
    merged: frozenset[Join] = frozenset()
    hashed: frozenset[Join] = frozenset()
    joins: int | None = None
    here: bool = False
    lookups: tuple[Lookup, ...] = ()
    types: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Physical:
    """Fragments, inputs first, and what holds for all of them.

    `one_task` are inputs that one task reads, `in_lists` filters that pass only rows with known keys. Until
    fragments are made, `broadcast` and `materialize` are nodes that become fragments of their own.
    `otherwise` are the fragments that Spark runs where the driver cannot after all.
    """

    fragments: tuple[Fragment, ...]
    one_task: frozenset[str] = frozenset()
    in_lists: frozenset[Relation] = frozenset()
    broadcast: frozenset[Relation] = frozenset()
    materialize: frozenset[Relation] = frozenset()
    otherwise: tuple[Fragment, ...] = ()

    @property
    def result(self) -> Fragment:
        return self.fragments[-1]

    @property
    def is_here(self) -> bool:
        """Whether the driver puts the result together."""
        return self.result.here

    @property
    def on_spark(self) -> Physical:
        """The same, all of it by Spark."""
        return replace(self, fragments=self.otherwise, otherwise=()) if self.is_here else self

    def with_result(self, plan: Relation) -> Physical:
        """The same with another plan for the result."""
        return replace(self, fragments=(*self.fragments[:-1], replace(self.result, plan=plan)))


Pass = Callable[[Physical, Facts], Physical]


def leaves(plan: Relation) -> Iterator[Leaf]:
    return (node for node in nodes(plan) if isinstance(node, Scan | Reference))


def check(physical: Physical, columns: tuple[str, ...]) -> Physical:
    """The plan, whose references resolve, whose hints are about joins that it has, and whose result has the
    columns that it had."""
    known: dict[str, tuple[str, ...]] = {}
    for fragment in physical.fragments:
        for leaf in leaves(fragment.plan):
            wide = known.get(leaf.name, leaf.columns) if isinstance(leaf, Reference) else leaf.columns
            if not set(leaf.columns) <= set(wide):
                raise MalformedPlan(f"physical plan: {state_name(leaf)} has not all of {leaf.columns}")
        if fragment.name in known:
            raise MalformedPlan(f"physical plan: two fragments are called {fragment.name!r}")
        if not (fragment.merged | fragment.hashed) <= set(nodes(fragment.plan)):
            raise MalformedPlan(f"physical plan: hints of {fragment.name!r} are about joins that it has not")
        known[fragment.name] = fragment.plan.columns
    if physical.result.plan.columns != columns:
        raise MalformedPlan(f"physical plan: {physical.result.plan.columns} are not {columns}")
    return physical


def shown(physical: Physical) -> tuple[tuple[str, str], ...]:
    """Each fragment as words on how it is run, and its SQL."""
    return tuple((_words(fragment, physical), _sql(fragment)) for fragment in physical.fragments)


def _words(fragment: Fragment, physical: Physical) -> str:
    read = {state_name(leaf) for leaf in leaves(fragment.plan)}
    gathered = sorted(read & physical.one_task)
    listed = sum(1 for node in nodes(fragment.plan) if node in physical.in_lists)
    parts = [
        *(["on the driver"] if fragment.here else []),
        *([f"a lookup of {_keys_looked_up(fragment)}"] if fragment.lookups else []),
        *(["broadcast"] if fragment.broadcast else []),
        *(["written out first"] if fragment.materialize else []),
        *(["in one task"] if fragment.joins is not None else []),
        *([f"one task reads {', '.join(gathered)}"] if gathered else []),
        *([f"{listed} IN-list{'s' if listed > 1 else ''} of known keys"] if listed else []),
    ]
    return ", ".join(parts)


def _keys_looked_up(fragment: Fragment) -> str:
    return ", ".join(f"{one.column} in {one.of}.{one.key}" for one in fragment.lookups)


def _sql(fragment: Fragment) -> str:
    return render(fragment.plan, in_place=fragment.merged | fragment.hashed, hashed=fragment.hashed)
