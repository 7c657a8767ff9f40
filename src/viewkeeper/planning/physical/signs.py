"""Rows are told apart by the signs of their zeros, where a plan asks for it and some column holds floats.

    γ_x, sum(c)   →   γ_x, sign(x), any_value(x), sum(c)

The algebra marks what must be exact before types are known (`algebra/zeros.py`); here they are.
"""

from __future__ import annotations

from viewkeeper.algebra.zeros import with_signs
from viewkeeper.planning.physical.plan import Facts, Physical


def signs(physical: Physical, facts: Facts) -> Physical:
    """The plan, with the signs of zeros among what its exact groups and tests compare."""
    if facts.types is None or facts.types.of_plan is None:
        return physical
    return physical.with_result(with_signs(physical.result.plan, facts.types.of_leaf, facts.types.of_plan))
