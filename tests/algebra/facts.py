"""Facts of a plan that tests ask for one by one."""

from __future__ import annotations

from viewkeeper.algebra.facts import Dependency, Schemas, _Facts
from viewkeeper.algebra.nullability import (
    Names,
    not_null,
)
from viewkeeper.algebra.relations import (
    Relation,
)


def keys(rel: Relation, schemas: Schemas) -> frozenset[Names]:
    """Minimal keys of the plan."""
    return _Facts(schemas).keys(rel)


def functional_dependencies(rel: Relation, schemas: Schemas) -> frozenset[Dependency]:
    """Dependencies that keys, equalities and computed columns imply."""
    return _Facts(schemas).dependencies(rel)


def nullable(rel: Relation) -> Names:
    """Columns that may hold NULL."""
    return frozenset(rel.columns) - not_null(rel)
