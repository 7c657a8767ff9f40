"""The log of a Delta table as it is read here: versions, files, and what changed between two of them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.following.source import appended, delete_by_vector, merged, orders
from viewkeeper.errors import MissingFile, NotFound, StorageError, Unsupported
from viewkeeper.storage.following.delta_columns import names_in_file
from viewkeeper.storage.following.delta_format import DeltaFormat
from viewkeeper.storage.following.formats import SourceDifference
from viewkeeper.storage.following.places import folder_of
from viewkeeper.storage.following.state import Followed, SourceField
from viewkeeper.storage.relation import Layer, RelationState

DELTA = DeltaFormat()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three files of ten orders each."""
    for number in range(3):
        appended(tmp_path / "orders", orders(range(10 * number, 10 * number + 10)))
    return tmp_path / "orders"


def at(path: Path, version: int | None = None) -> Followed:
    newest = DELTA.newest(str(path), ())
    return DELTA.observed(str(path), (), newest if version is None else version).followed


def changed(path: Path, old: Followed) -> SourceDifference:
    return DELTA.difference(old, at(path), 7)


def signed(found: SourceDifference) -> list[tuple[int, int]]:
    """Of each part, how its rows count and how many there are."""
    return sorted((file.part.sign, file.rows) for file in found.files if file.part is not None)


def test_appends_are_what_was_appended(path: Path) -> None:
    old = at(path)
    appended(path, orders(range(30, 34)))
    found = changed(path, old)
    assert (found.how, signed(found), found.rows_held) == ("commits", [(1, 4)], 4)
    assert found.files[0].ranges["id"] == (30, 33)
    assert found.files[0].nulls == frozenset()


def test_rows_that_only_move_are_no_change(path: Path) -> None:
    old = at(path)
    DeltaTable(str(path)).optimize.compact()
    assert changed(path, old).files == ()
    appended(path, orders([40]))
    assert signed(changed(path, old)) == [(1, 1)]


def test_files_that_came_and_went_in_between_are_not_read(path: Path) -> None:
    old = at(path)
    for number in range(3):
        DeltaTable(str(path)).update(predicate="id = 3", updates={"amount": str(number)})
    assert signed(changed(path, old)) == [(-1, 10), (1, 10)]
    DeltaTable(str(path)).restore(old.version)
    assert changed(path, old).files == ()


def test_the_difference_goes_both_ways(path: Path) -> None:
    old = at(path)
    merged(path, orders(range(25, 35), "merged"))
    there, back = DELTA.difference(old, at(path), 7), DELTA.difference(at(path), old, 7)
    assert signed(there) == [(-sign, rows) for sign, rows in reversed(signed(back))]
    assert back.how == "files"


def test_a_vector_changes_the_rows_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "orders"
    appended(path, orders(range(20)))
    old = at(path)
    delete_by_vector(path, {1, 3})
    first = at(path)
    assert signed(DELTA.difference(old, first, 7)) == [(-1, 2)]
    delete_by_vector(path, {3, 5, 6})
    assert signed(DELTA.difference(first, at(path), 7)) == [(-1, 2), (1, 1)]
    assert signed(DELTA.difference(old, at(path), 7)) == [(-1, 3)]
    assert sum(file.rows for file in DELTA.files(at(path))) == 17


