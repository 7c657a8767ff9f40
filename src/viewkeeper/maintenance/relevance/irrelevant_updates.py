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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, function, not_, or_, rename_columns
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.relevance.comparisons import any_of, tests_of
from viewkeeper.maintenance.relevance.graph import Graph
from viewkeeper.maintenance.relevance.normal_form import disjunction
from viewkeeper.maintenance.relevance.reach import ReachedScan, reached
from viewkeeper.maintenance.relevance.split import Split, split
from viewkeeper.sql.render import render_expression


@dataclass(frozen=True)
class TestedScan:
    """One place where the view reads the table: the condition C there, its split, and the filter."""

    condition: Scalar
    conjunctions: tuple[Split, ...]
    filter: Scalar

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The invariant portion of each conjunction's graph."""
        return tuple(found.graph for found in self.conjunctions)


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

    def lines(self) -> Iterator[str]:
        """The derivation as text, for `explain`."""
        yield f"changes of {self.table} are kept where {render_expression(self.filter)}"
        for occurrence in self.occurrences:
            yield f"  condition {render_expression(occurrence.condition)}"
            for number, found in enumerate(occurrence.conjunctions, start=1):
                yield f"    C{number}"
                yield from _parts(found)


def _parts(found: Split) -> Iterator[str]:
    parts = (
        ("invariant", found.invariant),
        ("variant evaluable", found.evaluable),
        ("variant non-evaluable", found.non_evaluable),
        ("tests", found.tests),
    )
    for name, formulae in parts:
        if formulae:
            yield f"      {name}: {', '.join(map(str, formulae))}"
    if not found.is_satisfiable:
        yield "      unsatisfiable for every tuple"


def relevance(rel: Relation, table: str) -> Scalar:
    """The filter over the stored columns of `table` that keeps the changes that may matter to `rel`."""
    return explained_relevance(rel, table).filter


@lru_cache(1000)
def explained_relevance(rel: Relation, table: str) -> Relevance:
    """The filter with its derivation; a table that the view does not read has no relevant change."""
    occurrences = tuple(_compiled(place, place.own) for place in reached(rel, table))
    return Relevance(table, occurrences, _any(tuple(found.filter for found in occurrences)))


def _compiled(place: ReachedScan, own: frozenset[str]) -> TestedScan:
    """Algorithm 4.1 with the tuples left open: they give values to the attributes `own`."""
    conjunctions = disjunction(place.condition, own, place.variables)
    parts = tuple(split(found, own) for found in conjunctions)
    return TestedScan(place.condition, parts, any_of(tests_of(part, place.variables) for part in parts))


def relevance_together(rel: Relation, tables: Sequence[str]) -> Scalar:
    """The filter over combinations of changes, one of each table, that may appear together in a row of `rel`.

    Theorem 4.2. The attribute A of table t is the column named `t.A`. It is meant for the join of several
    deltas; that one of the tuples matters beside the unchanged rows of another table is `relevance`.
    """
    first, *others = tables
    chosen = [(place, choice) for place in reached(rel, first) for choice in _choices(place, others)]
    return _any([_together(place, choice) for place, choice in chosen])


def irrelevant_together(rel: Relation, tables: Sequence[str]) -> Scalar:
    """TRUE for combinations of changes that provably never meet in a row of `rel`, FALSE for all others."""
    return not_(function("coalesce", relevance_together(rel, tables), exp.false()))


def _choices(place: ReachedScan, tables: Sequence[str]) -> Iterable[tuple[int | None, ...]]:
    """Which occurrence of each table is meant; None where it does not meet the first one in an inner join."""

    def occurrences(table: str) -> list[int | None]:
        found = {v.occurrence for v in place.variables.values() if v.table == table and v.occurrence}
        return [*sorted(found)] or [None]

    return product(*map(occurrences, tables))


def _together(place: ReachedScan, chosen: tuple[int | None, ...]) -> Scalar:
    if None in chosen:
        return exp.true()
    theirs = {v.name: f"{v.table}.{v.column}" for v in place.variables.values() if v.occurrence in chosen}
    mine = {name: f"{place.scan.table}.{name}" for name in place.own}
    return rename_columns(_compiled(place, place.own | theirs.keys()).filter, {**theirs, **mine})


def _any(filters: Sequence[Scalar]) -> Scalar:
    distinct = [found for found in dict.fromkeys(filters) if found != exp.false()]
    if not distinct:
        return exp.false()
    return exp.true() if exp.true() in distinct else or_(*distinct)
