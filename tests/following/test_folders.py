"""Folders of files that others put there: what comes is read, what changes or goes is told."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewkeeper as vk
from viewkeeper.algebra.schema import Column
from viewkeeper.errors import CannotMaintain, InvalidOption, MissingFile, NotFound, StorageError
from viewkeeper.storage.following.folder_format import FolderFormat, is_hidden, partition_columns, whole_files

TOTALS = "SELECT day, COUNT(*) AS n, SUM(amount) AS total FROM landed GROUP BY day"


def landed(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_new_files_of_json_are_read_and_nothing_else(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    folder = tmp_path / "landing"
    landed(folder, "day=2026-01-01/a.json", '{"id": 1, "amount": 10}\n{"id": 2, "amount": 20}\n')
    landed(folder, "day=2026-01-02/b b?.json", '{"id": 3, "amount": 30}\n')
    warehouse.follow("landed", str(folder), format="json", key=["id"])
    assert dict(warehouse.table("landed").dtypes) == {"amount": "bigint", "id": "bigint", "day": "date"}
    warehouse.create_view("totals", TOTALS)
    landed(folder, "day=2026-01-02/c.json", '{"id": 4, "amount": 5, "more": true}\n{"amo')
    landed(folder, "day=2026-01-03/_temporary/d.json", '{"id": 6}\n')
    landed(folder, "day=2026-01-03/.e.json", '{"id": 7}\n')
    landed(folder, "day=2026-01-03/f.json", "")
    assert (warehouse.status()[0].versions_behind, warehouse.status()[1].stale) == (1, True)
    with pytest.raises(vk.ViewkeeperError, match="id"):
        warehouse.refresh()
    landed(folder, "day=2026-01-02/c.json", '{"id": 4, "amount": 5}\n{"id": 5, "amount": null}\n')
    report = warehouse.refresh(check=1.0, policy="incremental")
    [told] = report.followed
    assert (told.before, told.version, told.how, told.rows) == (0, 1, "new files", 2)
    assert report.of("totals").details["reads"] == {"landed__delta": 2}
    assert {tuple(map(str, row)) for row in warehouse.table("totals").collect()} == {
        ("2026-01-01", "2", "30"),
        ("2026-01-02", "3", "35"),
    }
    assert warehouse.refresh().version == report.version
    with pytest.raises(InvalidOption, match="cannot be brought to version 0"):
        warehouse.refresh(at={"landed": 0})


def test_a_file_that_changes_or_goes_is_told_by_name(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    first = landed(folder, "a.csv", "day,amount\n2026-01-01,1\n2026-01-02,2\n")
    landed(folder, "b.csv", "day,amount\n2026-01-02,3\n")
    options = {"header": "true"}
    warehouse.follow("landed", str(folder), format="csv", schema="day DATE, amount INT", options=options)
    warehouse.create_view("totals", TOTALS)
    before = warehouse.version
    landed(folder, "c.csv", "day,amount\n2026-01-03,x\n2026-01-03,7\n")
    warehouse.refresh(check=1.0)
    assert [tuple(row) for row in warehouse.sql("SELECT n, total FROM totals ORDER BY day").collect()] == [
        (1, 1),
        (2, 5),
        (2, 7),
    ]
    told = first.stat()
    landed(folder, "a.csv", "day,amount\n2026-01-01,9\n2026-01-02,2\n")
    os.utime(first, ns=(told.st_atime_ns, told.st_mtime_ns + 1_000_000_000))
    with pytest.raises(StorageError, match=r"a\.csv has changed since it was read"):
        warehouse.refresh()
    with pytest.raises(MissingFile, match=r"a\.csv has changed since it was recorded"):
        warehouse.table("landed", version=before).count()
    first.unlink()
    with pytest.raises(MissingFile, match=r"a\.csv has vanished"):
        warehouse.refresh()
    landed(folder, "a.csv", "day,amount\n2026-01-01,1\n2026-01-02,2\n")
    os.utime(first, ns=(told.st_atime_ns, told.st_mtime_ns))
    assert warehouse.verify("totals")


def test_where_it_is_asked_for_views_are_made_anew(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    folder.mkdir()
    for name, ids in (("a", [1, 2]), ("b", [3])):
        pq.write_table(pa.table({"id": ids, "v": ids}), folder / f"{name}.parquet")
    where = f"USING parquet LOCATION '{folder}'"
    warehouse.sql(
        f"CREATE TABLE kept (id BIGINT, v BIGINT, PRIMARY KEY (id)) {where} OPTIONS (on_change 'replace')"
    )
    warehouse.create_view("firm", "SELECT SUM(v) AS s FROM kept", policy="strict")
    (folder / "a.parquet").unlink()
    pq.write_table(pa.table({"id": [4], "v": [40]}), folder / "c.parquet")
    with pytest.raises(CannotMaintain, match=r"a\.parquet has vanished"):
        warehouse.refresh()
    report = warehouse.refresh(policy="auto", check=1.0)
    assert report.of("firm").reason.code == "input-replaced"
    assert warehouse.table("firm").first().s == 43
    (folder / "d.parquet").write_bytes(b"PAR1 half of")
    with pytest.raises(MissingFile, match=r"d\.parquet"):
        warehouse.refresh()


def test_what_is_refused(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no folder"):
        warehouse.follow("t", str(tmp_path / "none"), format="csv", schema="a INT")
    with pytest.raises(NotFound, match="no file"):
        warehouse.follow("t", str(tmp_path), format="csv")
    for options, message in (
        ({"mode": "dropmalformed"}, "DROPMALFORMED"),
        ({"on_change": "ignore"}, "error or replace"),
        ({"settle": "soon"}, "seconds"),
    ):
        with pytest.raises(InvalidOption, match=message):
            warehouse.follow("t", str(tmp_path), format="csv", schema="a INT", options=options)
    with pytest.raises(InvalidOption, match="takes no options for reading"):
        warehouse.follow("t", str(tmp_path), options={"header": "true"})


def test_which_files_of_a_folder_are_meant(tmp_path: Path) -> None:
    assert is_hidden("a/_spark/x.csv")
    assert is_hidden("x.csv.tmp")
    assert not is_hidden("_day=1/x.csv")
    landed(tmp_path, "n=1/d=2026-01-01/s=a%20b/x.json", "{}")
    landed(tmp_path, "n=2/d=2026-01-02/s=__HIVE_DEFAULT_PARTITION__/y.json", "{}")
    kinds = {column.name: column.type for column in partition_columns(str(tmp_path), ())}
    assert kinds == {"n": "int", "d": "date", "s": "string"}
    columns = (Column("v", "int"), Column("N", "int"), Column("s", "string"), Column("d", "date"))
    found = FolderFormat("json").begun(str(tmp_path), (), columns).followed
    files = FolderFormat("json").files(found)
    assert [file.ranges["d"] for file in files] == [("2026-01-01",) * 2, ("2026-01-02",) * 2]
    assert [dict(file.part.partition)["s"] for file in files if file.part] == ["a b", None]
    assert ["s" in file.nulls for file in files] == [False, True]
    assert type(found).from_json(found.to_json()) == found
    assert whole_files(str(tmp_path), (("settle", "3600"),)) == []
    [young] = whole_files(str(tmp_path), (("settle", "3600"),), {"n=1/d=2026-01-01/s=a%20b/x.json"})
    assert young.path.endswith("x.json"), "what is recorded is looked at, however young it is"
    os.utime(tmp_path / young.path, (time.time() + 3600,) * 2)
    assert len(whole_files(str(tmp_path), ())) == 2, "clocks of stores may be ahead"
    landed(tmp_path, "z.json", "{}")
    with pytest.raises(StorageError, match=r"z\.json is not in a folder n="):
        FolderFormat("json").observed(str(tmp_path), (), 1, found)
