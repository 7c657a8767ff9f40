"""What Parquet footers tell: rows, ranges, columns with NULLs; and files that hold no wanted row."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from viewkeeper.errors import MissingFile
from viewkeeper.storage.footers import (
    Among,
    Wanted,
    delta_statistics,
    described_files,
    overlaps,
    read_footer,
)
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path))


def written(folder: Folder, values: dict[str, Any], **options: Any) -> DataFile:
    path = Path(folder.url, "r/data/b")
    path.mkdir(parents=True)
    pq.write_table(pa.table(values), path / "f.parquet", **options)
    [file] = described_files(folder, "r", list(folder.listed("r/data/b")))
    return file


def test_ranges_and_nulls(folder: Folder) -> None:
    file = written(
        folder,
        {
            "i": pa.array([3, None, 1]),
            "s": ["b", "a", "c"],
            "d": [date(2024, 1, 2), None, date(2023, 5, 6)],
            "none": pa.array([None, None, None], pa.int32()),
        },
    )
    assert (file.path, file.rows) == ("data/b/f.parquet", 3)
    assert file.ranges == {"i": (1, 3), "s": ("a", "c"), "d": ("2023-05-06", "2024-01-02")}
    assert file.nulls == {"i", "d", "none"}


def test_ranges_of_several_row_groups(folder: Folder) -> None:
    file = written(folder, {"i": [5, 6, None, None, 1, 2]}, row_group_size=2)
    assert file.ranges == {"i": (1, 6)}
    assert file.nulls == {"i"}


def test_booleans_have_a_range_that_the_delta_log_leaves_out(folder: Folder) -> None:
    file = written(folder, {"b": [True, False], "all": [True, True]})
    assert file.ranges == {"b": (False, True), "all": (True, True)}
    assert json.loads(delta_statistics(file, ["b", "all"]))["minValues"] == {}


def test_types_without_a_range(folder: Folder) -> None:
    file = written(
        folder,
        {
            "f": [1.5, 2.5],
            "n": [Decimal("1.5"), Decimal("2.5")],
            "t": [datetime(2024, 1, 1), datetime(2024, 1, 2)],
            "long": ["x" * 70, "y"],
            "list": [[1], [2]],
        },
    )
    assert file.ranges == {}
    assert "f" not in file.nulls


def test_without_statistics_everything_may_be_null(folder: Folder) -> None:
    file = written(folder, {"i": [1, 2]}, write_statistics=False)
    assert file.ranges == {}
    assert file.nulls == {"i"}


def test_empty_files_are_left_out(folder: Folder) -> None:
    path = Path(folder.url, "r/data/b")
    path.mkdir(parents=True)
    pq.write_table(pa.table({"i": pa.array([], pa.int32())}), path / "f.parquet")
    assert described_files(folder, "r", list(folder.listed("r/data/b"))) == ()


def test_a_long_footer_is_read_whole(folder: Folder) -> None:
    file = written(folder, {f"column_{number}": [number] for number in range(2000)})
    assert len(file.ranges) == 2000


@pytest.mark.parametrize("content", [b"", b"PAR1", b"x" * 100])
def test_a_file_that_is_cut_short_is_named(folder: Folder, content: bytes) -> None:
    Path(folder.url, "f.parquet").write_bytes(content)
    with pytest.raises(MissingFile, match=r"f\.parquet"):
        read_footer(folder, "f.parquet", len(content))


FILE = DataFile("f", 2, 10, {"i": (3, 5), "s": ("b", "d")}, frozenset({"i"}))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"i": (1, 3)}, True),
        ({"i": (5, 9)}, True),
        ({"i": (6, 9)}, False),
        ({"i": (1, 2)}, False),
        ({"s": ("c", "c"), "i": (4, 4)}, True),
        ({"s": ("e", "f"), "i": (4, 4)}, False),
        ({"other": (1, 2)}, True),
        ({"i": ("a", "b")}, True),
        ({"i": Among((1, 4, 9))}, True),
        ({"i": Among((1, 2, 6, 9))}, False),
        ({"i": Among((5,)), "s": Among(("a", "e"))}, False),
        ({"i": Among(())}, True),
        ({"other": Among((1,)), "s": Among((1, 2))}, True),
        ({}, True),
    ],
)
def test_files_are_left_out_by_their_ranges(wanted: Wanted, found: bool) -> None:
    assert overlaps(FILE, wanted) is found


def test_statistics_of_the_delta_log() -> None:
    found = json.loads(delta_statistics(FILE, ["i", "missing"]))
    assert found["numRecords"] == 2
    assert (found["minValues"], found["maxValues"]) == ({"i": 3}, {"i": 5})


def test_a_timestamp_that_python_does_not_have_has_no_range(folder: Folder) -> None:
    """The last evening of the year 9999 in New York is in the year 10000 in UTC."""
    after = pa.array([253_402_300_800_000_000 + 1], pa.int64()).cast(pa.timestamp("us", "UTC"))
    file = written(folder, {"t": after, "i": [7]})
    assert (file.rows, file.ranges) == (1, {"i": (7, 7)})
