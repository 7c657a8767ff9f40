"""Changes of several relations at once: blakeley86 Definition 4.3 and Theorem 4.2, beside relevance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, function, not_, rename_columns
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.relevance.irrelevant_updates import (
    Relevance,
    any_condition,
    explained_relevance,
    tested_scan,
)
from viewkeeper.maintenance.relevance.reach import ReachedScan, reached
from viewkeeper.maintenance.relevance.split import Split
from viewkeeper.sql.render import render_expression


def relevance(rel: Relation, table: str) -> Scalar:
    """The filter over the stored columns of `table` that keeps the changes that may matter to `rel`."""
    return explained_relevance(rel, table).filter


def relevance_together(rel: Relation, tables: Sequence[str]) -> Scalar:
    """The filter over combinations of changes, one of each table, that may appear together in a row of `rel`.

    Theorem 4.2. The attribute A of table t is the column named `t.A`. It is meant for the join of several
    deltas; that one of the tuples matters beside the unchanged rows of another table is `relevance`.
    """
    first, *others = tables
    chosen = [(place, choice) for place in reached(rel, first) for choice in _choices(place, others)]
    return any_condition([_together(place, choice) for place, choice in chosen])


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
    return rename_columns(tested_scan(place, place.own | theirs.keys()).filter, {**theirs, **mine})


def derivation(relevance: Relevance) -> Iterator[str]:
    """How a filter comes about, as text."""
    yield f"changes of {relevance.table} are kept where {render_expression(relevance.filter)}"
    for occurrence in relevance.occurrences:
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
