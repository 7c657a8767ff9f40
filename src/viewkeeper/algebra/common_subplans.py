"""Common subexpressions, each planned once (quass96 4.3).

Delta rules share subtrees: N of `γ(N) − γ(N ⊎ −δR)` is one node with several parents. Written out
as one query it would be evaluated once per parent, and nested rules would multiply. Named steps
keep the plan as small as its graph, and Spark runs the shuffles of one that occurs twice once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass

from viewkeeper.algebra.relations import Filter, Project, Reference, Relation, Scan, Values
from viewkeeper.algebra.walk import children, nodes, with_children


@dataclass(frozen=True)
class Step:
    """A subexpression with a name, under which later steps refer to it; what it was before it was named."""

    name: str
    plan: Relation
    before: Relation


def shared(
    rel: Relation,
    name: Callable[[int], str] = "shared_{}".format,
    apart: Container[Relation] = (),
) -> tuple[tuple[Step, ...], Relation]:
    """The steps that `rel` uses more than once, inputs first, and `rel` over references to them.

    The plan must have explicit counts: a reference to a step has the step's columns. Subexpressions in
    `apart` are steps however often they are used.
    """
    uses = Counter(child for node in nodes(rel) for child in children(node))
    steps: list[Step] = []

    def replace_shared(before: Relation, after: Relation) -> Relation:
        if before not in apart and (uses[before] < 2 or is_cheap(before)):
            return after
        steps.append(Step(name(len(steps) + 1), after, before))
        return Reference(steps[-1].name, after.columns)

    done: dict[Relation, Relation] = {}
    for node in nodes(rel):
        done[node] = replace_shared(node, _with(node, done))
    return tuple(steps), done[rel]


def _with(node: Relation, done: dict[Relation, Relation]) -> Relation:
    return with_children(node, tuple(done[child] for child in children(node)))


def is_cheap(rel: Relation) -> bool:
    """Rows straight from a stored relation: reading them again costs less than keeping them."""
    while isinstance(rel, (Filter, Project)):
        rel = rel.child
    return isinstance(rel, (Scan, Reference, Values))
