"""Clocks as constants: what is joined with one row that is known is a selection by constants.

    R ⋈_{day ≥ shown − 7} {2026-03-01}   =   σ_{day ≥ DATE '2026-03-01' − 7}(R) × {2026-03-01}

Then statistics of files say which of them hold such rows (`bounds.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from viewkeeper.algebra.build import filtered, projected
from viewkeeper.algebra.clock import is_clock
from viewkeeper.algebra.expressions import Named, Scalar, column, replace_columns
from viewkeeper.algebra.relations import Join, JoinKind, Relation, Scan, Values
from viewkeeper.algebra.walk import rewrite, scans

Shown = Callable[[Scan], Values]
"""The rows of a scan of a clock, by its columns in the plan."""


def at_instant(plan: Relation, shown: Shown) -> Relation:
    """The plan with constants in the place of clocks."""
    if not any(is_clock(scan.table) for scan in scans(plan)):
        return plan
    known: set[Relation] = set()

    def constant(node: Relation) -> Relation:
        if isinstance(node, Scan) and is_clock(node.table):
            found = shown(node)
            known.add(found)
            return found
        if isinstance(node, Join) and node.kind is JoinKind.INNER:
            for one, other in ((node.right, node.left), (node.left, node.right)):
                if isinstance(one, Values) and one in known and len(one.rows) == 1:
                    return _selected(node, other, dict(zip(one.columns, one.rows[0], strict=True)))
        return node

    return rewrite(plan, constant)


def _selected(join: Join, rel: Relation, row: Mapping[str, Scalar]) -> Relation:
    """What is left of a join with one row."""
    outputs = (Named(name, row[name] if name in row else column(name)) for name in join.columns)
    return projected(filtered(rel, replace_columns(join.on, row)), outputs)
