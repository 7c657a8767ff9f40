"""The warehouse's folder on a disk or in an object store."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

from viewkeeper.errors import MissingFile, StorageError


class Folder:
    """Reads and writes below one URL. Paths are relative, with slashes."""

    def __init__(self, url: str, create: bool = True, options: Iterable[tuple[str, str]] = ()) -> None:
        self.store: ObjectStore
        self.options = tuple(options)
        self.is_local = "://" not in url or url.startswith("file://")
        if self.is_local:
            path = Path(url.removeprefix("file://")).absolute()
            self.url = str(path)
            try:
                self.store = LocalStore(path, mkdir=create)
            except (OSError, BaseError) as error:
                what = f"The folder {path} cannot be opened."
                raise StorageError(what, str(error), "Give the path of a folder.") from error
        else:
            self.url = url.rstrip("/")
            self.store = from_url(self.url, config=dict(self.options))  # type: ignore[call-overload]

    @staticmethod
    def local(url: str) -> Path:
        """The path of a folder on a disk, written in one way."""
        return Path(url.removeprefix("file://")).absolute()

    def address(self, path: str) -> str:
        """The full address of a path, as Spark wants it."""
        return f"{self.url.replace('s3://', 's3a://', 1)}/{path}"

    def delta_address(self, path: str) -> str:
        """The full address of a path, as the Delta library wants it."""
        return f"{self.url}/{path}"

    def create(self, path: str, content: bytes) -> bool:
        """Writes a new object; False when one of this name exists: of two writers one wins."""
        try:
            obstore.put(self.store, path, content, mode="create")
        except AlreadyExistsError:
            return False
        return True

    def replace(self, path: str, content: bytes) -> None:
        obstore.put(self.store, path, content)

    def read(self, path: str) -> bytes:
        try:
            return bytes(obstore.get(self.store, path).bytes())
        except (NotFoundError, FileNotFoundError) as error:
            raise MissingFile(f"The file {self.address(path)} is missing.") from error

    def listed(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Every object below the prefix, as path and size."""
        for batch in obstore.list(self.store, prefix=prefix):
            for item in batch:
                yield item["path"], item["size"]

    def listed_after(self, prefix: str, start: str) -> list[str]:
        """The objects of a folder whose paths sort after `start`."""
        found = [
            item["path"] for batch in obstore.list(self.store, prefix=prefix, offset=start) for item in batch
        ]
        return sorted(found)

    def size(self, path: str) -> int | None:
        """The size of an object; None when there is none."""
        try:
            if self.is_local:
                return Path(self.url, path).stat().st_size
            return obstore.head(self.store, path)["size"]
        except (NotFoundError, FileNotFoundError):
            return None

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            try:
                obstore.delete(self.store, path)
            except (NotFoundError, FileNotFoundError):
                continue

    def range(self, path: str, start: int, end: int) -> bytes:
        return bytes(obstore.get_range(self.store, path, start=start, end=end))


def join(*parts: str) -> str:
    return posixpath.join(*parts)
