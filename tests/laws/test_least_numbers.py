"""The least whole number of a type has no opposite in it: its row is taken off a sum all the same."""

from __future__ import annotations

from random import Random

import pytest

from tests.laws.databases import Change, History
from tests.laws.test_scripts import is_kept, view_of

LEAST = -(2**31)


@pytest.mark.parametrize("call", ["SUM(b)", "AVG(b)"])
def test_the_row_of_the_least_number_goes(call: str) -> None:
    rows = {"r": ((1, LEAST, "x"), (1, 5, "x"), (2, LEAST, "y")), "s": (), "t": ()}
    gone = Change("r", (((1, LEAST, "x"), -1), ((2, LEAST, "y"), -1), ((2, 3, "y"), 1)))
    for seed in range(6):
        is_kept(view_of(f"SELECT a, {call} AS s FROM r GROUP BY a"), History(rows, ((gone,),)), Random(seed))