def test_files_that_are_gone_are_named(path: Path) -> None:
    old = at(path)
    DeltaTable(str(path)).delete("id < 5")
    DeltaTable(str(path)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(MissingFile, match=r"\.parquet is missing or damaged"):
        changed(path, old)


def test_a_log_that_is_cleaned_up_begins_with_a_checkpoint(path: Path) -> None:
    old, before = at(path), DELTA.files(at(path))
    table = DeltaTable(str(path))
    table.create_checkpoint()
    appended(path, orders([50]))
    (path / "_delta_log" / f"{0:020d}.json").unlink()
    (path / "_delta_log" / f"{1:020d}.json").unlink()
    assert signed(changed(path, old)) == [(1, 1)]
    assert set(DELTA.files(old)) == set(before)
    with pytest.raises(MissingFile, match="no readable version 0"):
        at(path, 0)


def test_a_damaged_checkpoint_is_not_needed_while_all_commits_are_there(path: Path) -> None:
    DeltaTable(str(path)).create_checkpoint()
    [checkpoint] = (path / "_delta_log").glob("*.checkpoint.parquet")
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    assert sum(file.rows for file in DELTA.files(at(path))) == 30
    (path / "_delta_log" / f"{0:020d}.json").unlink()
    (path / "_delta_log" / f"{2:020d}.json").write_text(json.dumps({"commitInfo": {}}))
    with pytest.raises(StorageError, match=r"checkpoint .* cannot be read"):
        at(path, 2)


def test_a_table_that_asks_for_more_is_refused_by_name(path: Path) -> None:
    log = path / "_delta_log" / f"{3:020d}.json"
    features = {"readerFeatures": ["deletionVectors", "moonPhases"], "writerFeatures": []}
    log.write_text(json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}))
    with pytest.raises(Unsupported, match="features that are not read: moonPhases"):
        at(path)
    log.write_text(json.dumps({"protocol": {"minReaderVersion": 4, "minWriterVersion": 7}}))
    with pytest.raises(Unsupported, match="version 4 of the protocol"):
        at(path)


def test_another_table_of_this_place_is_not_the_one_that_was_recorded(path: Path) -> None:
    old = at(path)
    log = path / "_delta_log" / f"{2:020d}.json"
    log.write_text(log.read_text() + "\n" + json.dumps({"commitInfo": {"note": "another one"}}))
    with pytest.raises(MissingFile, match="is not what it was"):
        DELTA.files(old)


def test_no_folder_is_made_for_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no Delta table"):
        DELTA.newest(str(tmp_path / "nowhere"), ())
    assert not (tmp_path / "nowhere").exists()


def test_statistics_are_ranges(tmp_path: Path) -> None:
    rows = pa.table({"day": ["2024-01-01", None], "n": [1, 5], "x": [0.5, 1.5], "part": ["a", "a"]})
    write_deltalake(str(tmp_path / "t"), rows, partition_by=["part"])
    [file] = DELTA.files(at(tmp_path / "t"))
    ranges = {name: pair for name, pair in file.ranges.items() if not name.startswith("__")}
    assert ranges == {"day": ("2024-01-01", "2024-01-01"), "n": (1, 5), "part": ("a", "a")}
    assert file.nulls == {"day"}


def test_what_is_recorded_survives_the_warehouses_log(tmp_path: Path) -> None:
    path = tmp_path / "orders"
    appended(path, orders(range(20)))
    old = at(path)
    delete_by_vector(path, {1, 3})
    found = DELTA.observed(str(path), (), 1)
    layer = Layer(7, DELTA.difference(old, found.followed, 7).files)
    state = RelationState("f", found.columns, 1, 18, log=(layer,), followed=found.followed)
    again = RelationState.from_json(json.loads(json.dumps(state.to_json())))
    assert again == state
    assert again.log[0].files[0].part == layer.files[0].part
    assert again.log[0].only_deletes


def test_columns_may_be_found_by_number(tmp_path: Path) -> None:
    field = pa.field("called so", pa.int64(), metadata={b"PARQUET:field_id": b"4"})
    pq.write_table(pa.table([[1]], schema=pa.schema([field])), tmp_path / "f.parquet")
    wanted = SourceField("n", "col-1", "bigint", number=4), SourceField("m", "col-2", "bigint", number=5)
    folder = folder_of(str(tmp_path), ())
    assert names_in_file(folder, wanted, "f.parquet", 0) == ("called so", "col-2")
    by_name = SourceField("n", "col-1", "bigint")
    assert names_in_file(folder, (by_name,), "f.parquet", 0) == ("col-1",)
