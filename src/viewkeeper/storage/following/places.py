"""Where the files of a followed table are: below its folder, or anywhere that its log says."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from viewkeeper.errors import MissingFile
from viewkeeper.storage.following.state import Options
from viewkeeper.storage.footers import read_footer
from viewkeeper.storage.objects import Folder


@lru_cache(maxsize=256)
def folder_of(address: str, options: Options) -> Folder:
    """The folder of a followed table, which is not made where there is none."""
    return Folder(address, create=False, options=options)


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
