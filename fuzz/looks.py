"""What readers see of a warehouse: views now, views as they were, and what changed between two looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import viewkeeper as vk
from fuzz.bags import Bag, bag_of, shown
from fuzz.oracle import columns_of
from viewkeeper.errors import ViewkeeperError

Columns = tuple[tuple[str, str], ...]
Look = tuple[Columns, Bag]

READERS = 3
"""Views that are read side by side."""


def look(wh: vk.Warehouse, name: str, version: int | None = None) -> Look:
    """The columns and rows that a view shows."""
    frame = wh.table(name, version=version)
    return columns_of(frame.schema), bag_of(frame.collect())


def looks(wh: vk.Warehouse, names: Sequence[str]) -> dict[str, Look | Exception]:
    """What many views show; why not, where one cannot be read."""

    def one(name: str) -> Look | Exception:
        try:
            return look(wh, name)
        except Exception as error:
            return error

    with ThreadPoolExecutor(READERS) as pool:
        return dict(zip(names, pool.map(one, names)))


class Album:
    """Looks that were taken: what a version showed once, it shows for as long as it is kept."""

    def __init__(self) -> None:
        self.taken: dict[str, dict[int, Look]] = {}

    def keep(self, name: str, version: int, seen: Look) -> None:
        self.taken.setdefault(name, {})[version] = seen

    def forget(self, name: str) -> None:
        self.taken.pop(name, None)

    def travelled(self, wh: vk.Warehouse, name: str) -> dict[str, Any]:
        """How the oldest version of a view that is still kept differs from what was seen of it then."""
        for version, (columns, rows) in sorted(self.taken.get(name, {}).items()):
            try:
                now = look(wh, name, version)
            except ViewkeeperError:
                del self.taken[name][version]
                continue
            if now != (columns, rows):
                told = {"missing": shown(rows - now[1]), "extra": shown(now[1] - rows)}
                return {"version": version, "columns": now[0], **told}
            break
        return {}

    def changed(self, wh: vk.Warehouse, name: str) -> dict[str, Any]:
        """How the changes between two versions differ from the difference of what was seen of them."""
        versions = sorted(self.taken.get(name, {}))
        if len(versions) < 2 or self.taken[name][versions[0]][0] != self.taken[name][versions[-1]][0]:
            return {}
        first, last = versions[0], versions[-1]
        wanted = signed(self.taken[name][last][1], self.taken[name][first][1])
        try:
            got = fed(wh, name, first, last)
        except ViewkeeperError:
            return {}
        if got == wanted:
            return {}
        told = {"missing": shown(signed(wanted, got)), "extra": shown(signed(got, wanted))}
        return {"since": first, "until": last, **told}


def signed(left: Bag, right: Bag) -> Bag:
    """The difference of two bags, with counts below zero."""
    found = Counter(left)
    found.subtract(right)
    return Counter({row: count for row, count in found.items() if count})


def fed(wh: vk.Warehouse, name: str, since: int, until: int) -> Bag:
    """The net changes that a view tells: old values went, new ones came."""
    frame = wh.changes(name, since=since, until=until)
    rows = [tuple(row) for row in frame.collect()]
    gone = bag_of(row[1::2] for row in rows if row[0] != "insert")
    come = bag_of(row[2::2] for row in rows if row[0] != "delete")
    return signed(come, gone)
