"""The definitions that a warehouse holds: tables, and views with their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema, is_hidden
from viewkeeper.errors import NotFound, UnknownTable

Settings = tuple[tuple[str, str], ...]
"""Settings of a Spark session by name, in order."""

REFRESH_MODES = ("deferred", "on_commit")

ENFORCED = "viewkeeper.enforced"
"""The property of a followed table: whether its keys are checked, and not trusted."""

DATALOG = "datalog"
"""The language of views that rules define."""


@dataclass(frozen=True)
class ViewDefinition:
    """A materialized view: its text, its options, and the commit whose state it shows.

    `position` is the version of the base tables that the stored rows are the answer for, and
    `published` the version in which they were published; both None before the view is filled.
    `propagated` is the version of the base tables that a next state, not yet published, is for.
    `state` names the hidden relations that its maintenance needs. `above` names the summary that a summary
    is defined over, where it is kept as one over the base tables, which are then its `tables`. `hidden` are
    expressions that a summary stores beside its columns, so that others derive from it. `types` are those
    that Spark gives to what the view sums up (`maintenance/typed_calls.py`). The text of a
    Datalog view, also in `sql`, has the rules of all predicates that are defined together with it;
    `predicates` gives the columns of each. `settings` are those of the session that defined it, as far as
    they say what its text means; None where that is not known. `unplanned` says why its text is run as it is
    though there is a plan for it: the two would not have the same columns. `keyed`: it asks that its
    rows are stored with their IDs where these may pay.
    """

    name: str
    sql: str
    columns: tuple[Column, ...]
    tables: tuple[str, ...]
    refresh: str = "deferred"
    policy: str = "auto"
    position: int | None = None
    published: int | None = None
    state: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    language: str = "sql"
    predicates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    propagated: int | None = None
    above: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    settings: Settings | None = None
    types: tuple[tuple[str, str], ...] = ()
    unplanned: str = ""
    keyed: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views that its text names, and those that it is maintained from."""
        return (*self.above, *self.tables)

    @property
    def schema(self) -> TableSchema:
        return TableSchema(self.name, self.columns, properties=self.properties)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sql": self.sql,
            "columns": [c.to_json() for c in self.columns],
            "tables": list(self.tables),
            "refresh": self.refresh,
            "policy": self.policy,
            "position": self.position,
            "published": self.published,
            "state": list(self.state),
            "properties": [list(pair) for pair in self.properties],
            "language": self.language,
            "predicates": [[name, list(columns)] for name, columns in self.predicates],
            "propagated": self.propagated,
            "above": list(self.above),
            "hidden": list(self.hidden),
            "settings": None if self.settings is None else [list(pair) for pair in self.settings],
            "types": [list(pair) for pair in self.types],
            "unplanned": self.unplanned,
            "keyed": self.keyed,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ViewDefinition:
        return ViewDefinition(
            name=data["name"],
            sql=data["sql"],
            columns=tuple(Column(*column) for column in data["columns"]),
            tables=tuple(data["tables"]),
            refresh=data["refresh"],
            policy=data["policy"],
            position=data["position"],
            published=data["published"],
            state=tuple(data["state"]),
            properties=tuple((key, value) for key, value in data["properties"]),
            language=data.get("language", "sql"),
            predicates=tuple((name, tuple(columns)) for name, columns in data.get("predicates", ())),
            propagated=data.get("propagated"),
            above=tuple(data.get("above", ())),
            hidden=tuple(data.get("hidden", ())),
            settings=_settings(data.get("settings")),
            types=tuple((text, kind) for text, kind in data.get("types", ())),
            unplanned=data.get("unplanned", ""),
            keyed=data.get("keyed", False),
        )


