"""What a recursive computation asks of the engine that runs it: a port with four operations.

The loops of `seminaive` and `dred` are pure algebra over relations that have names. A round of a
loop is one `evaluate`, and an `append` and a `move` per definition; only `evaluate` touches rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

from sqlglot import exp

from viewkeeper.algebra.build import is_empty, joined, named_like
from viewkeeper.algebra.expressions import null_safe_match
from viewkeeper.algebra.relations import Distinct, Filter, Join, JoinKind, Relation, UnionAll

ITERATION_LIMIT = 1000


@dataclass(frozen=True)
class Derivation:
    """The set of `candidates` that are in `within` (when given) and in none of `without`.

    The candidates are few next to the others; an evaluator may store them first and look them up.
    `relation` is the same as one plan. `is_set`: no candidate is there twice. `signed`: not a set but a
    signed bag, to be consolidated.
    """

    candidates: Relation
    within: Relation | None = None
    without: tuple[Relation, ...] = ()
    signed: bool = False
    is_set: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.candidates.columns

    @property
    def is_compared(self) -> bool:
        """Whether not all candidates are taken."""
        return self.within is not None or bool(self.without)

    @property
    def is_void(self) -> bool:
        """Whether it is known to be empty before it is evaluated."""
        return is_empty(self.candidates) or (self.within is not None and is_empty(self.within))

    @property
    def relation(self) -> Relation:
        rel = self.candidates
        if self.within is not None:
            rel = present(rel, self.within)
        for known in self.without:
            rel = absent(rel, known)
        return rel if is_empty(rel) or self.signed or self.is_set else Distinct(rel)


class Evaluator(Protocol):
    """Runs plans and keeps their results under names; plans mention them by `Reference`."""

    def evaluate(self, plans: Mapping[str, Derivation]) -> Mapping[str, int]:
        """Stores the rows of each derivation under its name; says how many rows each has.

        Plans read what the names meant before the call. A signed derivation is stored consolidated,
        with its counts, and is read by references that are `counted`.
        """
        ...

    def append(self, name: str, more: str) -> None:
        """Adds the rows of `more`, none of which it has, to `name`; creates it when missing."""
        ...

    def move(self, name: str, to: str) -> None:
        """Calls the relation `name` from now on `to`, in place of what was called so."""
        ...

    def drop(self, names: Iterable[str]) -> None:
        """Forgets these relations; those that do not exist are ignored."""
        ...


def _silent(line: str) -> None:
    """Progress that nobody listens to."""


@dataclass(frozen=True)
class Run:
    """Where loops run: the evaluator, the limit on rounds, and who hears of each round.

    `pieces` are stored definitions as they are stored: what is left of an older state, and what is new since.
    """

    evaluator: Evaluator
    limit: int = ITERATION_LIMIT
    progress: Callable[[str], None] = _silent
    pieces: Mapping[str, Relation] = field(default_factory=dict)


def nothing_like(rel: Relation) -> Relation:
    """No rows, but the columns and types of `rel`."""
    return rel if is_empty(rel) else Filter(rel, exp.false())


def absent(rel: Relation, known: Relation) -> Relation:
    """The rows of `rel` that are not in `known`, NULL being equal to NULL."""
    return _compared(rel, known, JoinKind.ANTI)


def present(rel: Relation, known: Relation) -> Relation:
    """The rows of `rel` that are in `known`, NULL being equal to NULL."""
    return _compared(rel, known, JoinKind.SEMI)


def before_absence(rel: Relation, restricted: Callable[[Relation], Relation]) -> Relation:
    """`restricted(rel)`, where that is a choice of rows: they are chosen from each piece, before others
    are taken out."""
    if isinstance(rel, Join) and rel.kind is JoinKind.ANTI:
        return replace(rel, left=before_absence(rel.left, restricted))
    if isinstance(rel, UnionAll):
        pieces = (named_like(piece, rel.columns) for piece in rel.inputs)
        return UnionAll(tuple(before_absence(piece, restricted) for piece in pieces))
    return restricted(rel)


@lru_cache(maxsize=4096)
def _compared(rel: Relation, known: Relation, kind: JoinKind) -> Relation:
    other = tuple(f"__known{number}" for number in range(len(known.columns)))
    on = null_safe_match(zip(rel.columns, other, strict=True))
    return joined(rel, named_like(known, other), kind, on)
