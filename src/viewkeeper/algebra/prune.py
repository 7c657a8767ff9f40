"""Which columns of each part of a plan are used, and the plan without the others.

Spark leaves out what one query does not use. Where a part of it is written down for several queries, what all
of them need must be known before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.expressions import Scalar, columns_of
from viewkeeper.algebra.relations import (
    Aggregate,
    Expand,
    Filter,
    Join,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import children, nodes, rewrite, with_children

Needed = Mapping[Relation, frozenset[str]]


def needed_columns(rel: Relation) -> dict[Relation, frozenset[str]]:
    """Of every node of a plan all of whose columns are asked for, the columns that its parents use.

    Where only the number of rows matters, the first column stands for them.
    """
    found: dict[Relation, frozenset[str]] = {rel: frozenset(rel.columns)}
    for node in reversed(list(nodes(rel))):
        for child, names in _needed_by(node, found[node]):
            found[child] = found.get(child, frozenset()) | (names or frozenset(child.columns[:1]))
    return found


def _needed_by(node: Relation, needed: frozenset[str]) -> Iterator[tuple[Relation, frozenset[str]]]:
    """The columns that a node needs of each input; an operator that is not known here needs all."""
    match node:
        case Scan() | Reference() | Values():
            return
        case Project():
            yield node.child, _used(o.expr for o in node.outputs if o.name in needed)
        case Filter():
            yield node.child, needed | columns_of(node.condition)
        case Join():
            both = needed | columns_of(node.on)
            for side in (node.left, node.right):
                yield side, both & frozenset(side.columns)
        case Aggregate():
            calls = (a.expr for a in node.aggregates if a.name in needed)
            yield node.child, _used((*(key.expr for key in node.keys), *calls))
        case Window():
            calls = (item.expr for item in node.functions if item.name in needed)
            passed = needed & frozenset(node.child.columns)
            yield node.child, passed | frozenset(node.partition) | _used(calls)
        case Expand():
            yield node.child, needed | {COUNT}
        case Negate():
            yield node.child, needed
        case UnionAll():
            places = [place for place, name in enumerate(node.columns) if name in needed]
            for each in node.inputs:
                yield each, frozenset(each.columns[place] for place in places)
        case _:
            for child in children(node):
                yield child, frozenset(child.columns)


def _used(expressions: Iterable[Scalar]) -> frozenset[str]:
    return frozenset(name for expr in expressions for name in columns_of(expr))


def over_used_columns(rel: Relation) -> Relation:
    """The plan over scans of no more columns than it looks at."""
    wanted = needed_columns(rel)

    def narrowed(node: Relation) -> Relation:
        if not isinstance(node, Scan):
            return node
        return replace(node, bound=tuple(one for one in node.bound if one.name in wanted[node]))

    return rewrite(rel, narrowed)


def pruned(rel: Relation) -> Relation:
    """The plan, with projections, unions, aggregates and windows that make nothing which is not used."""
    needed = needed_columns(rel)
    done: dict[Relation, Relation] = {}
    for node in nodes(rel):
        done[node] = _without(node, tuple(done[child] for child in children(node)), needed)
    return done[rel]


def _without(node: Relation, inputs: tuple[Relation, ...], needed: Needed) -> Relation:
    match node:
        case Project():
            return Project(inputs[0], tuple(o for o in node.outputs if o.name in needed[node]))
        case Aggregate():
            used = tuple(item for item in node.aggregates if item.name in needed[node])
            return replace(node, child=inputs[0], aggregates=used)
        case Window():
            calls = tuple(item for item in node.functions if item.name in needed[node])
            return replace(node, child=inputs[0], functions=calls) if calls else inputs[0]
        case UnionAll():
            places = [place for place, name in enumerate(node.columns) if name in needed[node]]
            given = zip(node.inputs, inputs, strict=True)
            return UnionAll(tuple(restricted_to(new, [old.columns[p] for p in places]) for old, new in given))
        case _:
            return with_children(node, inputs)
