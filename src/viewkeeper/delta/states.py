"""Moving a plan between states, and what a rule is told about an input of its operator.

    OLD ⊎ DELTA = NEW

for every stored relation. A relation that did not change is the same at OLD and at NEW and stays
at NEW, so that a plan over it is one subtree, evaluated once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from viewkeeper.algebra.build import is_empty, negated, union_all
from viewkeeper.algebra.relations import Negate, Relation, Scan, State, UnionAll
from viewkeeper.algebra.walk import rewrite


@dataclass(frozen=True)
class Operand:
    """An input of an operator: its two states and its delta."""

    old: Relation
    new: Relation
    delta: Relation

    @property
    def is_unchanged(self) -> bool:
        return is_empty(self.delta)

    def old_part(self, part: Relation) -> Relation:
        """The old state of a part of the new one: `part ⊎ −δ`.

        The part must hold every row that the delta mentions. Taking the delta back is cheaper than
        evaluating the input a second time at OLD. Where the delta is `part − was`, as after a rule
        like this one below, nothing but `was` remains.
        """
        back = Counter(_terms(negated(self.delta)))
        if back[negated(part)] > 0:
            back[negated(part)] -= 1
            return union_all(back.elements(), part.columns)
        return union_all((part, *back.elements()), part.columns)


def _terms(rel: Relation) -> Iterator[Relation]:
    """The terms of a sum, a minus sign over a sum given to each of them."""
    if isinstance(rel, UnionAll):
        for term in rel.inputs:
            yield from _terms(term)
    elif isinstance(rel, Negate) and isinstance(rel.child, (UnionAll, Negate)):
        yield from (negated(term) for term in _terms(rel.child))
    elif not is_empty(rel):
        yield rel


@lru_cache(maxsize=4096)
def at(rel: Relation, state: State, changed: frozenset[str]) -> Relation:
    """`rel` with its scans of changed relations at `state`."""

    def move(node: Relation) -> Relation:
        if isinstance(node, Scan) and node.table in changed and node.at is not state:
            return replace(node, at=state)
        return node

    return rewrite(rel, move)


def old(rel: Relation, changed: frozenset[str]) -> Relation:
    return at(rel, State.OLD, changed)
