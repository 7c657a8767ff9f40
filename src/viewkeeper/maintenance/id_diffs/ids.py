"""Pass 1: the IDs of every subview (katsis15, Table 1), and the plan extended with those it lacks.

    SCAN(R)          key(R)              R × S, R ⋈ S     ID(R) ∪ ID(S)
    σ(R), π(R)       ID(R)               R ∪ S            ID(R) ∪ ID(S) ∪ {b}
    R ⋉ S, R ▷ S     ID(R)               γ_G(R)           G

IDs form a key of the subview and never change in a row: a row with other IDs is another row. What
a projection drops comes back as a hidden column, which adds to the width of the view and not to its
rows. Two IDs that a join equates are one ID.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar
from viewkeeper.algebra.relations import Aggregate, Join, JoinKind, Project, Reference, Relation, State
from viewkeeper.rewrite.equalities import identities


@dataclass(frozen=True)
class Component:
    """A part of the key and what depends on it alone: `ids → attributes`."""

    ids: tuple[str, ...]
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class Subview:
    """An operator of the extended plan, with all below it.

    `merged` maps IDs of a join's right side to the equal IDs of its left side that stand for them.
    `types` holds the types of columns that come from tables, and "exact" for exact arithmetic.
    """

    name: str
    plan: Relation
    ids: tuple[str, ...]
    components: tuple[Component, ...]
    inputs: tuple[Subview, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict, compare=False)
    types: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.plan.columns

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self.ids)

    def at(self, state: State) -> Reference:
        """How a rule asks for the data of this subview: pass 3 decides where they come from."""
        return Reference(f"{self.name}@{state.value}", self.columns)


def subviews(top: Subview) -> Iterator[Subview]:
    """Every subview, inputs first."""
    for below in top.inputs:
        yield from subviews(below)
    yield top


def multivalued(view: Subview) -> bool:
    """Whether some join matches many rows with many: its result repeats what it is made of.

    A join that compares the whole key of one side for equality finds at most one row there.
    """
    match view.plan:
        case Aggregate():
            return False
        case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
            return multivalued(view.inputs[0])
        case Join():
            return not _finds_one(view) or any(multivalued(below) for below in view.inputs)
        case _:
            return any(multivalued(below) for below in view.inputs)


def _finds_one(view: Subview) -> bool:
    join = view.plan
    assert isinstance(join, Join)
    found = identities(join.on, join.left, join.right)
    left, right = view.inputs
    by_left = {e.left.name for e in found} >= set(left.ids)
    by_right = {e.right.name for e in found} >= set(right.ids)
    return by_left or by_right


def columns_compared(part: Scalar) -> tuple[str, str] | None:
    """The two columns of a conjunct that is nothing but `column = column`."""
    if not isinstance(part, exp.EQ):
        return None
    one, other = part.left.unnest(), part.right.unnest()
    if not isinstance(one, exp.Column) or not isinstance(other, exp.Column):
        return None
    return one.name, other.name


def same_type(left: Subview, mine: str, right: Subview, theirs: str) -> bool:
    """Whether two columns, where they are equal, have the same value: they are known to be of one type, in
    which no two values are equal, as 0.0 and -0.0 are."""
    kind = left.types.get(mine, "")
    in_doubles = any(word in kind for word in ("float", "double", "real"))
    return kind not in ("", "exact") and not in_doubles and kind == right.types.get(theirs)


def columns_of_projection(view: Subview) -> dict[str, str]:
    """For each input column that a projection passes on, the first output that it is."""
    assert isinstance(view.plan, Project)
    names: dict[str, str] = {}
    for output in _ids_first(view, view.plan):
        if output.is_column:
            names.setdefault(output.expr.name, output.name)
    return names


def _ids_first(view: Subview, plan: Project) -> list[Named]:
    return sorted(plan.outputs, key=lambda output: output.name not in view.ids)
