"""Sums that may not fit: adding layers to main can overflow although each of them is fine.

Spark raises where a sum of whole numbers leaves the range of BIGINT. A summary-delta is appended
without looking at what it adds to, so the files' footers are asked first:

    |sum| ≤ max |main| + max |layer₁| + … + max |layerₙ|

Only where that bound is out of range must the groups themselves be looked at. Of sums that are kept in shares
(`delta/numbers.py`) the highest share is asked, and what is shown of them looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from viewkeeper.algebra.merge.spec import DiffKind, Operator
from viewkeeper.storage.relation import DataFile, Layer, RelationState

GREATEST = 2**63 - 1


def doubtful_sums(state: RelationState, main: Iterable[DataFile]) -> tuple[str, ...]:
    """The stored sums of a keyed relation that may have left the range of their type."""
    if state.merge is None or not state.overlay:
        return ()
    types = {column.name: column.type for column in state.columns}
    added = {name for name, operator in state.merge.operators if operator is Operator.ADD}
    added |= {name for layer in state.overlay for name in _moved(layer)}
    sums = [name for name, _ in state.merge.operators if name in added and types[name] == "bigint"]
    parts = [tuple(main), *(layer.files for layer in state.overlay)]
    limits = dict(state.merge.limits)
    found = [n for n in sums if sum(_greatest(files, n) for files in parts) > limits.get(n, GREATEST)]
    shown = [name for name, _ in state.merge.derived if _may_not_fit(types[name])]
    return tuple(dict.fromkeys((*found, *shown))) if any(name in limits for name in found) else tuple(found)


def far_moved(state: RelationState, layers: Iterable[Layer]) -> tuple[str, ...]:
    """The columns whose moves may add up to more than BIGINT has room for, though what they end at fits."""
    moves = [layer for layer in layers if _moved(layer)]
    names = dict.fromkeys(name for layer in moves for name in _moved(layer))
    longs = (c.name for c in state.columns if c.name in names and c.type == "bigint")
    return tuple(n for n in longs if sum(_greatest(layer.files, n) for layer in moves) > GREATEST)


def _may_not_fit(kind: str) -> bool:
    return kind == "bigint" or kind.startswith("decimal")


def _moved(layer: Layer) -> tuple[str, ...]:
    return layer.diff.sets if layer.diff is not None and layer.diff.kind is DiffKind.MOVE else ()


def _greatest(files: Iterable[DataFile], name: str) -> int:
    """The greatest absolute value of a column; a column without values adds nothing."""
    return max((max(map(abs, file.ranges.get(name, (0, 0)))) for file in files), default=0)
