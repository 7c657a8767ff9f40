"""Where the files of a followed table are: below its folder, or anywhere that its log says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
from obstore.exceptions import NotFoundError

from viewkeeper.errors import MissingFile
from viewkeeper.storage.following.state import LISTING, OF_CATALOG, READ, Options
from viewkeeper.storage.footers import read_footer
from viewkeeper.storage.objects import Folder

if TYPE_CHECKING:
    from obstore import ObjectMeta


@lru_cache(maxsize=256)
def folder_of(address: str, options: Options) -> Folder:
    """The folder of a followed table, which is not made where there is none."""
    own = [o for o in options if not o[0].startswith((READ, OF_CATALOG)) and o[0] not in LISTING]
    return Folder(address, create=False, options=own)


@dataclass(frozen=True)
class Found:
    """A file that a folder has, with what tells it from another one of its path, and when it was written."""

    path: str
    size: int
    mark: str
    written: float


def found_in(folder: Folder) -> list[Found]:
    """The files below a folder, by their paths."""
    if not folder.is_local:
        items = (item for batch in obstore.list(folder.store) for item in batch)
        return sorted((_found(item) for item in items), key=lambda one: one.path)
    root = Path(folder.url)
    if not root.is_dir():
        raise MissingFile(f"There is no folder {root}.")
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return [_found_locally(path, path.relative_to(root).as_posix()) for path in paths]


def mark_of(folder: Folder, path: str) -> str | None:
    """What tells a file from another one of its path; None where it is gone."""
    try:
        if folder.is_local:
            return _found_locally(Path(folder.url, path), path).mark
        return _found(obstore.head(folder.store, path)).mark
    except (NotFoundError, FileNotFoundError):
        return None


def _found(item: ObjectMeta) -> Found:
    written = item["last_modified"]
    return Found(item["path"], item["size"], item["e_tag"] or written.isoformat(), written.timestamp())


def _found_locally(path: Path, name: str) -> Found:
    told = path.stat()
    return Found(name, told.st_size, str(told.st_mtime_ns), told.st_mtime)


def address_of(folder: Folder, path: str) -> str:
    """The full address of a file, as Spark wants it: a path of the log may be one."""
    if "://" in path:
        return path.replace("s3://", "s3a://", 1)
    return path if path.startswith("/") and folder.is_local else folder.address(path)


def size_of(folder: Folder, path: str) -> int | None:
    """The size of a file; None where it is gone."""
    own, name = _placed(folder, path)
    return own.size(name)


def content_of(folder: Folder, path: str) -> bytes:
    if folder.is_local:
        try:
            return Path(folder.url, path).read_bytes()
        except FileNotFoundError as error:
            raise MissingFile(f"The file {address_of(folder, path)} is missing.") from error
    own, name = _placed(folder, path)
    return own.read(name)


def footer(folder: Folder, path: str, size: int) -> pq.FileMetaData:
    """What a Parquet file tells of itself."""
    if folder.is_local:
        try:
            return pq.read_metadata(Path(folder.url, path))
        except (OSError, pa.ArrowException) as error:
            what = f"The data file {address_of(folder, path)} is missing or damaged."
            raise MissingFile(what, str(error)) from error
    own, name = _placed(folder, path)
    return read_footer(own, name, size)


def _placed(folder: Folder, path: str) -> tuple[Folder, str]:
    if "://" not in path:
        return folder, path
    parent, _, name = path.rpartition("/")
    return Folder(parent, create=False, options=folder.options), name
