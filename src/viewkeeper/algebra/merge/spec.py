"""How the rows of a stored relation and those of its layers become one, as plain data.

A summary-delta adds to the groups that it names, an ID-based diff sets columns of the rows that have its IDs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Operator(Enum):
    """How a layer's column merges with the stored one."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    SET = "set"
    HOLDERS = "holders"
    """The number of rows that hold an extreme: counts add where the extremes are equal."""


@dataclass(frozen=True)
class MergeSpec:
    """How the rows of a keyed relation and of its layers become one.

    `alive` names the column that counts a row's derivations: at zero the row does not exist.
    `derived` columns are computed from the merged ones and are stored in main only, as SQL text.
    `holders` pairs the number of rows that hold an extreme with the extreme. `identified`: layers are
    ID-based diffs, each with a key and SET columns of its own; then `key` holds all IDs. `limits` are those
    of columns beyond which what derives from them may not fit its type.
    """

    key: tuple[str, ...]
    operators: tuple[tuple[str, Operator], ...]
    alive: str | None = None
    derived: tuple[tuple[str, str], ...] = ()
    holders: tuple[tuple[str, str], ...] = ()
    identified: bool = False
    limits: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "key": list(self.key),
            "operators": [[name, op.value] for name, op in self.operators],
            "alive": self.alive,
            "derived": [list(pair) for pair in self.derived],
            "holders": [list(pair) for pair in self.holders],
            "identified": self.identified,
            "limits": [list(pair) for pair in self.limits],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> MergeSpec:
        return MergeSpec(
            key=tuple(data["key"]),
            operators=tuple((name, Operator(op)) for name, op in data["operators"]),
            alive=data["alive"],
            derived=tuple((name, text) for name, text in data["derived"]),
            holders=tuple((name, extreme) for name, extreme in data["holders"]),
            identified=data.get("identified", False),
            limits=tuple((name, limit) for name, limit in data.get("limits", ())),
        )


class DiffKind(Enum):
    """What an ID-based diff does to the rows that it names."""

    INSERT = "+"
    DELETE = "-"
    UPDATE = "u"
    MOVE = "±"


@dataclass(frozen=True)
class IdDiff:
    """The schema of a layer that is an ID-based diff: a part of the IDs, and the columns that it sets.

    An insertion has all columns, and stands in the place of the row of the same IDs. A deletion and
    an update speak of every row that has their key. A move tells by how much sums and counts have moved;
    `counts` pairs a sum with the count of its values: where that is 0, the sum is NULL.
    """

    kind: DiffKind
    key: tuple[str, ...]
    sets: tuple[str, ...] = ()
    counts: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> list[Any]:
        counts = [list(self.counts)] if self.counts else []
        return [self.kind.value, list(self.key), list(self.sets), *counts]

    @staticmethod
    def from_json(data: list[Any]) -> IdDiff:
        kind, key, sets, *counts = data
        pairs = tuple((name, count) for name, count in counts[0]) if counts else ()
        return IdDiff(DiffKind(kind), tuple(key), tuple(sets), pairs)
