"""The warehouse's folder on a disk or in an object store."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore

from viewkeeper.errors import MissingFile, StorageError
from viewkeeper.storage.stores import hadoop_url, is_remote, opened_store, options_of, plain_url


class Folder:
    """Reads and writes below one URL. Paths are relative, with slashes."""

    def __init__(self, url: str, create: bool = True, options: Iterable[tuple[str, str]] = ()) -> None:
        self.store: ObjectStore
        self.options = options_of(dict(options))
        self.is_local = not is_remote(url)
        if self.is_local:
            path = Path(url.removeprefix("file://")).absolute()
            self.url = str(path)
            try:
                self.store = LocalStore(path, mkdir=create)
            except (OSError, BaseError) as error:
                what = f"The folder {path} cannot be opened."
                raise StorageError(what, str(error), "Give the path of a folder.") from error
        else:
            self.url = plain_url(url)
            self.store = opened_store(self.url, self.options)

    def beside(self, url: str) -> Folder:
        """Another folder, opened with the same options."""
        return Folder(url, options=self.options)

    @property
    def delta_options(self) -> dict[str, str] | None:
        """The options by which the Delta library opens what is here."""
        return None if self.is_local else dict(self.options)

    @staticmethod
    def local(url: str) -> Path:
        """The path of a folder on a disk, written in one way."""
        return Path(url.removeprefix("file://")).absolute()

    def address(self, path: str) -> str:
        """The full address of a path, as Spark wants it."""
        return f"{self.url if self.is_local else hadoop_url(self.url)}/{path}"

    def delta_address(self, path: str) -> str:
        """The full address of a path, as the Delta library wants it."""
        return f"{self.url}/{path}"

    def create(self, path: str, content: bytes) -> bool:
        """Writes a new object; False when one of this name exists: of two writers one wins.

        A request that was answered too late is sent again, and then finds its own object.
        """
        try:
            obstore.put(self.store, path, content, mode="create")
        except AlreadyExistsError:
            return not self.is_local and self.read(path) == content
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

    def delete(self, paths: Sequence[str]) -> None:
        """Deletes what is there of some objects, in this order; of an object store in few requests."""
        if not self.is_local and len(paths) > 1:
            with suppress(NotFoundError, FileNotFoundError):
                obstore.delete(self.store, list(paths))
                return
        for path in paths:
            try:
                obstore.delete(self.store, path)
            except (NotFoundError, FileNotFoundError):
                continue

    def opened(self, path: str) -> Opened:
        """An object to read from, here and there."""
        size = self.size(path)
        if size is None:
            raise MissingFile(f"The file {self.address(path)} is missing.")
        return Opened(self, path, size)

    def range(self, path: str, start: int, end: int) -> bytes:
        return bytes(obstore.get_range(self.store, path, start=start, end=end))


class Opened(io.RawIOBase):
    """An object as a file: each read is one request for so many bytes."""

    def __init__(self, folder: Folder, path: str, size: int) -> None:
        self._folder, self._path, self.size, self._at = folder, path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self.size if size is None or size < 0 else min(self.size, self._at + size)
        start, self._at = self._at, max(end, self._at)
        return self._folder.range(self._path, start, end) if start < end else b""


def join(*parts: str) -> str:
    return posixpath.join(*parts)
