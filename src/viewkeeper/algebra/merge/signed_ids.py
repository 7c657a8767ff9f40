"""Signed rows that IDs tell apart, as ID-based diffs: katsis15's Δ⁺ and Δ⁻ in one layer.

    Δ⁺  =  σ_count>0 (Δ)            Δ⁻  =  π_ids σ_count<0 (Δ)

What counting computes of a view with IDs names an ID at most twice: as it was and as it is. Both rows stand
at the same place in the order, and a deletion only ends rows that were born before it.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.build import restricted_to, union_all
from viewkeeper.algebra.expressions import column, literal
from viewkeeper.algebra.merge.id_layers import DiffRows, last
from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.merge.spec import DiffKind, IdDiff
from viewkeeper.algebra.relations import Filter, Relation
from viewkeeper.algebra.schema import COUNT


def as_diffs(signed: Relation, key: tuple[str, ...], several: bool = False) -> tuple[DiffRows, DiffRows]:
    """What signed layers insert, and what they delete by their key."""
    names = tuple(name for name in signed.columns if name not in (COUNT, SEQUENCE))
    rest = tuple(name for name in names if name not in key)
    came = restricted_to(_of_sign(signed, exp.GT), (*names, SEQUENCE))
    gone = restricted_to(_of_sign(signed, exp.LT), (*key, SEQUENCE))
    return (
        DiffRows(IdDiff(DiffKind.INSERT, key, rest), came, several),
        DiffRows(IdDiff(DiffKind.DELETE, key), gone, several),
    )


def folded(signed: Relation, key: tuple[str, ...]) -> Relation:
    """Signed layers as one: the last insertion and the last deletion of each key."""
    inserts, deletes = IdDiff(DiffKind.INSERT, key), IdDiff(DiffKind.DELETE, key)
    sides = [(inserts, _of_sign(signed, exp.GT)), (deletes, _of_sign(signed, exp.LT))]
    return union_all([last(DiffRows(schema, rows, True)) for schema, rows in sides], signed.columns)


def _of_sign(signed: Relation, sign: type[exp.Binary]) -> Relation:
    return Filter(signed, sign(this=column(COUNT), expression=literal(0)))


__all__ = ["as_diffs", "folded"]
