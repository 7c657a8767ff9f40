"""Aggregate calls of cube views: mumick97 section 3.1.

Distributive functions (COUNT, SUM, MIN, MAX) can be computed from parts of a group, algebraic ones (AVG,
VARIANCE) from several of those. Both are taken apart by `delta/functions.py`. DISTINCT and holistic
functions such as MEDIAN cannot be, and are refused.
"""

from __future__ import annotations

from functools import lru_cache

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.delta.functions import decompose
from viewkeeper.delta.parts import Decomposition
from viewkeeper.maintenance.refused import Refused


def distributive(call: Scalar) -> Scalar:
    """The call, where it can be computed from the values of parts of a group."""
    call = call.unnest()
    found = decompose(call)
    if found is None or any(part.is_moment for _, part in found.parts):
        text = call.sql("spark")
        raise Refused("holistic", f"{text} cannot be computed from the values of parts of a group")
    return call.copy()


@lru_cache(maxsize=4096)
def decomposed(call: Scalar) -> Decomposition:
    found = decompose(call)
    assert found is not None, f"{call.sql()} was refused when the view was recognised"
    return found
