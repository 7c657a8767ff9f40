"""What an update costs by IDs and by tuples where both have indexes: katsis15, section 6.1 and Table 2.

    by IDs      |D|·(1 + p)          each diff row is looked up in the view, and names p rows of it
    by tuples   |D|·(a + 2p)         each is first joined, which takes a accesses; each of p rows is looked up

Both count index lookups, and rows that are accessed. Nothing here decides, for Spark has no indexes: it says
why an update by IDs is worth having, from the numbers of rows that are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Accesses:
    """`diff` rows of a table change, each of which has `compression` (p) rows of the view; to find what it is
    joined with takes `joining` (a) accesses."""

    table: str
    diff: float
    compression: float
    joining: float

    @property
    def by_ids(self) -> float:
        return self.diff * (1 + self.compression)

    @property
    def by_tuples(self) -> float:
        return self.diff * (self.joining + 2 * self.compression)

    @property
    def speedup(self) -> float:
        """(a + 2p) / (1 + p)"""
        return (self.joining + 2 * self.compression) / (1 + self.compression)

    def __str__(self) -> str:
        return (
            f"an update of {self.table} takes {self.by_ids:,.0f} accesses by IDs, "
            f"{self.by_tuples:,.0f} by tuples (p = {self.compression:.3g}, a = {self.joining:.3g})"
        )


def accesses(
    view: str, tables: Iterable[str], changed: str, diff: float, rows: Mapping[str, float]
) -> Accesses:
    """The accesses of an update of `diff` rows of one table; `rows` are those stored, of the view too.

    The other tables are met from the largest to the smallest, by indexes. In a larger one a row has as many
    partners as the sizes tell, in a smaller one it has one.
    """
    known = max(1.0, rows.get(changed, 1.0))
    others = sorted((rows.get(name, 1.0) for name in tables if name != changed), reverse=True)
    met, joining, whole = 1.0, 0.0, known
    for size in others:
        partners = max(1.0, size / whole)
        joining += met * (1 + partners)
        met, whole = met * partners, max(whole, size)
    return Accesses(changed, diff, rows.get(view, 0.0) / known, joining)


__all__ = ["Accesses", "accesses"]
