"""Following Iceberg tables (`formats.py` says what that asks for): catalogs and manifests by `pyiceberg`.

A version is the sequence number of a snapshot. A snapshot's files, with the rows that position deletes and
deletion vectors take out of them, are compared with those of another one, as versions of Delta tables are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from viewkeeper.errors import InvalidOption, MissingFile, NotFound, Unsupported
from viewkeeper.storage.following.delta_difference import by_files
from viewkeeper.storage.following.delta_files import data_file, rows_held
from viewkeeper.storage.following.formats import Observed, SourceDifference, no_such_version
from viewkeeper.storage.following.iceberg_files import Key, files_of_snapshot, plain_path
from viewkeeper.storage.following.iceberg_schema import schema_of
from viewkeeper.storage.following.places import folder_of
from viewkeeper.storage.following.state import OF_CATALOG, Followed, Options
from viewkeeper.storage.relation import DataFile

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from viewkeeper.storage.following.delta_actions import Added

TABLE, NAME = f"{OF_CATALOG}table", f"{OF_CATALOG}catalog"
"""Options that say which table of which catalog is followed; other ones of theirs are the catalog's own."""


class IcebergFormat:
    """Iceberg tables, by their catalogs."""

    def newest(self, address: str, options: Options, known: Followed | None = None) -> int:
        table = table_of(options)
        current = table.metadata.current_snapshot()
        return 0 if current is None else _version(table, current)

    def observed(
        self, address: str, options: Options, version: int, known: Followed | None = None
    ) -> Observed:
        table = table_of(options)
        current = table.metadata.current_snapshot()
        snapshot = _numbered(table, version)
        schema = table.schema()
        if snapshot is not None and snapshot != current and snapshot.schema_id is not None:
            schema = table.schemas()[snapshot.schema_id]
        columns, fields = schema_of(schema, _name(options))
        told = "" if snapshot is None else str(snapshot.snapshot_id)
        identity = str(table.metadata.table_uuid)
        return Observed(
            Followed("iceberg", place_of(table), version, identity, told, fields, options), columns
        )

    def files(self, followed: Followed) -> tuple[DataFile, ...]:
        folder = folder_of(followed.address, followed.options)
        own = _recorded(followed).values()
        return tuple(data_file(file, followed.fields, rows_held(folder, file)) for file in own)

    def difference(self, old: Followed, new: Followed, number: int) -> SourceDifference:
        folder = folder_of(new.address, new.options)
        return by_files(folder, _recorded(old), _recorded(new), new.fields, number)


def table_of(options: Options) -> Table:
    """The table as its catalog has it now."""
    try:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchTableError
    except ImportError as error:
        raise Unsupported(
            "Iceberg tables are followed by pyiceberg, which is not installed.",
            str(error),
            "Install viewkeeper[iceberg].",
        ) from error
    given = {n.removeprefix(OF_CATALOG): value for n, value in options if n.startswith(OF_CATALOG)}
    name, catalog = given.pop("table"), given.pop("catalog", "default")
    try:
        return load_catalog(catalog, **given).load_table(name)
    except NoSuchTableError as error:
        raise NotFound(f"There is no Iceberg table {name} in the catalog {catalog}.", str(error)) from error
    except (ValueError, KeyError) as error:
        raise InvalidOption(
            f"The Iceberg catalog {catalog} cannot be opened.",
            str(error),
            "Give its properties as storage_options, such as type and uri, or configure pyiceberg.",
        ) from error


def place_of(table: Table) -> str:
    """The folder of a table."""
    return plain_path(table.location())


def _name(options: Options) -> str:
    return dict(options)[TABLE]


def _version(table: Table, snapshot: Snapshot) -> int:
    if not snapshot.sequence_number:
        raise Unsupported(
            f"The Iceberg table {'.'.join(table.name())} is of version 1 of the format.",
            "Its snapshots have no sequence numbers.",
            "Upgrade it: set the property format-version to 2.",
        )
    return int(snapshot.sequence_number)


def _numbered(table: Table, version: int) -> Snapshot | None:
    """The snapshot of a version; None of a table that has had none."""
    if version == 0:
        return None
    found = [one for one in table.metadata.snapshots if one.sequence_number == version]
    if not found:
        raise MissingFile(
            f"The Iceberg table {'.'.join(table.name())} has no snapshot {version}.",
            "It has expired, or never was.",
            "Ask for a snapshot that is there.",
        )
    return found[0]


def _recorded(followed: Followed) -> Mapping[Key, Added]:
    """The files of the snapshot that was recorded, if it still is there."""
    if not followed.digest:
        return {}
    return _files(followed.options, followed.identity, int(followed.digest), followed)


@lru_cache(maxsize=64)
def _files(options: Options, identity: str, number: int, followed: Followed) -> Mapping[Key, Added]:
    table = table_of(options)
    if str(table.metadata.table_uuid) != identity:
        raise no_such_version(followed)
    snapshot = table.snapshot_by_id(number)
    if snapshot is None:
        raise MissingFile(
            f"The snapshot {followed.version} of {_name(options)} has expired.",
            "What has changed since then cannot be found out.",
            "Refresh more often than snapshots expire.",
        )
    return files_of_snapshot(table, snapshot, followed.fields)


def catalog_options(name: str, given: Iterable[tuple[str, Any]], storage: tuple[str, ...]) -> dict[str, str]:
    """Options of a table of a catalog, apart from those that open its storage."""
    own = {key if key.lower().startswith(storage) else f"{OF_CATALOG}{key}": str(v) for key, v in given}
    return {TABLE: name, **own}
