"""Creating, changing and dropping tables and views. Each is one commit, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from viewkeeper.algebra.inner_names import inner_relation, shown
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.catalog.catalog import REFRESH_MODES, Catalog, ViewDefinition, view_named
from viewkeeper.catalog.freshness import Properties, freshness, with_freshness
from viewkeeper.catalog.names import checked, checked_columns, inner_schema
from viewkeeper.ddl import following
from viewkeeper.ddl.following import FOLLOWS, is_followed
from viewkeeper.ddl.redefinition import define, redefine
from viewkeeper.errors import (
    AlreadyExists,
    DependencyError,
    InvalidChange,
    InvalidOption,
    InvalidSQL,
    NotFound,
    UnknownColumn,
    WrongType,
)
from viewkeeper.inspect.lattices import extensions
from viewkeeper.maintenance.id_diffs import Caching
from viewkeeper.planning.planner import POLICIES
from viewkeeper.published import check_publication, remove
from viewkeeper.publishing.options import checked_publication, publications
from viewkeeper.refresh.life import refresh_views
from viewkeeper.spark.catalog_tables import located
from viewkeeper.spark.load import loaded_table
from viewkeeper.spark.maps import has_map_inside
from viewkeeper.spark.ordered_changes import memory_name
from viewkeeper.sql.splice import tables_read
from viewkeeper.storage.column_types import check_types
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.following.formats import CATALOG
from viewkeeper.storage.publish import publish
from viewkeeper.views import (
    ASKABLE,
    CACHES,
    CHECK,
    IDS,
    MAX_ITERATIONS,
    STRATEGY,
    VALUE_COUNTS,
    checked_share,
)
from viewkeeper.workspace import Workspace


def create_table(
    work: Workspace, schema: TableSchema | str, rows: Any = None, key: Sequence[str] = (), check: bool = True
) -> int:
    """A table, empty or filled from rows; a name alone takes its columns from the rows."""
    wanted = checked(schema if isinstance(schema, str) else schema.name, "table")
    name = inner_relation(wanted)

    def build(base: Entry) -> Draft:
        must_be_free(base.catalog, wanted)
        draft = Draft(base, f"create table {wanted}")
        loaded = loaded_table(work.engine, draft, schema, rows, tuple(key), check, _checked_schema)
        checked_publication(loaded.schema.properties)
        draft.catalog = draft.catalog.with_table(loaded.schema)
        draft.put(name, loaded.state)
        check_publication(name, loaded.schema.properties, draft)
        return draft

    return publish(work.log, build).version


def follow(
    work: Workspace,
    schema: TableSchema,
    address: str,
    form: str = "delta",
    options: Mapping[str, str] | None = None,
    enforced: bool = True,
    version: int | None = None,
    read: Mapping[str, str] | None = None,
) -> int:
    """A table that others own, as it is now, or at one of its versions; `read`: how its files are read."""
    if form.lower() == CATALOG:
        form, address = located(work.engine.spark, address or schema.name)
    checks = _checked_schema, must_be_free
    given = options or {}, read or {}
    return following.follow(work, schema, address, form, *given, enforced, version, *checks)


def _checked_schema(schema: TableSchema, catalog: Catalog) -> TableSchema:
    """The schema when its names are fine and its keys name columns that exist."""
    if not schema.columns:
        raise InvalidSQL(f"The table {schema.name} has no columns.", hint="Give it at least one.")
    checked_columns(schema.names, schema.name)
    check_types(schema.columns, schema.name)
    named, schema = schema, inner_schema(schema)
    own = tuple(_column(schema, name).name for name in schema.key)
    targets = [_target(named, reference, schema, catalog) for reference in named.foreign_keys]
    for reference, target in zip(schema.foreign_keys, targets, strict=True):
        for column in reference.columns:
            _column(schema, column)
        if {c.lower() for c in reference.referenced} != {c.lower() for c in target.key}:
            raise InvalidSQL(
                f"A key of {schema.name} refers to {', '.join(reference.referenced)} of {target.name}.",
                f"The primary key of {target.name} is ({', '.join(target.key)}).",
                "Refer to the primary key.",
                table=schema.name,
            )
    _must_be_comparable(schema, own)
    not_null = {name.lower() for name in own}
    columns = tuple(
        replace(c, nullable=c.nullable and c.name.lower() not in not_null) for c in schema.columns
    )
    references = tuple(
        replace(
            r,
            table=target.name,
            columns=tuple(_column(schema, c).name for c in r.columns),
        )
        for r, target in zip(schema.foreign_keys, targets, strict=True)
    )
    return replace(schema, columns=columns, key=own, foreign_keys=references)


def _must_be_comparable(schema: TableSchema, key: Sequence[str]) -> None:
    """Rows are found by their values: a map can be one, but not a part of one, nor of a key."""
    for column in schema.columns:
        in_key = "map<" in column.type and column.name in key
        if in_key or has_map_inside(column.type):
            raise WrongType(
                f"The column {column.name} of {schema.name} cannot be {column.type}.",
                "A map is part of the primary key." if in_key else "It has maps inside of it.",
                "Spark cannot compare maps. Store the entries instead: map_entries(m).",
                table=schema.name,
                columns=[column.name],
            )


def _target(named: TableSchema, key: ForeignKey, own: TableSchema, catalog: Catalog) -> TableSchema:
    """The table that a foreign key, in the user's names, refers to."""
    return own if key.table.lower() == named.name.lower() else catalog.schema(key.table)


