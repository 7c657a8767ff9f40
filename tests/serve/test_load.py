"""Many readers while tables come and go, rows change and views are refreshed: each answer is of one state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from tests.serve.shown import Listening, Shown, columns, listening
from tests.sizes import SIZES
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.relation import RelationState

READERS = 50
PATHS = ("/api/warehouse", "/api/lineage", "/api/relations/pos", "/metrics", "/api/views/sales/history")


def write(desk: Shown, number: int) -> None:
    """One table more or less, always with as many rows as the version has; then a change, and a refresh."""
    base = desk.log.latest()
    version, name = base.version + 1, f"t{number % 7}"
    catalog, relations = base.catalog.without(name), dict(base.relations)
    relations.pop(name, None)
    if number % 2:
        catalog = catalog.with_table(TableSchema(name, columns("a")))
        relations[name] = RelationState(name, columns("a"), 0, 1)
    relations["stores"] = replace(relations["stores"], main_rows=version)
    assert desk.log.commit(Entry(version, catalog, relations, "tables"))
    desk.change()
    desk.refreshed(("sales", "cities"), None, lambda _: None)


def wrong(served: Listening, path: str) -> list[Any]:
    """What is not of one state in an answer."""
    found = served.get(path)
    if found.status != 200:
        return [(path, found.status, found.body)]
    if path != "/api/warehouse":
        return []
    told = found.json
    rows = {one["name"]: one for one in told["relations"]}
    version = rows["stores"]["main_rows"]
    is_whole = rows["sales"]["stale"] == rows["cities"]["stale"] and version <= told["version"] <= version + 2
    return [] if is_whole else [(path, told["version"], version)]


def test_readers_see_one_state_each(tmp_path: Path):
    with listening(str(tmp_path / "warehouse")) as served, ThreadPoolExecutor(READERS) as pool:
        write(served.desk, 0)
        end = monotonic() + SIZES.load

        def read(reader: int) -> list[Any]:
            found: list[Any] = []
            rounds = 0
            while not rounds or monotonic() < end:
                found += wrong(served, PATHS[(reader + rounds) % len(PATHS)])
                rounds += 1
            return found

        readers = [pool.submit(read, number) for number in range(READERS)]
        number = 1
        while monotonic() < end:
            write(served.desk, number)
            number += 1
        assert [one for reader in readers for one in reader.result()] == []
        assert number > 1
