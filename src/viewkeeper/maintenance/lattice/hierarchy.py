"""Dimension hierarchies as functional dependencies: mumick97 sections 2, 3.3 and 5.2.

    foreign key → every attribute of the dimension        (its primary key)
    storeID > city > region                               (declared: 'viewkeeper.hierarchy')
    date > week; date > month                             (a partial order: several chains)

Grouping by an attribute yields the same groups as grouping by it and all that it determines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected
from viewkeeper.algebra.expressions import Named, column, function, literal, same
from viewkeeper.algebra.relations import Aggregate, Bound, Distinct, Relation, Scan
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.errors import InvalidOption
from viewkeeper.maintenance.lattice.cube_view import CubeView, Dimension

PROPERTY = "viewkeeper.hierarchy"


@dataclass(frozen=True)
class LevelDependency:
    """`determines`: rows that agree on `left` agree on `right`."""

    left: frozenset[str]
    right: frozenset[str]


def hierarchies(schema: TableSchema) -> tuple[tuple[str, ...], ...]:
    """The declared chains of a table, finest attribute first."""
    text = schema.property(PROPERTY) or ""
    chains = [[part.strip() for part in chain.split(">")] for chain in text.split(";") if chain.strip()]
    return tuple(tuple(_attribute(schema, name, text) for name in chain) for chain in chains)


def _attribute(schema: TableSchema, name: str, text: str) -> str:
    try:
        return schema.column(name).name
    except KeyError:
        raise InvalidOption(
            f"The hierarchy of {schema.name} names {name!r}, which is not one of its columns.",
            f"{PROPERTY} = {text!r}",
            "Write chains of column names such as 'storeID > city > region', separated by ';'.",
            table=schema.name,
            columns=(name,),
        ) from None


def dependencies(fact: TableSchema, dimensions: Iterable[Dimension]) -> tuple[LevelDependency, ...]:
    """What determines what among the columns of a fact table and of joined dimensions."""
    found = [_dependency((a,), (b,)) for chain in hierarchies(fact) for a, b in _steps(chain)]
    if fact.key:
        found.append(_dependency(fact.key, fact.names))
    for dimension in dimensions:
        found.append(_dependency(dimension.foreign, dimension.attributes))
        found.extend(_dependency((mine,), (theirs,)) for theirs, mine in dimension.on)
        for chain in hierarchies(dimension.schema):
            names = [dimension.attribute(name) for name in chain]
            found.extend(_dependency((a,), (b,)) for a, b in _steps(names))
    return tuple(found)


def _dependency(left: Iterable[str], right: Iterable[str]) -> LevelDependency:
    return LevelDependency(frozenset(left), frozenset(right))


def _steps(chain: Iterable[str]) -> Iterable[tuple[str, str]]:
    return pairwise(chain)


def closure(attributes: Iterable[str], known: Iterable[LevelDependency]) -> frozenset[str]:
    """Every attribute that these determine."""
    known = tuple(known)
    found = set(attributes)
    grew = True
    while grew:
        fresh = {name for d in known if d.left <= found for name in d.right} - found
        found |= fresh
        grew = bool(fresh)
    return frozenset(found)


def determined(view: CubeView, dimensions: Iterable[Dimension]) -> frozenset[str]:
    """The columns that the view's group-by columns determine."""
    own = {key.expr.name for key in view.all_keys if key.is_column}
    return closure(own, dependencies(view.fact, dimensions))


def violations(schema: TableSchema, finer: str, coarser: str) -> Relation:
    """The values of `finer`, NULL included, that have several values of `coarser`: what a chain forbids."""
    bound = tuple(Bound(name, schema.column(name)) for name in (finer, coarser))
    pairs = Distinct(Scan(schema.name, bound))
    counted = Aggregate(pairs, same((finer,)), (Named("__values", function("count", exp.Star())),))
    several = exp.GT(this=column("__values"), expression=literal(1))
    return projected(filtered(counted, several), same((finer,)))
