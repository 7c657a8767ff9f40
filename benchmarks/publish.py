"""A published view of 4 million rows: what a commit costs, against writing the view anew.

deletion vectors     rows that went are marked where they stand
copy-on-write        the files that hold them are written anew
rival                deltalake overwrites the table with all rows
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import write_deltalake

from benchmarks.harness import Comparison, Table
from viewkeeper.algebra.schema import Column
from viewkeeper.publishing.layout import Layout
from viewkeeper.publishing.publisher import Publisher
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState

ROWS = 4_000_000
CHANGES = (1_000, 100_000)
STATE = RelationState(
    "relations/v",
    (Column("id", "bigint"), Column("region", "string"), Column("n", "bigint"), Column("q", "double")),
    0,
    0,
)


def rows_of(keys: npt.NDArray[np.int64], version: int) -> pa.Table:
    """The groups of a summary, as they are in a version."""
    region = pa.array([f"region {number}" for number in range(50)]).take(pa.array(keys % 50))
    figures = {"n": keys % 1000 + version, "q": keys * 0.25 + version}
    return pa.table({"id": keys, "region": region, **figures})


def run(scale: float) -> Table:
    table = Table("publish", "writing the view anew")
    folder = Path(tempfile.mkdtemp())
    try:
        keys = np.arange(int(ROWS * scale), dtype=np.int64)
        anew = _seconds(lambda: write_deltalake(str(folder / "anew"), rows_of(keys, 0), mode="overwrite"))
        for vectors in (True, False):
            _changes(table, folder, keys, vectors, anew, scale)
    finally:
        shutil.rmtree(folder)
    return table


def _changes(
    table: Table, folder: Path, keys: npt.NDArray[np.int64], vectors: bool, anew: float, scale: float
) -> None:
    mode = "deletion vectors" if vectors else "copy-on-write"
    writer = Publisher(Folder(str(folder)), mode.replace(" ", "-"), "v", ("id",), Layout(vectors))
    known = [writer.replace(0, STATE, rows_of(keys, 0))]
    rng = np.random.default_rng(1)
    for version, number in enumerate(CHANGES, start=1):
        chosen = np.sort(rng.choice(len(keys), int(number * scale), replace=False))
        old, new = rows_of(keys[chosen], 0), rows_of(keys[chosen], version)

        def change(version: int = version, old: pa.Table = old, new: pa.Table = new) -> None:
            known.append(writer.change(known[-1], version, STATE, new, old))

        before = {file.path for file in known[-1].files}
        seconds = _seconds(change)
        written = sum(file.rows for file in known[-1].files if file.path not in before)
        table.add(f"{mode}: {len(chosen):,} updates", Comparison(seconds, anew), rows_written=written)


def _seconds(work: object) -> float:
    started = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - started