def _column(schema: TableSchema, name: str) -> Column:
    try:
        return schema.column(name)
    except KeyError:
        raise UnknownColumn(
            f"{schema.name} has no column {name}.",
            f"It has {', '.join(schema.names)}.",
            table=schema.name,
            columns=[name],
        ) from None


def create_views(
    work: Workspace,
    queries: Mapping[str, str],
    refresh: str = "deferred",
    policy: str = "auto",
    populate: bool = True,
    properties: Sequence[tuple[str, str]] = (),
) -> int:
    """Materialized views of some queries, which may read each other; filled together unless `populate` is
    false."""
    for name in queries:
        checked(name, "view")
    _must_be_one_of("refresh", refresh, REFRESH_MODES)
    _must_be_one_of("policy", policy, POLICIES)
    checked_properties(properties)
    chosen = tuple({**dict(work.defaults), **dict(properties)}.items())
    ordered = _in_reading_order(queries)

    def build(base: Entry) -> Draft | None:
        named = ", ".join(queries) if len(queries) < 4 else f"{len(queries)} views"
        draft = Draft(base, f"create view {named}")
        for name in ordered:
            must_be_free(draft.catalog, name)
            own = inner_relation(name)
            bare = ViewDefinition(own, queries[name], (), (), refresh, policy, properties=chosen)
            define(work, draft, replace(bare, settings=work.settings))
            check_publication(own, bare.properties, draft)
        if populate:
            refresh_views(work, draft, map(inner_relation, ordered))
        return draft if ordered else None

    return publish(work.log, build).version


def _in_reading_order(queries: Mapping[str, str]) -> tuple[str, ...]:
    """The names of new views, each after those that its query reads."""
    if len(queries) < 2:
        return tuple(queries)
    names = {name.lower(): name for name in queries}
    read = {name: [one.lower() for one in tables_read(sql)] for name, sql in queries.items()}
    try:
        sorter = TopologicalSorter(
            {name: [names[o] for o in own if o in names] for name, own in read.items()}
        )
        return tuple(sorter.static_order())
    except CycleError as problem:
        raise DependencyError(
            f"These views would depend on each other: {', '.join(dict.fromkeys(problem.args[1]))}.",
            "None of them can be filled first.",
            "Use WITH RECURSIVE for recursion.",
            view=problem.args[1][0],
        ) from None


def alter_view(work: Workspace, name: str, sql: str, fresh: Properties = ()) -> int:
    """Gives a view another query; views that read it must still be valid over its columns. `fresh`: how fresh
    it is to be from now on, where that changes."""

    def build(base: Entry) -> Draft | None:
        known = view_named(base.catalog, name)
        draft = Draft(base, f"alter view {shown(known.name)}")
        _must_not_read_itself(base.catalog, known.name, sql)
        bare = replace(known, sql=sql, language="sql", predicates=(), hidden=(), settings=work.settings)
        bare = replace(
            bare, properties=with_freshness(known.properties, fresh) if fresh else known.properties
        )
        redefine(work, draft, known, bare)
        refilled = _refilled(work, draft)
        check_publication(known.name, known.properties, draft)
        return refilled

    return publish(work.log, build).version


def extend_views(work: Workspace) -> int:
    """Gives summaries the hidden columns that let other views derive from them, and fills them anew."""

    def build(base: Entry) -> Draft | None:
        draft = Draft(base, "extend views")
        for name, hidden in extensions(base.catalog).items():
            redefine(work, draft, base.catalog.views[name], replace(base.catalog.views[name], hidden=hidden))
        return _refilled(work, draft)

    return publish(work.log, build).version


def _refilled(work: Workspace, draft: Draft) -> Draft | None:
    """Refreshes the views whose definitions the draft has changed, if there are any."""
    before = draft.base.catalog.views
    changed = [name for name, view in draft.catalog.views.items() if view != before.get(name)]
    if not changed:
        return None
    refresh_views(work, draft, changed)
    return draft


