"""Strong minimality (quass96 3.1, after GL95).

    ∇ ∸ V = ∅       nothing is deleted that is not there
    ∇ min Δ = ∅     nothing is both deleted and inserted

A delta that obeys the delta law and holds every row at most once has both: its count of a row is
what the view gained or lost of it, which is never less than minus what the view had.
"""

from __future__ import annotations

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.relations import Consolidate, Relation


def minimal(delta: Relation) -> Relation:
    """The strongly minimal form of a delta."""
    return delta if is_empty(delta) or isinstance(delta, Consolidate) else Consolidate(delta)
