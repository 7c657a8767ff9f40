"""The greedy choice of views over a lattice: Harinarayan, Rajaraman and Ullman, "Implementing Data Cubes
Efficiently" (1996), with what it costs to keep the views fresh.

    B(v, S)  =  Σ times(q) · max(0, cost(q, S) − cost(q, v))  −  upkeep(v)        over all queries q

S are the views chosen before v, and cost(q, S) is what q reads of its cheapest source: one of them, or the
tables themselves. The view with the most benefit is taken next, and where space is short the one with the
most benefit for each row that it stores, as long as it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Candidate:
    """A view that is or could be stored: its rows, and what it costs to keep it fresh."""

    name: str
    rows: float
    upkeep: float = 0.0
    exists: bool = False


@dataclass(frozen=True)
class AskedQuery:
    """A query: how often it is asked, and what it reads of the tables, and of each view that derives it."""

    times: float
    alone: float
    costs: Mapping[str, float]

    def cost(self, chosen: Iterable[str]) -> float:
        return min([self.alone, *(self.costs[name] for name in chosen if name in self.costs)])

    def source(self, chosen: Iterable[str]) -> str | None:
        """The view that answers it; none where the tables do."""
        best = min(chosen, key=lambda name: self.costs.get(name, inf), default=None)
        return best if best is not None and self.costs.get(best, inf) <= self.alone else None


@dataclass(frozen=True)
class Pick:
    """A chosen view, and its benefit at the time."""

    name: str
    benefit: float


def greedy(
    candidates: Sequence[Candidate],
    queries: Sequence[AskedQuery],
    budget: float | None = None,
    most: int | None = None,
) -> tuple[Pick, ...]:
    """The views that are worth storing, in the order in which they were chosen: at most so many, and so many
    rows."""
    picks: list[Pick] = []
    space = inf if budget is None else budget
    left = list(candidates)
    while most is None or len(picks) < most:
        chosen = [pick.name for pick in picks]
        left = [one for one in left if one.rows <= space and one.name not in chosen]
        benefits = {one: benefit(one, queries, chosen) for one in left}
        worth = [one for one in left if benefits[one] > 0]
        if not worth:
            break
        best = max(worth, key=lambda one: (_weight(one, benefits[one], budget), one.exists, -one.rows))
        picks.append(Pick(best.name, benefits[best]))
        space -= best.rows
    return _without_idle(picks, {one.name: one for one in candidates}, queries)


def benefit(view: Candidate, queries: Iterable[AskedQuery], chosen: Sequence[str]) -> float:
    """B(v, S)."""
    saved = (q.times * (q.cost(chosen) - q.cost((*chosen, view.name))) for q in queries)
    return sum(saved) - view.upkeep


def _weight(view: Candidate, worth: float, budget: float | None) -> float:
    return worth if budget is None else worth / max(1.0, view.rows)


def _without_idle(
    picks: list[Pick], known: Mapping[str, Candidate], queries: Sequence[AskedQuery]
) -> tuple[Pick, ...]:
    """The picks without those that later ones have made needless, the least useful first."""
    while picks:
        names = [pick.name for pick in picks]
        gains = {n: benefit(known[n], queries, [other for other in names if other != n]) for n in names}
        idle = min(names, key=gains.__getitem__)
        if gains[idle] > 0:
            break
        picks = [pick for pick in picks if pick.name != idle]
    return tuple(picks)
