"""What a stored relation is: a main Delta table, an overlay of small layers, and a log of changes.

    value = main ⊕ overlay₁ ⊕ … ⊕ overlayₙ

`log` lists the changes of the newest commits, whether or not they have been folded into main.
All of it is plain immutable data that a warehouse log entry carries as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.merge.spec import IdDiff, MergeSpec
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.storage.following.state import FilePart, Followed


@dataclass(frozen=True)
class DataFile:
    """One Parquet file, relative to its relation's folder, with what its footer tells.

    `ranges` hold the least and greatest value of a column, NULLs left out; `nulls` names the
    columns that have some. `part` is set where the file is somebody else's: then its path is theirs.
    """

    path: str
    rows: int
    bytes: int
    ranges: Mapping[str, tuple[Any, Any]] = field(default_factory=dict, hash=False, compare=False)
    nulls: frozenset[str] = field(default=frozenset(), hash=False, compare=False)
    part: FilePart | None = None

    @property
    def held(self) -> int:
        """The rows that a read of the file goes through."""
        return self.rows if self.part is None else self.part.held

    def to_json(self) -> list[Any]:
        ranges = {name: list(pair) for name, pair in self.ranges.items()}
        part = [] if self.part is None else [self.part.to_json()]
        return [self.path, self.rows, self.bytes, ranges, sorted(self.nulls), *part]

    @staticmethod
    def from_json(data: list[Any]) -> DataFile:
        path, rows, size, ranges, nulls, *part = data
        pairs = {name: (low, high) for name, (low, high) in ranges.items()}
        own = FilePart.from_json(part[0]) if part else None
        return DataFile(path, rows, size, pairs, frozenset(nulls), own)


@dataclass(frozen=True)
class Layer:
    """The changes that one commit appended; `replaces`: keyed rows here overwrite, not add.

    `diff` is set where the layer names the relation's rows by IDs: it says which, and what becomes of them.
    `updates` is set on a layer of a keyed table that only updates rows: the columns that may have changed.
    `last_copies` says that no copy is left of any row that the layer deletes. `whole`: the rows of a keyed
    layer are all that there are, so that nothing before it matters.
    """

    commit: int
    files: tuple[DataFile, ...]
    replaces: bool = False
    diff: IdDiff | None = None
    updates: tuple[str, ...] | None = None
    last_copies: bool = False
    whole: bool = False

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def only_inserts(self) -> bool:
        """Whether every row of a signed layer has a positive count, as its footers tell."""
        return all(file.rows == 0 or file.ranges.get(COUNT, (-1, 0))[0] > 0 for file in self.files)

    @property
    def only_deletes(self) -> bool:
        """Whether every row of a signed layer has a negative count, as its footers tell."""
        return all(file.rows == 0 or file.ranges.get(COUNT, (0, 1))[1] < 0 for file in self.files)

    def to_json(self) -> dict[str, Any]:
        return self._json

    @cached_property
    def _json(self) -> dict[str, Any]:
        """Put together once: every later entry of the log names the layer too."""
        diff = {} if self.diff is None else {"diff": self.diff.to_json()}
        updates = {} if self.updates is None else {"updates": list(self.updates)}
        marks = {mark: True for mark in ("last_copies", "whole") if getattr(self, mark)}
        return {
            "commit": self.commit,
            "files": [file.to_json() for file in self.files],
            "replaces": self.replaces,
            **diff,
            **updates,
            **marks,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Layer:
        files = tuple(DataFile.from_json(file) for file in data["files"])
        diff = IdDiff.from_json(data["diff"]) if "diff" in data else None
        updates = tuple(data["updates"]) if "updates" in data else None
        marks = data.get("last_copies", False), data.get("whole", False)
        return Layer(data["commit"], files, data["replaces"], diff, updates, *marks)


@dataclass(frozen=True)
class RelationState:
    """A relation at one commit. `merge` is None for bags: signed rows whose counts add up.

    `key` tells the rows of a bag apart. A view that has one may have layers that are ID-based diffs: then its
    signed layers are what they insert and delete by that key.

    `followed` is set where main is a version of a table that others own; its folder then holds nothing that
    lasts. `clock` is what the relation shows where it is a clock: one row, and no file.
    """

    folder: str
    columns: tuple[Column, ...]
    main_version: int
    main_rows: int
    merge: MergeSpec | None = None
    key: tuple[str, ...] = ()
    overlay: tuple[Layer, ...] = ()
    log: tuple[Layer, ...] = ()
    complete_since: int = 0
    """The log holds every change after this commit; older ones are gone or were a replacement."""
    followed: Followed | None = None
    clock: str | None = None

    @property
    def is_stored(self) -> bool:
        """Whether its rows are in files of its folder."""
        return self.followed is None and self.clock is None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def overlay_rows(self) -> int:
        return sum(layer.rows for layer in self.overlay)

    @property
    def stored_rows(self) -> int:
        """The rows of the files that a read of the relation goes through."""
        whole = sum(layer.rows for layer in self.since_whole)
        return whole or self.main_rows + self.overlay_rows

    @property
    def groups(self) -> int:
        """About how many rows a reader sees of a keyed relation: layers mostly name rows that are there."""
        rows = [layer.rows for layer in self.since_whole or self.overlay]
        return max(rows) if self.since_whole else max([self.main_rows, *rows])

    @property
    def since_whole(self) -> tuple[Layer, ...]:
        """The layers from the last one on that holds all rows; none where no layer does."""
        whole = [number for number, layer in enumerate(self.overlay) if layer.whole]
        return self.overlay[whole[-1] :] if whole else ()

    @property
    def has_pending_deletes(self) -> bool:
        """Whether reading the bag without counts would need a merge."""
        is_bag = self.merge is None and not self.has_diffs
        return is_bag and not all(layer.only_inserts for layer in self.overlay)

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that tell the rows apart; none of a bag without a key."""
        return self.key if self.merge is None else self.merge.key

    @property
    def has_null_keys(self) -> bool:
        """Whether a column of the key may be NULL: those of tables never are, IDs of a union may."""
        return any(column.nullable for column in self.columns if column.name in self.key)

    @property
    def is_identified(self) -> bool:
        """Whether all layers name rows by IDs."""
        return self.merge is not None and self.merge.identified

    @property
    def has_diffs(self) -> bool:
        """Whether some layers name rows by IDs."""
        return any(layer.diff is not None for layer in self.overlay)

    @property
    def has_gone_rows(self) -> bool:
        """Whether the files of the relation hold rows that a reader does not see."""
        return self.has_pending_deletes or self.has_diffs or (self.merge is not None and bool(self.overlay))

    @property
    def deletes_whole_rows(self) -> bool:
        """Whether no layer of the bag leaves a copy of what it deletes; with a key there never is one."""
        return bool(self.key) or all(layer.last_copies or layer.only_inserts for layer in self.overlay)

    @property
    def newest(self) -> int:
        """The last commit that changed the relation, as far as it knows."""
        return max([self.complete_since, *(layer.commit for layer in self.log)])

    def changes_after(self, commit: int) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.log if layer.commit > commit)

    def forgetting(self, commit: int) -> RelationState:
        """The state without the log of this commit and of those before it."""
        kept = self.changes_after(commit)
        if len(kept) == len(self.log):
            return self
        gone = max(layer.commit for layer in self.log if layer.commit <= commit)
        return replace(self, log=kept, complete_since=max(self.complete_since, gone))

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": self.folder,
            "columns": [c.to_json() for c in self.columns],
            "main_version": self.main_version,
            "main_rows": self.main_rows,
            "merge": self.merge.to_json() if self.merge else None,
            "key": list(self.key),
            "overlay": [layer.to_json() for layer in self.overlay],
            "log": [layer.to_json() for layer in self.log],
            "complete_since": self.complete_since,
            **({} if self.followed is None else {"followed": self.followed.to_json()}),
            **({} if self.clock is None else {"clock": self.clock}),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RelationState:
        return RelationState(
            folder=data["folder"],
            columns=tuple(Column(*column) for column in data["columns"]),
            main_version=data["main_version"],
            main_rows=data["main_rows"],
            merge=MergeSpec.from_json(data["merge"]) if data["merge"] else None,
            key=tuple(data["key"]),
            overlay=tuple(Layer.from_json(layer) for layer in data["overlay"]),
            log=tuple(Layer.from_json(layer) for layer in data["log"]),
            complete_since=data["complete_since"],
            followed=Followed.from_json(data.get("followed")),
            clock=data.get("clock"),
        )


