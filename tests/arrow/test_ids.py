"""A bag with a key whose layers are signed rows and ID-based diffs, in files, as Arrow reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.storage.test_id_layers import Rows, bag
from tests.storage.test_signed_ids import FIELDS, IDS, Stream, random_rows, stream
from viewkeeper import limits
from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.arrow.states import States
from viewkeeper.storage.delta_log import create_main
from viewkeeper.storage.footers import data_file
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile, Layer, RelationState

COLUMNS = tuple(Column(name, "int") for name in ("i", "j", "a", "b"))
TYPES = {name: pa.int64() if kind == "bigint" else pa.int32() for name, kind in FIELDS}

Write = Callable[[Sequence[str], Sequence[Sequence[Any]]], tuple[DataFile, ...]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("relations")


class Files:
    """Writes rows as files of one relation."""

    def __init__(self, path: Path, relation: str) -> None:
        self.path, self.relation, self.number = path, relation, 0
        (path / relation).mkdir()

    def __call__(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[DataFile, ...]:
        if not rows:
            return ()
        self.number += 1
        file = self.path / self.relation / f"{self.number}.parquet"
        columns = {n: pa.array([row[place] for row in rows], TYPES[n]) for place, n in enumerate(names)}
        pq.write_table(pa.table(columns), file)
        return (data_file(file.name, file.stat().st_size, pq.read_metadata(file)),)


def layers(one: Stream, write: Write) -> tuple[Layer, ...]:
    """One layer for each place in the order."""
    found = []
    names = ("i", "j", "a", "b", COUNT, SEQUENCE)
    for seq in sorted({row[-1] for row in one.signed}):
        found.append((seq, Layer(seq, write(names, [row for row in one.signed if row[-1] == seq]))))
    for diff, seq in one.updates:
        rows = [(*row, seq) for row in diff.rows]
        files = write((*diff.schema.key, *diff.schema.sets, SEQUENCE), rows)
        found.append((seq, Layer(seq, files, diff=diff.schema)))
    return tuple(layer for _, layer in sorted(found, key=lambda pair: pair[0]))


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def stored(folder: Path, before: Rows, name: str) -> tuple[States, RelationState, Files]:
    home, write = Folder(str(folder)), Files(folder, name)
    files = write(("i", "j", "a", "b"), list(bag(before)))
    version = create_main(home, name, COLUMNS, files)
    return States(home), RelationState(name, COLUMNS, version, len(before), None, IDS), write


@pytest.mark.parametrize("merged_whole", [0, 1000])
@cases(20)
@given(seed=st.integers(0, 2**40))
def test_states_and_their_difference(folder: Path, merged_whole: int, seed: int) -> None:
    random, name = Random(seed), f"r{len(list(folder.iterdir()))}"
    one = stream(random, random_rows(random))
    reader, state, write = stored(folder, one.before, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "LIMITS", replace(limits.LIMITS, merged_whole=merged_whole))
        found = layers(one, write)
        old, states = state, [state]
        for layer in found:
            old = replace(old, overlay=(*old.overlay, layer), log=(*old.log, layer))
            states.append(old)
        assert rows(reader.rows(states[-1])) == bag(one.after)
        between = random.choice(states)
        change = Counter[tuple[Any, ...]]()
        for *row, count in rows(reader.signed(between, states[-1])).elements():
            change[tuple(row)] += count
        wanted = Counter(bag(one.after))
        wanted.subtract(rows(reader.rows(between)))
        assert {row: n for row, n in change.items() if n} == {row: n for row, n in wanted.items() if n}
