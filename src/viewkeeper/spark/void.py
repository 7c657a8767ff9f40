"""Plans over rows of the driver that are empty for sure, because keys of joins do not meet.

    C(x, y) ⋈_y=u N(u, v) ⋈_v=w C(w, z)        N ⋉ C ⋉ C is empty, so there is nothing to ask Spark for

The last round of a recursion derives nothing, which costs an action to learn. Each input of a join is reduced
to the rows whose keys the other has; where one has none left, the join is empty. What is left may be too
much: the rows of a join are never put together here.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.relations import (
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    UnionAll,
)
from viewkeeper.delta.equalities import column_pairs

Parts = tuple[pa.Table, ...]
"""The columns of a plan in groups, each with the rows that it may have there."""

NOTHING: Parts = (pa.table({}),)


def is_void(plan: Relation, rows: Mapping[str, pa.Table]) -> bool:
    """Whether a plan has no row, as far as `rows`, results by their names, can tell."""
    parts = _parts(plan, rows)
    return parts is not None and _is_nothing(parts)


def _is_nothing(parts: Parts) -> bool:
    return any(part.num_rows == 0 for part in parts)


def _parts(plan: Relation, rows: Mapping[str, pa.Table]) -> Parts | None:
    """The possible rows of a plan; None where they are not known."""
    if is_empty(plan):
        return NOTHING
    match plan:
        case Reference():
            table = rows.get(plan.name)
            return None if table is None else (table.rename_columns(list(plan.columns)),)
        case Project():
            return _projected(plan, _parts(plan.child, rows))
        case Filter() | Distinct():
            return _parts(plan.child, rows)
        case UnionAll():
            return NOTHING if all(is_void(each, rows) for each in plan.inputs) else None
        case Join(kind=JoinKind.INNER | JoinKind.SEMI):
            return _joined(plan, _parts(plan.left, rows), _parts(plan.right, rows))
        case Join(kind=JoinKind.LEFT | JoinKind.ANTI):
            left = _parts(plan.left, rows)
            return NOTHING if left is not None and _is_nothing(left) else None
        case _:
            return None


def _projected(plan: Project, parts: Parts | None) -> Parts | None:
    if parts is None or _is_nothing(parts):
        return parts if parts is None else NOTHING
    if not all(output.is_column for output in plan.outputs):
        return None
    found = []
    for part in parts:
        own = [(o.name, part[o.expr.name]) for o in plan.outputs if o.expr.name in part.column_names]
        if own:
            found.append(pa.table([values for _, values in own], names=[name for name, _ in own]))
    return tuple(found)


def _joined(join: Join, left: Parts | None, right: Parts | None) -> Parts | None:
    if any(side is not None and _is_nothing(side) for side in (left, right)):
        return NOTHING
    if left is None or right is None:
        return None
    for mine, theirs in column_pairs(join.on, join.left.columns, join.right.columns):
        left, right = _reduced(left, mine, right, theirs), _reduced(right, theirs, left, mine)
    if _is_nothing(left) or _is_nothing(right):
        return NOTHING
    return left if join.kind is JoinKind.SEMI else (*left, *right)


def _reduced(parts: Parts, name: str, others: Parts, key: str) -> Parts:
    """The parts without rows whose key the others have not; keys of different types are not compared."""
    [values] = [part[key] for part in others if key in part.column_names]

    def kept(part: pa.Table) -> pa.Table:
        if name not in part.column_names or part[name].type != values.type or _is_inexact(values.type):
            return part
        return part.filter(pc.is_in(part[name], value_set=pc.unique(values)))

    return tuple(kept(part) for part in parts)


def _is_inexact(kind: pa.DataType) -> bool:
    """Whether Spark finds values equal that are not the same here: 0.0 and −0.0."""
    return bool(pa.types.is_floating(kind))
