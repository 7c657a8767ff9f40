"""Which views are refreshed together, which wait for which, and which are worked on side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeVar

from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.side_by_side import workers

SIDE_BY_SIDE = 4
"""How many views are refreshed at the same time: planning one overlaps with running another."""

F = TypeVar("F")
T = TypeVar("T")


def by_settings(order: Sequence[ViewDefinition]) -> list[tuple[ViewDefinition, ...]]:
    """Views in turns, those of one turn having the same settings; each after the views that it reads."""
    waiting, turns = list(order), []
    while waiting:
        settings, turn = waiting[0].settings, []
        left: set[str] = set()
        for view in waiting:
            if view.settings == settings and left.isdisjoint(view.reads):
                turn.append(view)
            else:
                left.add(view.name)
        waiting = [view for view in waiting if view.name in left]
        turns.append(tuple(turn))
    return turns


def families(
    order: Sequence[ViewDefinition], parent: Callable[[str], str | None]
) -> dict[frozenset[str], list[ViewDefinition]]:
    """Views by what they wait for: views that they read, and their parent in the lattice; those first that
    others wait for."""
    views = {view.name: view for view in order}
    needs = {
        name: frozenset(other for other in (*view.reads, parent(name)) if other in views)
        for name, view in views.items()
    }
    found: dict[frozenset[str], list[ViewDefinition]] = {}

    def place(names: frozenset[str]) -> None:
        if names in found:
            return
        for name in names:
            place(needs[name])
        found[names] = [views[name] for name in views if needs[name] == names]

    for name in views:
        place(needs[name])
    return found


def side_by_side(
    by_needs: Mapping[frozenset[str], list[ViewDefinition]],
    plan: Callable[[Sequence[ViewDefinition]], F],
    one: Callable[[F, ViewDefinition], T],
) -> list[T]:
    """Plans each family as soon as what it waits for is done, and then does its views.

    Families stand after what they wait for, so a thread that waits waits for one that works.
    """
    started: dict[str, Future[T]] = {}

    def after(needed: Iterable[Future[T]], views: Sequence[ViewDefinition]) -> F:
        for other in needed:
            other.result()
        return plan(views)

    with workers(sum(map(len, by_needs.values())), SIDE_BY_SIDE) as pool:
        for names, views in by_needs.items():
            family = pool.submit(after, [started[name] for name in names], views)
            for view in views:
                started[view.name] = pool.submit(lambda f, v: one(f.result(), v), family, view)
    return [future.result() for future in started.values()]
