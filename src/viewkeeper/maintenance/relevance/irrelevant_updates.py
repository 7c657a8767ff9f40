"""Updates that cannot matter (blakeley86 section 4, Algorithm 4.1, Theorems 4.1 and 4.2).

    v = π_X(σ_C(r1 × … × rp)),   t inserted into or deleted from ri:
    t is irrelevant, whatever the database   ⟺   C(t, Y2) is unsatisfiable

`relevance` compiles this into one filter over the changes of a table. It is TRUE for every row that may
matter; a row for which it is FALSE or NULL can be dropped. No state is kept, and no table is read.

    σ_{A<10 ∧ C>5 ∧ B=C}(r × s)    gives, for changes of r,    A <= 9 AND B >= 6

The paper treats select-project-join views; here the condition is gathered from any plan
(`conditions.reach`), brought into its normal form (`conditions.normal_form`), split
(`conditions.split`) and written as SQL (`conditions.comparisons`). What is outside the decidable class
makes the filter weaker, never stronger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, or_
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.relevance.comparisons import any_of, tests_of
from viewkeeper.maintenance.relevance.normal_form import disjunction
from viewkeeper.maintenance.relevance.reach import ReachedScan, reached
from viewkeeper.maintenance.relevance.split import Split, split


@dataclass(frozen=True)
class TestedScan:
    """One place where the view reads the table: the condition C there, its split, and the filter."""

    condition: Scalar
    conjunctions: tuple[Split, ...]
    filter: Scalar


@dataclass(frozen=True)
class Relevance:
    """Which changes of a table may matter to a view: `filter`, and how it came about."""

    table: str
    occurrences: tuple[TestedScan, ...]
    filter: Scalar

    @property
    def drops_nothing(self) -> bool:
        return isinstance(self.filter, exp.Boolean) and bool(self.filter.this)

    @property
    def drops_everything(self) -> bool:
        return isinstance(self.filter, exp.Boolean) and not self.filter.this


@lru_cache(1000)
def explained_relevance(rel: Relation, table: str) -> Relevance:
    """The filter with its derivation; a table that the view does not read has no relevant change."""
    occurrences = tuple(tested_scan(place, place.own) for place in reached(rel, table))
    return Relevance(table, occurrences, any_condition(tuple(found.filter for found in occurrences)))


def tested_scan(place: ReachedScan, own: frozenset[str]) -> TestedScan:
    """Algorithm 4.1 with the tuples left open: they give values to the attributes `own`."""
    conjunctions = disjunction(place.condition, own, place.variables)
    parts = tuple(split(found, own) for found in conjunctions)
    return TestedScan(place.condition, parts, any_of(tests_of(part, place.variables) for part in parts))


def any_condition(filters: Sequence[Scalar]) -> Scalar:
    distinct = [found for found in dict.fromkeys(filters) if found != exp.false()]
    if not distinct:
        return exp.false()
    return exp.true() if exp.true() in distinct else or_(*distinct)
