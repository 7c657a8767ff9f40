"""One task runs where it is submitted, several in threads."""

from __future__ import annotations

from threading import current_thread

import pytest

from viewkeeper.side_by_side import workers


def fails(_: int) -> int:
    raise KeyError("missing")


@pytest.mark.parametrize(("tasks", "is_here"), [(0, True), (1, True), (2, False), (9, False)])
def test_where_tasks_run(tasks: int, is_here: bool) -> None:
    with workers(tasks, 4) as pool:
        names = set(pool.map(lambda _: current_thread().name, range(tasks or 1)))
    assert (names == {current_thread().name}) is is_here


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_failure_is_raised_where_the_result_is_asked_for(tasks: int) -> None:
    with workers(tasks, 4) as pool:
        future = pool.submit(fails, 1)
        with pytest.raises(KeyError, match="missing"):
            future.result()
        assert pool.submit(len, "abc").result() == 3
