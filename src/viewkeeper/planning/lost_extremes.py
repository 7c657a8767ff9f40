"""How many groups are expected to lose an extreme, and so to be computed anew.

    N rows in G groups, D of them deleted, h holders of an extreme     expected  =  G · (D / N)ʰ

A group loses its extreme only where all rows that hold it are deleted and some others stay. A group of N / G
rows with V different values has N / (G · V) holders of each, and one at least; V is known of whole numbers
and dates, whose least and greatest changed value the footers tell.
"""

from __future__ import annotations

from viewkeeper.algebra.expressions import Scalar, columns_of
from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.walk import scans
from viewkeeper.delta.parts import PartKind
from viewkeeper.maintenance.strategy import Batch, Stratum


def lost_groups(stratum: Stratum, batch: Batch, groups: float, rows: float) -> float:
    """The groups of a stratum that a batch is expected to leave without one of their extremes."""
    deleted = sum(change.lost for change in batch.changes.values())
    if stratum.state is None or stratum.query is None or not deleted:
        return 0.0
    share = min(1.0, deleted / max(1.0, rows))
    of_group = max(1.0, rows / max(1.0, groups))
    threatened = [
        part.argument for part in stratum.state.parts if part.is_extreme or part.kind is PartKind.PEAK
    ]
    holders = [max(1.0, of_group / _values(stratum.query, argument, batch)) for argument in threatened]
    return min(groups, sum((groups * share**held for held in holders), start=0.0))


def _values(query: Relation, argument: Scalar | None, batch: Batch) -> float:
    """How many values the argument of an extreme may have; as many as one likes, where that is not known."""
    names = columns_of(argument) if argument is not None else frozenset()
    known = [
        batch.changes[scan.table].values[bound.source.name]
        for scan in scans(query)
        if scan.table in batch.changes
        for bound in scan.bound
        if bound.name in names and bound.source.name in batch.changes[scan.table].values
    ]
    return known[0] if len(names) == len(known) == 1 else float("inf")
