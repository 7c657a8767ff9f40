"""How many groups a batch will touch, as the refresh before it tells."""

from __future__ import annotations

import pytest

from viewkeeper.refresh.lattice import groups_touched


@pytest.mark.parametrize(
    ("earlier", "changes", "groups"),
    [
        (None, 100, None),
        ({}, 100, None),
        ({"rows": 7, "changes": 0}, 100, None),
        ({"rows": 60, "changes": 100}, 100, 60),
        ({"rows": 60, "changes": 100}, 1000, 600),
        ({"rows": 60, "changes": 100}, 80, 60),
        ({"rows": 60, "changes": 100}, 10, 10),
        ({"rows": 1, "changes": 3}, 4, 2),
        ({"rows": 0, "changes": 3}, 4, 0),
    ],
)
def test_groups_touched(earlier: dict[str, int] | None, changes: int, groups: int | None) -> None:
    assert groups_touched(earlier, changes) == groups
