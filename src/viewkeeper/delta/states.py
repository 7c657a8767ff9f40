"""Moving a plan between states, and what a rule is told about an input of its operator.

    OLD ⊎ DELTA = NEW

for every stored relation. A relation that did not change is the same at OLD and at NEW and stays
at NEW, so that a plan over it is one subtree, evaluated once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from viewkeeper.algebra.build import is_empty, minus
from viewkeeper.algebra.relations import Relation, Scan, State
from viewkeeper.algebra.walk import rewrite


@dataclass(frozen=True)
class Input:
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
        evaluating the input a second time at OLD.
        """
        return part if self.is_unchanged else minus(part, self.delta)


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
