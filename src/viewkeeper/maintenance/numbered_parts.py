"""A result that several steps share, each taking the rows that carry its number.

    part n of R  =  π_outputs(σ_{__part = n}(R))

Spark computes the result once. Where the driver holds it, parts of it cost no Spark action.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, column, equal, literal
from viewkeeper.algebra.relations import Filter, Project, Reference, Relation

PART = "__part"
"""The column that says whose row it is."""


@dataclass(frozen=True)
class PartOf:
    """The rows of a result with one number, and what their columns are called."""

    result: str
    number: int
    columns: tuple[tuple[str, str], ...]


def part(whole: Reference, number: int, outputs: Iterable[Named]) -> Relation:
    """The rows of a result that carry a number; `outputs` are columns of it, under names of their own."""
    return Project(Filter(whole, equal(column(PART), literal(number))), tuple(outputs))


def part_of(plan: Relation) -> PartOf | None:
    """What a plan takes from a shared result, where it does nothing else."""
    match plan:
        case Project(
            Filter(Reference() as whole, exp.EQ(this=exp.Column() as mark, expression=number)), outputs
        ):
            if mark.name == PART and all(output.is_column for output in outputs):
                return PartOf(whole.name, int(number.name), tuple((o.name, o.expr.name) for o in outputs))
    return None