PLACES = 1000
"""At most so many layers of a relation come from one commit."""


def sequence(commit: int, number: int = PLACES - 1) -> int:
    """The place of a layer of a commit in the order of layers; the last one of it, if no number is given."""
    return commit * PLACES + number


def layers_between(old: RelationState, new: RelationState) -> tuple[Layer, ...]:
    """The changes that lead from one state of a relation to another."""
    known = {layer.files for layer in old.log}
    return tuple(layer for layer in new.log if layer.files not in known)


def by_schema(layers: Iterable[Layer]) -> dict[IdDiff, tuple[Layer, ...]]:
    """The ID-based diffs among some layers, by schema, in their order."""
    found: dict[IdDiff, tuple[Layer, ...]] = {}
    for layer in layers:
        if layer.diff is not None:
            found[layer.diff] = (*found.get(layer.diff, ()), layer)
    return found


def signed_layers(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """The layers that are signed rows, among ID-based diffs."""
    return tuple(layer for layer in layers if layer.diff is None)


def diff_schema(state: RelationState, diff: IdDiff) -> tuple[Column, ...]:
    """The columns that a layer of this schema stores."""
    names = {*diff.key, *diff.sets}
    return (*(c for c in state.columns if c.name in names), Column(SEQUENCE, "bigint"))


def is_same(one: RelationState, other: RelationState) -> bool:
    """Whether two states of a relation hold the same rows, as far as is known."""
    return (one.folder, one.newest, one.followed, one.clock) == (
        other.folder,
        other.newest,
        other.followed,
        other.clock,
    )
