"""Strata: which definitions must be complete before which others begin.

gupta93 Definition 3.1: collapse every strongly connected component of the dependency graph into one
node; a topological sort of the reduced graph numbers the strata. Base relations have the number 0.

    odd ⇄ even      {odd, even} is stratum 1, far (which uses odd) stratum 2
    far → odd
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from viewkeeper.algebra.relations import Definition, Reference, Relation
from viewkeeper.algebra.walk import nodes

Dependencies = Mapping[str, Iterable[str]]
"""Each name with the names that it uses; a name that is no key is a base relation."""


def strongly_connected(uses: Dependencies) -> tuple[tuple[str, ...], ...]:
    """The components, each after all those that it uses; names keep the order in which they came.

    Kosaraju: what is reached backwards from the last name to be finished is its component.
    """
    graph = {name: [used for used in used_names if used in uses] for name, used_names in uses.items()}
    backwards: dict[str, list[str]] = {name: [] for name in graph}
    for name, used_names in graph.items():
        for used in used_names:
            backwards[used].append(name)
    position = {name: number for number, name in enumerate(graph)}
    seen: set[str] = set()
    finished = [name for start in graph for name in _postorder(start, backwards, seen)]
    seen.clear()
    components = [list(_postorder(start, graph, seen)) for start in reversed(finished)]
    return tuple(tuple(sorted(found, key=position.__getitem__)) for found in components if found)


def _postorder(start: str, graph: Mapping[str, list[str]], seen: set[str]) -> Iterator[str]:
    """Depth first, each name after what it leads to; without recursion, so that chains may be long."""
    if start in seen:
        return
    seen.add(start)
    path = [(start, iter(graph[start]))]
    while path:
        name, rest = path[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            path.pop()
            yield name
        else:
            seen.add(following)
            path.append((following, iter(graph[following])))


def stratum_numbers(uses: Dependencies) -> dict[str, int]:
    """The stratum number of every name that is defined, from 1 on."""
    numbers: dict[str, int] = {}
    for component in strongly_connected(uses):
        used = {other for name in component for other in uses[name]} - set(component)
        number = 1 + max((numbers.get(other, 0) for other in used), default=0)
        numbers.update(dict.fromkeys(component, number))
    return numbers


def is_recursive(component: tuple[str, ...], uses: Dependencies) -> bool:
    return len(component) > 1 or component[0] in uses[component[0]]


def path(uses: Dependencies, start: str, end: str) -> tuple[str, ...]:
    """A shortest way from one name to another along what is used; empty when there is none."""
    came_from: dict[str, str] = {}
    queue = deque([start])
    while queue:
        name = queue.popleft()
        for used in uses.get(name, ()):
            if used == end:
                return (*_unwind(came_from, start, name), end)
            if used not in came_from and used != start:
                came_from[used] = name
                queue.append(used)
    return ()


def _unwind(came_from: Mapping[str, str], start: str, name: str) -> tuple[str, ...]:
    way = [name]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


def references(rel: Relation) -> tuple[str, ...]:
    """The names that a plan mentions by `Reference`, each once."""
    return tuple(dict.fromkeys(node.name for node in nodes(rel) if isinstance(node, Reference)))


def strata(definitions: Iterable[Definition]) -> tuple[tuple[Definition, ...], ...]:
    """The definitions of a fixpoint by strata: each depends on itself and on earlier ones only."""
    by_name = {definition.name: definition for definition in definitions}
    uses = {name: references(definition.body) for name, definition in by_name.items()}
    return tuple(tuple(by_name[name] for name in component) for component in strongly_connected(uses))
