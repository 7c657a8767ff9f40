"""What changed between two versions of a Delta table, as parts of its files that came and went.

    by files      Σ files of the new version  −  Σ files of the old one
    by commits    Σ over the commits between: files added − files removed, of those that changed data;
                  of a commit that has a change feed, its feed, where that is smaller

Both are the same bag. Commits that only move rows to other files cost nothing by commits; many commits that
rewrote one file cost little by files. A file that got another deletion vector has changed in the rows that
only one of the two vectors names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from viewkeeper.algebra.schema import COUNT
from viewkeeper.errors import MissingFile
from viewkeeper.storage.deletion_vectors import rows_of
from viewkeeper.storage.following.delta_actions import Added, added, commit
from viewkeeper.storage.following.delta_files import data_file, rows_held, some_rows
from viewkeeper.storage.following.delta_snapshot import Key, Snapshot
from viewkeeper.storage.following.formats import SourceDifference
from viewkeeper.storage.following.places import content_of, mark_of, size_of
from viewkeeper.storage.following.state import SourceField
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile

BY_FILES, BY_COMMITS, BY_FEED = "files", "commits", "change feed"


@dataclass(frozen=True)
class _Between:
    """What differences are made with."""

    folder: Folder
    fields: tuple[SourceField, ...]
    number: int

    def whole(self, file: Added, sign: int) -> DataFile:
        return data_file(file, self.fields, rows_held(self.folder, file), sign, self.number)


def difference(
    folder: Folder, old: Snapshot, new: Snapshot, fields: tuple[SourceField, ...], number: int
) -> SourceDifference:
    """The cheaper of the two whose files are all there; raises MissingFile where neither's are.

    `number` is the version of the warehouse that records it.
    """
    between = _Between(folder, fields, number)
    ways: tuple[Callable[[], SourceDifference], ...] = (
        lambda: _by_commits(between, old, new),
        lambda: by_files(folder, old.files, new.files, fields, number),
    )
    found, problem = [], None
    for way in ways:
        try:
            one = way()
            must_be_there(folder, one.files)
            found.append(one)
            if not one.files:
                break
        except MissingFile as error:
            problem = error
    if not found:
        assert problem is not None
        raise problem
    return min(found, key=lambda one: one.rows_held)


def must_be_there(folder: Folder, files: Iterable[DataFile]) -> None:
    """Raises where a file is gone, or is not as long as the log says."""
    files = tuple(files)
    wanted = {file.path: file.bytes for file in files}
    with ThreadPoolExecutor(8) as pool:
        sizes = pool.map(lambda path: size_of(folder, path), wanted)
    for (path, size), found in zip(wanted.items(), sizes, strict=True):
        if found != size:
            raise MissingFile(
                f"The data file {folder.address(path)} is missing or damaged.",
                f"It should have {size} bytes and has {found if found is not None else 'none'}.",
                "VACUUM removes files that no recent version has.",
            )
    for file in files:
        mark = None if file.part is None else file.part.mark
        if mark is not None and mark_of(folder, file.path) != mark:
            raise MissingFile(f"The file {folder.address(file.path)} has changed since it was recorded.")


def by_files(
    folder: Folder,
    old: Mapping[Key, Added],
    new: Mapping[Key, Added],
    fields: tuple[SourceField, ...],
    number: int,
) -> SourceDifference:
    """From the files of two versions."""
    gone = [(-1, file) for key, file in old.items() if key not in new]
    came = [(1, file) for key, file in new.items() if key not in old]
    between = _Between(folder, fields, number)
    return SourceDifference(tuple(_netted(between, (*gone, *came))), BY_FILES)


def _by_commits(between: _Between, old: Snapshot, new: Snapshot) -> SourceDifference:
    """From the commits between the two; raises MissingFile where one is cleaned up, or goes back in time."""
    if new.version < old.version:
        raise MissingFile(f"Version {new.version} is older than {old.version}.")
    present, moved, feeds = dict(old.files), list[tuple[int, Added]](), list[DataFile]()
    for version in range(old.version + 1, new.version + 1):
        own, feed = _of_commit(between, present, version)
        if feed and sum(file.size for file in feed) < sum(file.size for _, file in own):
            feeds += [_feed(between, file) for file in feed]
        else:
            moved += own
    how = BY_FEED if feeds else BY_COMMITS
    return SourceDifference((*_netted(between, moved), *feeds), how)


def _of_commit(
    between: _Between, present: dict[Key, Added], version: int
) -> tuple[list[tuple[int, Added]], list[Added]]:
    """The files with other rows that came and went in a commit, and its change feed; `present` goes on."""
    moved, feed, root = list[tuple[int, Added]](), list[Added](), between.folder.url
    for action in commit(between.folder, version):
        if named := action.get("add"):
            file = added(named, root)
            if file.key not in present and file.data_change:
                moved.append((1, file))
            present[file.key] = file
        elif named := action.get("remove"):
            known = present.pop(added(named, root).key, None)
            if known is not None and named.get("dataChange", True):
                moved.append((-1, known))
        elif named := action.get("cdc"):
            feed.append(added(named, root))
    return moved, feed


def _feed(between: _Between, file: Added) -> DataFile:
    """A file of a change feed, whose rows say themselves whether they came or went."""
    found = data_file(file, between.fields, rows_held(between.folder, file), 0, between.number)
    return replace(found, ranges={**found.ranges, COUNT: (-1, 1)})


def _netted(between: _Between, moved: Iterable[tuple[int, Added]]) -> Iterable[DataFile]:
    """What is left of files that came and went, file by file; of two vectors, what only one of them names."""
    by_path: dict[str, Counter[Key]] = defaultdict(Counter)
    known = {}
    for sign, file in moved:
        by_path[file.path][file.key] += sign
        known[file.key] = file
    for counts in by_path.values():
        gone = [known[key] for key, count in counts.items() for _ in range(-count)]
        came = [known[key] for key, count in counts.items() for _ in range(count)]
        while gone and came:
            yield from _between_vectors(between, gone.pop(), came.pop())
        left = [between.whole(file, sign) for sign, files in ((-1, gone), (1, came)) for file in files]
        yield from (file for file in left if file.rows)


def _between_vectors(between: _Between, old: Added, new: Added) -> Iterable[DataFile]:
    """The rows that the new vector deletes and the old one does not, and the other way round."""
    before, after = (
        rows_of(one.vector, lambda path: content_of(between.folder, path)) if one.vector else None
        for one in (old, new)
    )
    for sign, file, within, without, mine, other in (
        (-1, old, new.vector, old.vector, after, before),
        (1, new, old.vector, new.vector, before, after),
    ):
        if within is not None and mine is not None:
            rows = len(mine if other is None else mine - other)
            if rows:
                yield some_rows(between.whole(file, sign), within, without, rows)
