"""What earlier refreshes of a view really cost, against what was expected of them.

For every strategy that was used, the factor by which the estimate was off, as an average in which the last
refresh weighs half. A strategy that was never used on this view is expected to be off like the others: the
machine is the same. One that was not used for some time is slowly forgotten in the same sense: perhaps it
was slow only while its code was compiled. The factors are kept in the report of each refresh, so they last
with the warehouse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log

from viewkeeper.planning.cost import Estimate

WEIGHT = 0.5
"""How much the last refresh counts against all before it."""

FORGOTTEN = 0.2
"""How far what is known of the other strategies moves towards the last refresh."""

BOUNDS = (0.2, 5.0)
"""One refresh beyond these tells more about the moment than about the view."""


@dataclass(frozen=True)
class Calibration:
    """Real seconds by expected ones, for each strategy used on one view."""

    factors: Mapping[str, float] = field(default_factory=dict)

    def corrected(self, strategy: str, estimate: Estimate) -> Estimate:
        return estimate.times(self.factors.get(strategy, self._usual))

    @property
    def _usual(self) -> float:
        """The geometric mean of what is known."""
        known = [log(factor) for factor in self.factors.values()]
        return exp(sum(known) / len(known)) if known else 1.0

    def after(self, strategy: str, expected: Estimate, seconds: float) -> Calibration:
        """What is known after a refresh that took so long; `expected` is the estimate without correction.

        What the driver does by itself tells nothing of how long Spark takes.
        """
        if expected.seconds <= 0:
            return self
        if not expected.actions:
            return self if self.factors else Calibration({strategy: 1.0})
        found = min(max(seconds / expected.seconds, BOUNDS[0]), BOUNDS[1])
        before = self.factors.get(strategy)
        factor = found if before is None else _between(before, found, WEIGHT)
        others = {name: _between(known, factor, FORGOTTEN) for name, known in self.factors.items()}
        factors = {**others, strategy: factor}
        return Calibration({name: round(known, 3) for name, known in factors.items()})


def _between(one: float, other: float, weight: float) -> float:
    """The geometric mean, `other` having this weight."""
    return exp((1 - weight) * log(one) + weight * log(other))
