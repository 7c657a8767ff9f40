"""The formats that are known, by the name that `USING` gives them."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.errors import InvalidOption
from viewkeeper.storage.following.delta_format import DeltaFormat
from viewkeeper.storage.following.folder_format import FolderFormat
from viewkeeper.storage.following.formats import Format
from viewkeeper.storage.following.iceberg_format import IcebergFormat
from viewkeeper.storage.following.state import Followed
from viewkeeper.storage.relation import DataFile, RelationState

FOLDERS = {kind: FolderFormat(kind) for kind in ("parquet", "csv", "json")}
FORMATS: dict[str, Format] = {"delta": DeltaFormat(), "iceberg": IcebergFormat(), **FOLDERS}


def format_of(name: str) -> Format:
    found = FORMATS.get(name.lower())
    if found is None:
        raise InvalidOption(
            f"Tables of the format {name} cannot be followed.",
            f"Those of {', '.join(FORMATS)} can.",
            "Load it with create_table instead.",
        )
    return found


def files_of(followed: Followed) -> tuple[DataFile, ...]:
    """The files of the version that was recorded."""
    return format_of(followed.format).files(followed)


def recorded(state: RelationState) -> Followed:
    """What is recorded of the table that a relation follows."""
    assert state.followed is not None
    return state.followed


def versions_behind(state: RelationState) -> int:
    """How many versions a followed table has that are not recorded."""
    known = recorded(state)
    return format_of(known.format).newest(known.address, known.options, known) - known.version


def in_the_form_of(new: RelationState, old: RelationState) -> RelationState:
    """A followed table as it was, with the columns that have been added since: its rows have NULL there."""
    if old.followed is None or new.followed is None or not set(old.names) < set(new.names):
        return old
    return replace(old, columns=new.columns, followed=replace(old.followed, fields=new.followed.fields))
