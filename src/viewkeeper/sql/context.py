"""What the translation of one view shares: the catalog, fresh names, and the CTEs in scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from viewkeeper.algebra.build import fresh, renamed
from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.relations import Bound, Relation, Scan
from viewkeeper.algebra.schema import HIDDEN_PREFIX, TableSchema
from viewkeeper.sql.known_relations import KnownRelations
from viewkeeper.sql.scope import Field, Scope

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Translated:
    """A translated query: its plan, the names the user sees, and the plan's columns for them.

    `links` are columns that hold the values of the enclosing query's columns, one for each of
    `matches`: the query's rows for an outer row are those where `match = link` (NULL-safely when
    the links come from a bound domain). `late` are outputs to be computed above a left join with the
    outer plan, since they have values even where the inner plan has no row (COUNT is 0).
    `pending` are conditions for that join.
    """

    rel: Relation
    names: tuple[str, ...]
    columns: tuple[str, ...]
    links: tuple[str, ...] = ()
    matches: tuple[Scalar, ...] = ()
    null_safe: bool = False
    late: Mapping[str, Scalar] | None = None
    pending: tuple[Scalar, ...] = ()


CTE = Callable[["Context"], Translated]


@dataclass(frozen=True)
class Context:
    """Immutable but for the shared registers of names and tables."""

    catalog: KnownRelations
    ctes: Mapping[str, CTE] = field(default_factory=dict)
    parent: Scope | None = None
    taken: set[str] = field(default_factory=set)
    schemas: dict[str, TableSchema] = field(default_factory=dict)

    def fresh(self, wish: str) -> str:
        """A name for a plan column that no other column of this view has."""
        plain = _PLAIN.fullmatch(wish) is not None and not wish.startswith(HIDDEN_PREFIX)
        name = fresh(wish if plain else "c", self.taken)
        self.taken.add(name.lower())
        return name

    def with_ctes(self, ctes: Mapping[str, CTE]) -> Context:
        return replace(self, ctes={**self.ctes, **ctes})

    def inside(self, scope: Scope | None) -> Context:
        """The context of a query whose enclosing query has this scope."""
        return replace(self, parent=scope)

    def scan(self, name: str) -> Translated:
        schema = self.catalog.schema(name)
        self.schemas[schema.name] = schema
        bound = tuple(Bound(self.fresh(c.name), c) for c in schema.visible)
        rel = Scan(schema.name, bound)
        return Translated(rel, tuple(shown(c.name) for c in schema.visible), rel.columns)

    def apart(self, answer: Translated) -> Translated:
        """The same answer under fresh names, for a second use of one plan."""
        names = {old: self.fresh(old) for old in answer.rel.columns}
        return replace(
            answer,
            rel=renamed(answer.rel, names),
            columns=tuple(names[name] for name in answer.columns),
            links=tuple(names[name] for name in answer.links),
        )


def fields_of(answer: Translated, alias: str | None, names: Iterable[str] = ()) -> list[Field]:
    """The fields of a FROM item, renamed by the column list of its alias."""
    visible = tuple(names) or answer.names
    return [Field(alias, name, col) for name, col in zip(visible, answer.columns, strict=True)]
