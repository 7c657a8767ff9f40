"""Publishing of a warehouse's tables and views as Delta tables: on, off, up to date, and compared.

What follows a commit never fails it: the entry stands, and the next refresh makes up for what could not be
published.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa

from viewkeeper.algebra.build import minus
from viewkeeper.algebra.counts import consolidated, weighted
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.relations import Reference
from viewkeeper.algebra.schema import COUNT
from viewkeeper.arrow.plans import rows as plan_rows
from viewkeeper.arrow.states import States
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.errors import ConflictError, NotFound, ViewkeeperError
from viewkeeper.publishing.files import rows_left
from viewkeeper.publishing.follow import StateReader, follow_one, publisher_of, typed
from viewkeeper.publishing.options import (
    Properties,
    Publication,
    checked_columns,
    checked_layout,
    properties_of,
    publication,
    publications,
    with_publication,
    without_publication,
)
from viewkeeper.publishing.publisher import published_columns
from viewkeeper.publishing.table import PublishedTable
from viewkeeper.spark.told_rows import files_told, rows_told, signed_told
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish as commit_draft
from viewkeeper.workspace import Workspace

T = TypeVar("T")

ATTEMPTS = 3
_OURS = re.compile(r"_delta_log/|_viewkeeper/|_change_data/|deletion_vector_|([^/]+=[^/]*/)*part-")
SHOWN = 5
"""So many rows that differ are shown."""


class NotPublished(UserWarning):
    """A published table is behind its view; the next refresh makes up for it."""


@dataclass(frozen=True)
class PublishedCheck:
    """Whether a published table has the rows of its relation at the version that it shows."""

    name: str
    place: str
    version: int
    missing: tuple[dict[str, object], ...] = ()
    extra: tuple[dict[str, object], ...] = ()

    def __bool__(self) -> bool:
        return not (self.missing or self.extra)

    def to_dict(self) -> dict[str, object]:
        told = {"name": self.name, "place": self.place, "version": self.version, "equal": bool(self)}
        return {**told, "missing": list(self.missing), "extra": list(self.extra)}


def publish(work: Workspace, name: str, place: str | None, **how: Any) -> str:
    """Publishes a table or view from now on, as `properties_of` takes it; the address of its Delta table."""
    catalog = work.log.latest().catalog
    known = _known(catalog, name)
    before, operation = _publication(catalog, known), f"publish {shown(known)}"
    home = None if place is None else work.log.folder.beside(place).url
    chosen = properties_of(home, **how)
    entry = _with_properties(work, operation, known, lambda old: with_publication(old, chosen))
    one = _publication(entry.catalog, known)
    assert one is not None
    if before is not None and before.place != one.place:
        remove(work, before)
    follow_one(work.log.folder, one, entry, reader_of(work, entry, known))
    return _address(work, one)


def unpublish(work: Workspace, name: str) -> int:
    """Publishes a table or view no longer, and removes its Delta table."""
    catalog = work.log.latest().catalog
    known = _known(catalog, name)
    one = _publication(catalog, known)
    if one is None:
        raise _not_published(known)
    entry = _with_properties(work, f"unpublish {shown(known)}", known, without_publication)
    remove(work, one)
    return entry.version


def remove(work: Workspace, one: Publication) -> None:
    """Removes the Delta table of a relation: its log first, so that no reader finds files missing."""
    folder, table = one.home(work.log.folder)
    found = [path for path, _ in folder.listed(table)]
    inside = [path for path in found if _is_ours(path.removeprefix(table).lstrip("/"))]
    folder.delete(sorted(inside, key=lambda path: "_delta_log" not in path))


def _is_ours(path: str) -> bool:
    """Whether a file of the table's folder is one of those that are written here."""
    return bool(_OURS.match(path))


def follow(work: Workspace, entry: Entry) -> None:
    """Brings everything that is published to an entry; what fails is told as a warning."""
    for one in publications(entry.catalog):
        try:
            _followed(work, one, entry)
        except (ViewkeeperError, OSError, pa.ArrowException) as error:
            what = (
                f"Version {entry.version} is committed; {shown(one.relation)} is not published yet: {error}"
            )
            warnings.warn(f"{what}\nThe next refresh makes up for it.", NotPublished, stacklevel=2)


