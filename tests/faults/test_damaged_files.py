"""Missing and damaged files give an error that names the file, never wrong answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper import errors


@pytest.fixture
def filled(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.create_table("t", [{"id": 1, "n": 2}, {"id": 2, "n": 3}], key=["id"])
    warehouse.create_view("v", "SELECT SUM(n) AS total FROM t")
    with warehouse.transaction() as t:
        t.insert("t", [{"id": 3, "n": 4}])
    return warehouse


def data_files(warehouse: vk.Warehouse, relation: str) -> list[Path]:
    state = warehouse._work.log.latest().relations[relation]
    return sorted(Path(warehouse.path, state.folder).rglob("*.parquet"))


@pytest.mark.parametrize("damage", ["missing", "truncated", "emptied"])
def test_a_damaged_file_is_named(filled: vk.Warehouse, damage: str) -> None:
    for file in data_files(filled, "t"):
        match damage:
            case "missing":
                file.unlink()
            case "truncated":
                file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
            case "emptied":
                file.write_bytes(b"")
    version = filled.version
    with pytest.raises(errors.ViewkeeperError, match=r"\.parquet"):
        filled.refresh("v")
    assert filled.version == version


def test_a_damaged_log_entry_is_named(filled: vk.Warehouse) -> None:
    entry = sorted(Path(filled.path, "_viewkeeper").glob("*.json"))[-1]
    entry.write_text("{")
    with pytest.raises(errors.StorageError, match=entry.name):
        vk.open(filled.path, spark=filled.spark).status()


def test_a_missing_delta_log_is_named(filled: vk.Warehouse) -> None:
    folder = filled._work.log.latest().relations["t"].folder
    for file in Path(filled.path, folder, "_delta_log").glob("*"):
        file.unlink()
    from viewkeeper.storage.delta_log import _main_files

    _main_files.cache_clear()
    with pytest.raises(errors.MissingFile, match=folder):
        filled.table("t")
