"""The warehouse log: put-if-absent, listing, entries that are gone or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewkeeper.algebra.merge.spec import MergeSpec, Operator
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.errors import NotFound, StorageError
from viewkeeper.storage.commits import Entry, WarehouseLog
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
