"""The warehouse log: put-if-absent, listing, entries that are gone or damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from viewkeeper.algebra.merge.spec import MergeSpec, Operator
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.errors import NotFound, StorageError
from viewkeeper.storage.commits import WHOLE_EVERY, Applied, Entry, WarehouseLog
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile, Layer, RelationState

TABLE = TableSchema(
    "t",
    (Column("id", "int", nullable=False), Column("u", "string")),
    key=("id",),
    foreign_keys=(ForeignKey(("id",), "t", ("id",)),),
    properties=(("a", "b"),),
)
VIEW = ViewDefinition(
    "v", "SELECT 1", (Column("x", "int"),), ("t",), position=1, published=2, state=("__v_1",)
)
FILE = DataFile("data/x.parquet", 3, 100, {"id": (1, 9)}, frozenset({"u"}))
SPEC = MergeSpec(("k",), (("n", Operator.ADD), ("m", Operator.MIN)), "n", (("d", "n + 1"),), (("c", "m"),))
STATE = RelationState(
    "relations/t", TABLE.columns, 4, 7, SPEC, ("id",), (Layer(2, (FILE,)),), (Layer(1, (FILE,), True),), 1
)


@pytest.fixture
def log(tmp_path: Path) -> WarehouseLog:
    return WarehouseLog(Folder(str(tmp_path)))


def reopened(log: WarehouseLog) -> WarehouseLog:
    return WarehouseLog(Folder(log.folder.url))


def entry(version: int) -> Entry:
    return Entry(version, Catalog({"t": TABLE}, {"v": VIEW}), {"t": STATE}, "test", report={"n": 1})


def test_a_new_warehouse_is_empty(log: WarehouseLog) -> None:
    assert (log.latest().version, log.versions()) == (0, [])
    assert log.latest().catalog == Catalog()


def test_an_entry_comes_back_as_it_was(log: WarehouseLog) -> None:
    assert log.commit(entry(1))
    found = reopened(log).latest()
    assert (found.catalog, found.relations, found.operation) == (entry(1).catalog, {"t": STATE}, "test")
    assert found.relations["t"].overlay[0].files[0].ranges == {"id": (1, 9)}
    assert found.relations["t"].overlay[0].files[0].nulls == {"u"}
    assert found.report == {"n": 1}
    assert found.written


def test_of_two_writers_one_wins(log: WarehouseLog) -> None:
    other = reopened(log)
    assert log.commit(entry(1))
    assert not other.commit(Entry(1, Catalog(), {}, "too late"))
    assert other.latest().operation == "test"


def test_new_entries_of_others_are_seen(log: WarehouseLog) -> None:
    other = reopened(log)
    for version in (1, 2):
        log.commit(entry(version))
        assert other.latest().version == version
    assert other.versions() == [1, 2]


def test_entries_are_ordered_by_number(log: WarehouseLog) -> None:
    for version in range(1, 12):
        log.commit(entry(version))
    assert reopened(log).latest().version == 11
    assert log.versions() == list(range(1, 12))


def written(log: WarehouseLog, version: int) -> dict[str, Any]:
    content = Path(log.folder.url, "_viewkeeper", f"{version:020d}.json").read_text()
    return cast("dict[str, Any]", json.loads(content))


def test_an_entry_holds_what_differs_from_the_one_before(log: WarehouseLog) -> None:
    views = {f"v{number}": replace(VIEW, name=f"v{number}") for number in range(200)}
    first = Entry(1, Catalog({"t": TABLE}, views), {"t": STATE, "u": STATE, "gone": STATE})
    log.commit(first)
    moved = replace(first.catalog, views={**views, "v7": replace(views["v7"], position=2)})
    log.commit(Entry(2, moved, {"t": replace(STATE, main_rows=8), "u": STATE}))
    changed = written(log, 2)["changed"]
    assert {kind: set(names) for kind, names in changed.items()} == {
        "tables": set(),
        "views": {"v7"},
        "relations": {"t", "gone"},
        "streams": set(),
    }
    found = reopened(log).latest()
    assert (found.catalog, dict(found.relations)) == (moved, dict(log.latest().relations))
    assert list(found.catalog.views) == list(views)


def test_names_that_are_dropped_and_made_again_keep_their_new_order(log: WarehouseLog) -> None:
    log.commit(Entry(1, Catalog(), {"t": STATE, "u": STATE}))
    log.commit(Entry(2, Catalog(), {"u": STATE, "t": replace(STATE, main_rows=8)}))
    assert list(reopened(log).latest().relations) == ["u", "t"]


def test_any_version_is_read_through_few_entries(log: WarehouseLog) -> None:
    for version in range(1, 3 * WHOLE_EVERY):
        state = replace(STATE, main_rows=version)
        log.commit(Entry(version, Catalog({"t": TABLE}), {"t": state, "u": STATE}))
    for version in (1, WHOLE_EVERY, WHOLE_EVERY + 1, 3 * WHOLE_EVERY - 1):
        other = reopened(log)
        assert other.entry(version).relations["t"].main_rows == version
        assert len(other._cache) <= WHOLE_EVERY
    assert [v for v in log.versions() if "base" not in written(log, v)] == [
        1,
        1 + WHOLE_EVERY,
        1 + 2 * WHOLE_EVERY,
    ]


def test_what_goes_on_from_a_forgotten_version_is_read(log: WarehouseLog) -> None:
    for version in range(1, 8):
        log.commit(Entry(version, Catalog(), {"t": replace(STATE, main_rows=version)}))
    begun, late = reopened(log), reopened(log)
    begun.folder = Interrupted(log.folder.url, before=3, then=lambda: log.forget([1, 2, 3, 5]))
    assert begun.latest().relations["t"].main_rows == 7
    assert {v: late.entry(v).relations["t"].main_rows for v in late.versions()} == {4: 4, 6: 6, 7: 7}


class Interrupted(Folder):
    """Something else happens before one entry is read."""

    def __init__(self, url: str, before: int, then: Callable[[], None]) -> None:
        super().__init__(url)
        self.before, self.then = before, then

    def read(self, path: str) -> bytes:
        if path.endswith(f"{self.before}.json"):
            self.then()
        return super().read(path)


def test_entries_of_the_first_format_are_whole(log: WarehouseLog) -> None:
    log.commit(entry(1))
    [file] = Path(log.folder.url, "_viewkeeper").glob("*.json")
    file.write_text(json.dumps({**written(log, 1), "format": 1}))
    assert reopened(log).latest().relations == {"t": STATE}


def test_entries_of_later_versions_are_refused(log: WarehouseLog) -> None:
    log.commit(entry(1))
    [file] = Path(log.folder.url, "_viewkeeper").glob("*.json")
    file.write_text(json.dumps({**written(log, 1), "format": 99}))
    with pytest.raises(StorageError, match="later version of Viewkeeper"):
        reopened(log).latest()


def test_forgotten_versions_cannot_be_read(log: WarehouseLog) -> None:
    for version in (1, 2, 3):
        log.commit(entry(version))
    log.forget([1])
    assert log.entry(2).version == 2
    with pytest.raises(NotFound, match=r"no version 1.*\n.*2 to 3"):
        log.entry(1)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"relations": {}}'])
def test_a_damaged_entry_is_named(log: WarehouseLog, content: str) -> None:
    log.commit(entry(1))
    [file] = Path(log.folder.url, "_viewkeeper").glob("*.json")
    file.write_text(content)
    with pytest.raises(StorageError, match=file.name):
        reopened(log).latest()


def test_streams_are_known_for_ever(log: WarehouseLog) -> None:
    """Entries between name none, and vacuum forgets the entry that did."""
    log.commit(Entry(1, Catalog(), {}, streams={"a": Applied("t", 7)}))
    log.commit(Entry(2, Catalog(), {}, streams={"a": Applied("t", 7), "b": Applied("u", 0)}))
    log.commit(Entry(3, Catalog(), {}, streams=log.latest().streams))
    assert written(log, 3)["changed"]["streams"] == {}
    log.forget([1, 2])
    assert WarehouseLog(log.folder).latest().streams == {"a": Applied("t", 7), "b": Applied("u", 0)}
    log.commit(Entry(4, Catalog(), {}, streams={"b": Applied("u", 1)}))
    assert WarehouseLog(log.folder).latest().streams == {"b": Applied("u", 1)}
    assert [written(log, version)["format"] for version in (3, 4)] == [3, 3]