def drop(work: Workspace, name: str, cascade: bool = False, missing_ok: bool = False, kind: str = "") -> int:
    """Drops a table or view; with `cascade` also the views that read it. Their Delta tables go too."""
    known_before = publications(work.log.latest().catalog)

    def build(base: Entry) -> Draft | None:
        known = base.catalog.spelled(name)
        if known is None and missing_ok:
            return None
        if known is None or not _is_kind(base.catalog, known, kind):
            raise NotFound(f"There is no {kind or 'table or view'} named {name}.", table=name)
        doomed = with_dependents(base.catalog, known)
        if len(doomed) > 1 and not cascade:
            raise DependencyError(
                f"{known} cannot be dropped.",
                f"These views read it: {', '.join(doomed[1:])}.",
                "Drop them first, or use CASCADE.",
                table=known,
            )
        _must_not_be_referenced(base.catalog, known)
        draft = Draft(base, f"drop {shown(known)}")
        for one in doomed:
            for state in base.catalog.views[one].state if one in base.catalog.views else ():
                draft.drop(state)
            draft.drop(one)
            draft.drop(memory_name(one))
        return draft

    entry = publish(work.log, build)
    for one in known_before:
        if one.relation not in entry.relations:
            remove(work, one)
    return entry.version


def table_named(catalog: Catalog, name: str) -> TableSchema:
    """The base table of this name; views cannot be changed by hand."""
    known = catalog.spelled(name)
    if known is not None and known in catalog.views:
        raise InvalidChange(
            f"{known} is a view; its rows follow from its tables.",
            f"It reads {', '.join(catalog.views[known].reads)}.",
            "Change these tables instead.",
            view=known,
        )
    schema = catalog.schema(name)
    if is_followed(schema):
        raise InvalidChange(
            f"{schema.name} is followed: others own it, and it cannot be changed from here.",
            f"It follows a {schema.property(FOLLOWS)} table.",
            "Change that table, then refresh.",
            table=schema.name,
        )
    return schema


def _must_not_read_itself(catalog: Catalog, name: str, sql: str) -> None:
    below = with_dependents(catalog, name)
    for table in tables_read(sql):
        known = catalog.spelled(table)
        if known in below:
            raise DependencyError(
                f"The view {name} would depend on itself.",
                f"Its new query reads {known}.",
                "Use WITH RECURSIVE for recursion.",
                view=name,
            )


def with_dependents(catalog: Catalog, name: str) -> tuple[str, ...]:
    """The relation, then every view that reads it, directly or through others."""
    found = {name: None}
    for view in catalog.in_order():
        if any(table in found for table in view.reads):
            found.setdefault(view.name)
    return tuple(found)


def _is_kind(catalog: Catalog, name: str, kind: str) -> bool:
    return kind == "" or name in (catalog.views if kind == "view" else catalog.tables)


def must_be_free(catalog: Catalog, name: str) -> None:
    known = catalog.spelled(name)
    if known is not None:
        kind = "view" if known in catalog.views else "table"
        raise AlreadyExists(f"A {kind} named {known} exists.", hint="Choose another name, or drop it first.")


def checked_properties(properties: Sequence[tuple[str, str]]) -> None:
    """Refuses values that properties cannot have."""
    _must_be_one_of(STRATEGY, dict(properties).get(STRATEGY, "auto"), ASKABLE)
    _must_be_one_of(IDS, dict(properties).get(IDS, "never"), ("auto", "never"))
    checked_share(dict(properties).get(CHECK, 0), CHECK)
    freshness(properties)
    checked_publication(properties)
    _must_be_one_of(CACHES, dict(properties).get(CACHES, "auto"), [choice.value for choice in Caching])
    _must_be_one_of(VALUE_COUNTS, dict(properties).get(VALUE_COUNTS, "false"), ("true", "false"))
    limit = dict(properties).get(MAX_ITERATIONS, "1")
    if not limit.isdecimal() or int(limit) == 0:
        raise InvalidOption(
            f"{MAX_ITERATIONS} cannot be {limit!r}.",
            "It is the number of rounds that a recursion may take.",
            "Give a whole number from 1 on.",
        )


def _must_be_one_of(option: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InvalidOption(
            f"{option} cannot be {value!r}.", f"It is one of {', '.join(allowed)}.", "Choose one of these."
        )


def _must_not_be_referenced(catalog: Catalog, name: str) -> None:
    children = [
        table.name
        for table in catalog.tables.values()
        if table.name != name and any(key.table == name for key in table.foreign_keys)
    ]
    if children:
        raise DependencyError(
            f"{name} cannot be dropped.",
            f"Foreign keys of {', '.join(children)} refer to it.",
            "Drop these tables first.",
            table=name,
        )