@dataclass(frozen=True)
class Catalog:
    """Tables and views by their inner names; users' names compare without regard to case, as Spark's do."""

    tables: Mapping[str, TableSchema] = field(default_factory=dict)
    views: Mapping[str, ViewDefinition] = field(default_factory=dict)

    @property
    def own_tables(self) -> tuple[str, ...]:
        """The tables without the engine's own, such as clocks, which users do not name."""
        return tuple(name for name in self.tables if not is_hidden(name))

    def spelled(self, name: str) -> str | None:
        """What the table or view of the user's name is called inside, or None."""
        for known in (*self.own_tables, *self.views):
            if shown(known).lower() == name.lower():
                return known
        return None

    def schema(self, name: str) -> TableSchema:
        """The columns of a table or view; the front ends resolve names by it."""
        known = self.spelled(name)
        if known is None:
            raise UnknownTable(f"There is no table or view named {name}.", hint=self._hint(name), table=name)
        return self.stored(known)

    def stored(self, name: str) -> TableSchema:
        """The columns of the table or view that has this name inside."""
        return self.tables[name] if name in self.tables else _visible(self.views[name].schema)

    def _hint(self, name: str) -> str:
        names = sorted(map(shown, (*self.own_tables, *self.views)))
        close = get_close_matches(name, names, n=1, cutoff=0.6)
        if close:
            return f"Did you mean {close[0]}?"
        return f"Known names: {', '.join(names[:10])}." if names else "The warehouse is empty."

    def with_table(self, schema: TableSchema) -> Catalog:
        return replace(self, tables={**self.tables, schema.name: schema})

    def with_view(self, view: ViewDefinition) -> Catalog:
        return replace(self, views={**self.views, view.name: view})

    def without(self, name: str) -> Catalog:
        return Catalog(
            {n: t for n, t in self.tables.items() if n != name},
            {n: v for n, v in self.views.items() if n != name},
        )

    def dependents(self, name: str) -> tuple[str, ...]:
        """The views that read a relation directly."""
        return tuple(view.name for view in self.views.values() if name in view.reads)

    def versions_needed(self, relation: str | None = None) -> frozenset[int]:
        """The versions that views go on from at their next refresh: all views, or those that read a
        relation."""
        views = [v for v in self.views.values() if relation is None or relation in v.reads]
        return frozenset(v for view in views for v in (view.position, view.published, view.propagated) if v)

    def in_order(self) -> tuple[ViewDefinition, ...]:
        """Every view after the views that it reads."""
        done: dict[str, ViewDefinition] = {}

        def visit(view: ViewDefinition) -> None:
            if view.name in done:
                return
            for table in view.reads:
                if table in self.views:
                    visit(self.views[table])
            done[view.name] = view

        for view in self.views.values():
            visit(view)
        return tuple(done.values())

    def base_tables(self, view: ViewDefinition) -> frozenset[str]:
        """The base tables below a view, through the views that it reads."""
        found: set[str] = set()
        for name in view.tables:
            found |= self.base_tables(self.views[name]) if name in self.views else {name}
        return frozenset(found)

    def to_json(self) -> dict[str, Any]:
        return {
            "tables": [table_to_json(table) for table in self.tables.values()],
            "views": [view.to_json() for view in self.views.values()],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Catalog:
        tables = [table_from_json(table) for table in data["tables"]]
        views = [ViewDefinition.from_json(view) for view in data["views"]]
        return Catalog({t.name: t for t in tables}, {v.name: v for v in views})


def _settings(pairs: Sequence[Sequence[str]] | None) -> Settings | None:
    return None if pairs is None else tuple((name, value) for name, value in pairs)


def _visible(schema: TableSchema) -> TableSchema:
    return replace(schema, columns=tuple(c for c in schema.columns if not is_hidden(c.name)))


def table_to_json(table: TableSchema) -> dict[str, Any]:
    return {
        "name": table.name,
        "columns": [c.to_json() for c in table.columns],
        "key": list(table.key),
        "foreign_keys": [[list(f.columns), f.table, list(f.referenced)] for f in table.foreign_keys],
        "properties": [list(pair) for pair in table.properties],
    }


def table_from_json(data: Mapping[str, Any]) -> TableSchema:
    return TableSchema(
        name=data["name"],
        columns=tuple(Column(*column) for column in data["columns"]),
        key=tuple(data["key"]),
        foreign_keys=tuple(
            ForeignKey(tuple(own), table, tuple(theirs)) for own, table, theirs in data["foreign_keys"]
        ),
        properties=tuple((key, value) for key, value in data["properties"]),
    )


def view_named(catalog: Catalog, name: str) -> ViewDefinition:
    """The view that users call so."""
    known = catalog.spelled(name)
    if known is None or known not in catalog.views:
        raise NotFound(
            f"There is no view named {name}.",
            f"Views: {', '.join(catalog.views) or 'none'}.",
            view=name,
        )
    return catalog.views[known]
