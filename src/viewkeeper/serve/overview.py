"""What the page and the metrics show of a warehouse, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.catalog.freshness import freshness
from viewkeeper.inspect.status import Status, history, status
from viewkeeper.plain import finite
from viewkeeper.planning.planner import RECOMPUTE
from viewkeeper.serve.chronicle import Refreshed
from viewkeeper.serve.desk import Desk
from viewkeeper.serve.keeper import Keeper
from viewkeeper.storage.commits import Entry

LINE = 24
"""Refreshes in a spark line."""


def overview(desk: Desk, keeper: Keeper | None, token: bool) -> dict[str, Any]:
    """Every table and view with its freshness, size and last refreshes; failing and stale ones first."""
    entry = desk.entry
    found = [_relation(desk, keeper, entry, one) for one in status(desk.log, entry=entry)]
    found.sort(key=_urgency)
    return {
        "version": entry.version,
        "written": entry.written,
        "place": desk.log.folder.url,
        "may_change": token,
        "keeping": keeper is not None,
        "relations": found,
        "busy": [run.to_dict() for run in desk.jobs if not run.is_over],
    }


def _urgency(one: Mapping[str, Any]) -> tuple[bool, bool, bool, str]:
    return one["kind"] != "view", not one["failing"], not one["stale"], one["name"].lower()


def _relation(desk: Desk, keeper: Keeper | None, entry: Entry, one: Status) -> dict[str, Any]:
    known = entry.catalog.spelled(one.name) or one.name
    plain = {**asdict(one), "columns": len(entry.catalog.stored(known).visible)}
    view = entry.catalog.views.get(known)
    if view is None:
        return {**plain, "read_by": [shown(name) for name in entry.catalog.dependents(known)]}
    refreshes = desk.chronicle.of(known)
    return {
        **plain,
        "lag_seconds": freshness(view.properties).lag,
        "reads": _read(entry, view),
        "read_by": [shown(name) for name in entry.catalog.dependents(known)],
        "last": _last(refreshes),
        "line": [_point(refresh) for refresh in refreshes[-LINE:]],
        "refreshes": dict(Counter(refresh.report["strategy"] for refresh in refreshes)),
        "failures": keeper.seen[known].total_failures if keeper is not None else 0,
        "unmet": keeper.unmet.get(known, "") if keeper is not None else "",
    }


def _read(entry: Entry, view: ViewDefinition) -> list[str]:
    """The tables and views that a view reads, each once; no clocks."""
    known = {*entry.catalog.own_tables, *entry.catalog.views}
    return [shown(name) for name in dict.fromkeys(view.reads) if name in known]


def _last(refreshes: list[Refreshed]) -> dict[str, Any] | None:
    if not refreshes:
        return None
    last = refreshes[-1].to_dict()
    return finite({name: value for name, value in last.items() if name != "details"})  # type: ignore[no-any-return]


def _point(refresh: Refreshed) -> dict[str, Any]:
    return {
        "version": refresh.version,
        "seconds": refresh.report["seconds"],
        "recomputed": refresh.report["strategy"] == RECOMPUTE.name,
    }


def relation(desk: Desk, keeper: Keeper | None, name: str) -> dict[str, Any]:
    """One table or view: its definition, columns and options, and how it stands."""
    entry = desk.entry
    schema = entry.catalog.schema(name)
    view = entry.catalog.views.get(schema.name)
    [standing] = [
        one for one in status(desk.log, entry=entry) if entry.catalog.spelled(one.name) == schema.name
    ]
    columns = [
        {"name": shown(c.name), "type": c.declared or c.type, "nullable": c.nullable} for c in schema.visible
    ]
    return {
        **_relation(desk, keeper, entry, standing),
        "columns": columns,
        "key": [shown(column) for column in schema.key],
        "properties": dict(schema.properties),
        **(_definition(view) if view is not None else {}),
    }


def _definition(view: ViewDefinition) -> Mapping[str, Any]:
    named = "sql", "language", "refresh", "policy", "position", "published"
    return {**{name: getattr(view, name) for name in named}, "settings": dict(view.settings or ())}


def told_history(desk: Desk, name: str) -> list[dict[str, Any]]:
    """The refreshes of a view, with the age of what each brought, and those that failed."""
    known = desk.entry.catalog.spelled(name) or name
    ages = {one.version: one.age for one in desk.chronicle.of(known)}
    return [
        finite({**asdict(one), "age": None if one.failure else ages.get(one.version)})
        for one in history(desk.log, name)
    ]


def lineage(desk: Desk) -> dict[str, Any]:
    """Tables and views, what reads what, the lattice, and what the last refresh did in which order."""
    entry = desk.entry
    nodes = [
        {
            "name": one.name,
            "kind": one.kind,
            "rows": one.main_rows + one.layer_rows,
            "stale": one.stale,
            "failing": one.failing,
            "target": one.target,
        }
        for one in status(desk.log, entry=entry)
    ]
    edges = [
        {"from": read, "to": shown(view.name)}
        for view in entry.catalog.in_order()
        for read in _read(entry, view)
    ]
    last = desk.chronicle.last_refresh()
    return finite({"nodes": nodes, "edges": edges, "lattice": desk.lattice(entry), "last": last})  # type: ignore[no-any-return]
