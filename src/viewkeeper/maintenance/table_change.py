"""What has become of an input of a view, as far as the warehouse log tells."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.algebra.expressions import Scalar


@dataclass(frozen=True)
class TableChange:
    """How much of one input changed since the view was last refreshed.

    `updates`: rows were only updated, and in these columns. `constants` are columns that have one value in
    all changed rows, which is not NULL. `relevant` is the condition of the rows that may matter, where some
    do not. `why` says of an input that was replaced how that is known.
    """

    rows: int
    only_inserts: bool
    replaced: bool = False
    updates: frozenset[str] | None = None
    constants: frozenset[str] = frozenset()
    relevant: Scalar | None = None
    why: str = ""
