"""What has become of an input of a view, as far as the warehouse log tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewkeeper.algebra.expressions import Scalar


@dataclass(frozen=True)
class TableChange:
    """How much of one input changed since the view was last refreshed.

    `deleted`: about how many of them are deletions; all, where that is not said. `updates`: rows were only
    updated, and in these columns. `constants` are columns that have one value in all changed rows, which is
    not NULL, and `values` says of columns how many they can have at most. `relevant` is the condition of the
    rows that may matter, where some do not. `why` says of an input that was replaced how that is known.
    """

    rows: int
    only_inserts: bool
    replaced: bool = False
    updates: frozenset[str] | None = None
    constants: frozenset[str] = frozenset()
    values: Mapping[str, int] = field(default_factory=dict, compare=False)
    relevant: Scalar | None = None
    why: str = ""
    deleted: float | None = None

    @property
    def lost(self) -> float:
        """About how many rows are deleted."""
        if self.only_inserts:
            return 0.0
        return self.rows if self.deleted is None else min(self.deleted, self.rows)
