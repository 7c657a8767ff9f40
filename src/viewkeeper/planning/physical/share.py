"""What a plan uses twice becomes a fragment of its own, and so does what is broadcast or written out.

    σ(N) ∪ γ(N)   →   shared_1 = N;  σ(shared_1) ∪ γ(shared_1)

Spark runs the shuffles of one frame once, however many plans it is in; to cache such frames was measured to
cost more. What just passes rows of one input on is read again.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.common_subplans import shared
from viewkeeper.planning.physical.plan import Facts, Fragment, Physical

PREFIX = "__shared_"


def share(physical: Physical, facts: Facts) -> Physical:
    """The plan in fragments."""
    result = physical.result
    apart = physical.broadcast | physical.materialize
    steps, rest = shared(result.plan, (PREFIX + "{}").format, apart)
    parts = tuple(
        Fragment(
            step.name,
            step.plan,
            broadcast=step.before in physical.broadcast,
            materialize=step.before in physical.materialize,
        )
        for step in steps
    )
    return replace(
        physical,
        fragments=(*parts, replace(result, plan=rest)),
        broadcast=frozenset(),
        materialize=frozenset(),
    )
