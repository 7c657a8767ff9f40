"""katsis15 section 6: the accesses that are reckoned with are those that are counted, row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from viewkeeper.planning.accesses import accesses

Pair = tuple[int, int]


class Index:
    """Rows by a column: a lookup is an access, and so is every row that it finds."""

    def __init__(self, rows: Sequence[Pair], place: int) -> None:
        self.accesses = 0
        self.found: dict[int, list[Pair]] = defaultdict(list)
        for row in rows:
            self.found[row[place]].append(row)

    def __call__(self, key: int) -> list[Pair]:
        rows = self.found.get(key, [])
        self.accesses += 1 + len(rows)
        return rows


def counted(parts: int, devices: int, fan_out: int, share: int, diff: int) -> tuple[int, int]:
    """Accesses by IDs and by tuples of `diff` new prices: the paper's parts of devices, of which every
    `share`-th is a phone, joined through their pairs."""
    pairs = [(part * devices // parts + n, part) for part in range(parts) for n in range(fan_out)]
    pairs = [(device % devices, part) for device, part in pairs]
    view = [(device, part) for device, part in pairs if device % share == 0]
    view_by_part, view_by_ids = Index(view, 1), dict.fromkeys(view, 1)
    for part in range(diff):
        view_by_part(part)
    pairs_of, devices_of = Index(pairs, 1), Index([(d, d) for d in range(devices)], 0)
    in_view = 0
    for part in range(diff):
        for device, _ in pairs_of(part):
            if devices_of(device)[0][0] % share == 0:
                in_view += 2 * view_by_ids[device, part]
    return view_by_part.accesses, pairs_of.accesses + devices_of.accesses + in_view


@pytest.mark.parametrize("share", [1, 5])
@pytest.mark.parametrize("fan_out", [5, 10, 25])
def test_what_is_reckoned_is_what_is_counted(fan_out: int, share: int) -> None:
    parts = devices = diff = 500
    sizes = {"parts": 500.0, "devices": 500.0, "pairs": 500.0 * fan_out, "v": 500.0 * fan_out / share}
    reckoned = accesses("v", ("parts", "devices", "pairs"), "parts", diff, sizes)
    by_ids, by_tuples = counted(parts, devices, fan_out, share, diff)
    assert (reckoned.by_ids, reckoned.by_tuples) == (by_ids, by_tuples)
    assert reckoned.speedup == pytest.approx(by_tuples / by_ids)
    assert reckoned.joining >= 1 + reckoned.compression, "the paper's lower bound for a"


def test_an_update_that_is_in_no_row_is_overestimated() -> None:
    """p < 1: an i-diff may name rows that the view lacks; it is still less than the join."""
    few = accesses("v", ("r", "s"), "r", 10, {"r": 100.0, "s": 100.0, "v": 1.0})
    assert few.compression < 1 < few.speedup
    assert str(few) == "an update of r takes 10 accesses by IDs, 20 by tuples (p = 0.01, a = 2)"