def _followed(work: Workspace, one: Publication, entry: Entry) -> None:
    """One published table brought up; where another writer is doing that, what is left of it."""
    reader = reader_of(work, entry, one.relation)
    for attempt in range(ATTEMPTS):
        try:
            follow_one(work.log.folder, one, entry, reader)
            return
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise


def places(work: Workspace) -> dict[str, str]:
    """The addresses of the Delta tables of what is published, by the user's names."""
    return {shown(one.relation): _address(work, one) for one in publications(work.log.latest().catalog)}


def verify_published(work: Workspace, name: str) -> PublishedCheck:
    """Compares a published table with its relation at the version that the table shows."""
    entry = work.log.latest()
    known = _known(entry.catalog, name)
    one = _publication(entry.catalog, known)
    state = entry.relations[known]
    table = None if one is None else publisher_of(work.log.folder, one, state).current()
    if one is None or table is None:
        raise _not_published(known)
    wanted = typed(reader_of(work, entry, known).rows(table.shown), table.shown)
    missing, extra = _differences(wanted, _rows_of(work, one, table, wanted.schema))
    return PublishedCheck(shown(known), _address(work, one), table.version, missing, extra)


def _rows_of(work: Workspace, one: Publication, table: PublishedTable, schema: pa.Schema) -> pa.Table:
    folder, path = one.home(work.log.folder)
    return pa.concat_tables([schema.empty_table(), *rows_left(folder, path, table.files, schema)])


def _differences(
    wanted: pa.Table, found: pa.Table
) -> tuple[tuple[dict[str, object], ...], tuple[dict[str, object], ...]]:
    names = tuple(wanted.column_names)
    plan = consolidated(weighted(minus(Reference("wanted", names), Reference("found", names))))
    rows = plan_rows(plan, {"wanted": wanted, "found": found}).to_pylist()
    missing = [row for row in rows if row[COUNT] > 0]
    extra = [row for row in rows if row[COUNT] < 0]
    return tuple(missing[:SHOWN]), tuple(extra[:SHOWN])


def check_publication(name: str, properties: Properties, draft: Draft) -> None:
    """Refuses a relation that is to be published, and that no Delta table can hold."""
    one = publication(name, properties)
    if one is not None:
        columns = published_columns(draft.relations[name])
        checked_columns(name, columns)
        checked_layout(name, one.layout, columns)


def reader_of(work: Workspace, entry: Entry, relation: str) -> StateReader:
    """Rows of a relation by Arrow, and by Spark under its settings where Arrow cannot tell them."""
    view = entry.catalog.views.get(relation)

    def under(told: Callable[[], T]) -> T:
        with nullcontext() if view is None else work.under(view):
            return told()

    return StateReader(
        States(work.log.folder),
        lambda state: under(lambda: rows_told(work.reader, state)),
        lambda old, new: under(lambda: signed_told(work.reader, old, new)),
        lambda state, place: under(lambda: files_told(work.reader, state, place)),
    )


def _with_properties(
    work: Workspace, operation: str, known: str, change: Callable[[Properties], tuple[tuple[str, str], ...]]
) -> Entry:
    """The entry in which a relation has other properties."""

    def build(base: Entry) -> Draft:
        draft, catalog = Draft(base, operation), base.catalog
        if known in catalog.views:
            view = replace(catalog.views[known], properties=change(catalog.views[known].properties))
            draft.put_view(view)
            check_publication(known, view.properties, draft)
        else:
            table = replace(catalog.tables[known], properties=change(catalog.tables[known].properties))
            draft.catalog = catalog.with_table(table)
            check_publication(known, table.properties, draft)
        return draft

    return commit_draft(work.log, build)


def _not_published(known: str) -> NotFound:
    return NotFound(f"{shown(known)} is not published.", hint="wh.publish(name) publishes it.", table=known)


def _known(catalog: Catalog, name: str) -> str:
    return catalog.schema(name).name


def _publication(catalog: Catalog, known: str) -> Publication | None:
    return next((one for one in publications(catalog) if one.relation == known), None)


def _address(work: Workspace, one: Publication) -> str:
    folder, table = one.home(work.log.folder)
    return folder.delta_address(table) if table else folder.url


__all__ = ["PublishedCheck", "follow", "places", "publish", "remove", "unpublish", "verify_published"]
