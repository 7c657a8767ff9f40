"""Following folders of files, such as landing zones (`formats.py` says what that asks for).

A folder has no log: which files it had is recorded here, with the size and the mark (time or etag) of each.

    Δ(folder)  =  rows(files that came)        files that changed or vanished: an error, or all views anew

Rows of files that are not there any more cannot be read, so that nothing can be said of what they took with
them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from math import inf
from urllib.parse import unquote

from viewkeeper.algebra.inner_names import inner_column, shown
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.errors import InvalidOption, MissingFile, NotFound, StorageError
from viewkeeper.storage.following.formats import Observed, SourceDifference
from viewkeeper.storage.following.places import Found, content_of, folder_of, footer, found_in
from viewkeeper.storage.following.state import FilePart, Followed, Listed, Options, SourceField
from viewkeeper.storage.footers import columns_with_nulls, json_range, ranges
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile

ON_CHANGE, SETTLE = "on_change", "settle"
"""What becomes of a file that changed or vanished, `error` or `replace`; and for how many seconds a file that
was written is left alone, since it may not be whole."""

_UNFINISHED = (".tmp", ".part", ".crdownload", ".inprogress", "._copying_")


@dataclass(frozen=True)
class FolderFormat:
    """Folders of files of one kind: parquet, csv or json."""

    kind: str

    def newest(self, address: str, options: Options, known: Followed | None = None) -> int:
        """How often the folder had changed when it was looked at, this time among them."""
        if known is None:
            return 0
        before = {(file.path, file.mark) for file in known.listed}
        return known.version + (_seen(address, options, known) != before)

    def observed(
        self, address: str, options: Options, version: int, known: Followed | None = None
    ) -> Observed:
        assert known is not None, "a folder is begun to be followed by `begun`"
        if version == known.version:
            return Observed(replace(known, how=""), _columns(known.fields))
        if version != known.version + 1:
            raise InvalidOption(
                f"The folder {address} cannot be brought to version {version}.",
                "A folder has no versions of its own: it is what it is now.",
                "Leave it out; `wh.table(name, version=…)` shows what was recorded before.",
            )
        listed = self._listed(address, options, known.fields, known.listed)
        gone = _gone(known, listed)
        if gone is not None and dict(options).get(ON_CHANGE, "error") == "error":
            raise gone
        return Observed(replace(known, version=version, listed=listed, how=""), _columns(known.fields))

    def begun(self, address: str, options: Options, columns: Sequence[Column]) -> Observed:
        """The folder as it is first recorded, with columns that were declared or inferred."""
        partitions = {name.lower(): name for name in partition_names(address, options)}
        own = tuple(replace(column, name=inner_column(shown(column.name))) for column in columns)
        fields = tuple(_field(column, partitions.get(shown(column.name).lower())) for column in own)
        listed = self._listed(address, options, fields, ())
        return Observed(Followed(self.kind, address, 0, "", "", fields, options, listed=listed), own)

    def files(self, followed: Followed) -> tuple[DataFile, ...]:
        return tuple(_data_file(file, followed) for file in followed.listed)

    def difference(self, old: Followed, new: Followed, number: int) -> SourceDifference:
        gone = _gone(old, new.listed)
        if gone is not None:
            raise gone
        known = {(file.path, file.mark) for file in old.listed}
        came = (file for file in new.listed if (file.path, file.mark) not in known)
        return SourceDifference(tuple(_data_file(file, new, number) for file in came), "new files")

    def _listed(
        self, address: str, options: Options, fields: Sequence[SourceField], known: Iterable[Listed]
    ) -> tuple[Listed, ...]:
        """The files of the folder; those that are new are asked how many rows they have."""
        folder, before = folder_of(address, options), {(file.path, file.mark): file for file in known}
        names = [field.physical for field in fields if field.partition]
        others = {field.physical.lower() for field in fields if not field.partition}
        has_header = dict(options).get("read:header", "").lower() == "true"

        def listed(found: Found) -> Listed:
            old = before.get((found.path, found.mark))
            if old is not None:
                return old
            values = tuple((name, _partition(found.path, name, folder)) for name in names)
            _must_be_in_files(folder, found.path, others)
            if self.kind == "parquet":
                return _of_parquet(folder, found, values)
            return Listed(found.path, found.size, found.mark, _lines(folder, found.path, has_header), values)

        recorded = frozenset(path for path, _ in before)
        with ThreadPoolExecutor(8) as pool:
            return tuple(pool.map(listed, whole_files(address, options, recorded)))


def whole_files(address: str, options: Options, recorded: Collection[str] = ()) -> list[Found]:
    """The files of a folder that are meant to be read, by their paths: not hidden, not empty, and not too new
    if a time to settle is asked for and they are not recorded. Clocks of stores may be ahead of ours."""
    settle = float(dict(options).get(SETTLE, 0))
    latest = time.time() - settle if settle else inf
    try:
        found = list(found_in(folder_of(address, options)))
    except (StorageError, OSError) as error:
        raise NotFound(f"There is no folder at {address}.", str(error)) from error
    settled = (one for one in found if one.written <= latest or one.path in recorded)
    return [one for one in settled if one.size and not is_hidden(one.path)]


def is_hidden(path: str) -> bool:
    """Whether Spark would pass over a file, or its writer has not finished it."""
    *folders, name = path.split("/")
    is_own = name.startswith(("_", ".")) or name.lower().endswith(_UNFINISHED)
    return is_own or any(part.startswith((".", "_")) and "=" not in part for part in folders)


def partition_names(address: str, options: Options) -> tuple[str, ...]:
    """The columns that are named by folders, as in `day=2026-03-01/part-0.csv`."""
    first = next(iter(whole_files(address, options)), None)
    parts = [] if first is None else first.path.split("/")[:-1]
    return tuple(part.partition("=")[0] for part in parts if "=" in part)


def partition_columns(address: str, options: Options) -> tuple[Column, ...]:
    """The same with types that all values have: whole numbers, dates, or else texts."""
    folder, names = folder_of(address, options), partition_names(address, options)
    paths = [file.path for file in whole_files(address, options)]
    values = {name: [_partition(path, name, folder) for path in paths] for name in names}
    return tuple(Column(name, _type_of(values[name])) for name in names)


def _field(column: Column, partition: str | None) -> SourceField:
    return SourceField(
        column.name, partition or shown(column.name), column.type, partition=partition is not None
    )


def _must_be_in_files(folder: Folder, path: str, names: set[str]) -> None:
    """Refuses a file whose folder names a column that files before had themselves."""
    for part in path.split("/")[:-1]:
        if part.partition("=")[0].lower() in names and "=" in part:
            raise StorageError(
                f"The file {folder.address(path)} is in a folder {part}.",
                "That names a column, which the first files of the folder had themselves.",
                "Drop the table and follow the folder anew, or move the file.",
            )


def _type_of(values: Iterable[str | None]) -> str:
    known = [value for value in values if value is not None]
    if known and all(value.removeprefix("-").isdecimal() and len(value) < 10 for value in known):
        return "int"
    try:
        return "date" if known and all(date.fromisoformat(v).isoformat() == v for v in known) else "string"
    except ValueError:
        return "string"


def _partition(path: str, name: str, folder: Folder) -> str | None:
    found = dict(part.split("=", 1) for part in path.split("/")[:-1] if "=" in part)
    if name not in found:
        raise StorageError(
            f"The file {folder.address(path)} is not in a folder {name}=….",
            "The first file of the folder is: all must be.",
            "Move it, or give it a folder of its own.",
        )
    value = unquote(found[name])
    return None if value == "__HIVE_DEFAULT_PARTITION__" else value


def _seen(address: str, options: Options, known: Followed) -> set[tuple[str, str]]:
    recorded = frozenset(file.path for file in known.listed)
    return {(file.path, file.mark) for file in whole_files(address, options, recorded)}


def _columns(fields: Iterable[SourceField]) -> tuple[Column, ...]:
    return tuple(Column(field.name, field.type) for field in fields)


def _gone(old: Followed, listed: Iterable[Listed]) -> StorageError | None:
    """A file that is not what it was, as an error that names it."""
    now = {file.path: file.mark for file in listed}
    for file in old.listed:
        if now.get(file.path) == file.mark:
            continue
        what = "has changed" if file.path in now else "has vanished"
        kind = StorageError if file.path in now else MissingFile
        return kind(
            f"The file {folder_of(old.address, old.options).address(file.path)} {what} since it was read.",
            "Its rows are in views, and cannot be read any more to take them out.",
            "Put it back, or follow the folder with on_change = 'replace': views are then made anew.",
        )
    return None


def _of_parquet(folder: Folder, found: Found, values: tuple[tuple[str, str | None], ...]) -> Listed:
    metadata = footer(folder, found.path, found.size)
    own = tuple((name, pair) for name, pair in ranges(metadata).items())
    nulls = tuple(sorted(columns_with_nulls(metadata)))
    return Listed(found.path, found.size, found.mark, int(metadata.num_rows), values, own, nulls)


def _lines(folder: Folder, path: str, has_header: bool) -> int:
    """About how many rows a text has, one at least: what is told of it, and nothing else, goes by that."""
    content = content_of(folder, path)
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    return max(1, lines - has_header)


def _data_file(file: Listed, followed: Followed, commit: int | None = None) -> DataFile:
    values, own = dict(file.partition), dict(file.ranges)
    for field in followed.fields:
        value = values.get(field.physical)
        pair = None if value is None else _range_of(field, value)
        if field.partition and pair is not None:
            own[field.name] = pair
    unknown = {field.name for field in followed.fields if followed.is_text and not field.partition}
    missing = {field.name for field in followed.fields if field.partition and values[field.physical] is None}
    part = FilePart(1, file.rows, file.partition, commit=commit, mark=file.mark)
    nulls = frozenset({*file.nulls, *unknown, *missing})
    return DataFile(file.path, file.rows, file.size, {**own, COUNT: (1, 1)}, nulls, part)


def _range_of(field: SourceField, value: str) -> tuple[object, object] | None:
    if field.type in ("tinyint", "smallint", "int", "bigint"):
        return (int(value), int(value)) if value.removeprefix("-").isdecimal() else None
    return json_range(value, value) if field.type in ("date", "string") else None
