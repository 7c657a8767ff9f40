"""When a stored sum must be looked at, since adding its layers may overflow."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.schema import Column
from viewkeeper.storage.overflow import GREATEST, doubtful_sums
from viewkeeper.storage.relation import DataFile, Layer, MergeSpec, Operator, RelationState

SPEC = MergeSpec(("k",), (("n", Operator.ADD), ("s", Operator.ADD), ("m", Operator.MAX)))
COLUMNS = (Column("k", "int"), *(Column(name, "bigint") for name in ("n", "s", "m")))


def file(low: int, high: int) -> DataFile:
    return DataFile("f", 1, 1, {"n": (1, 1), "s": (low, high), "m": (GREATEST, GREATEST)})


def state(*layers: DataFile) -> RelationState:
    return RelationState("r", COLUMNS, 0, 1, SPEC, overlay=tuple(Layer(1, (one,)) for one in layers))


@pytest.mark.parametrize(
    ("main", "layers", "doubtful"),
    [
        (file(0, 10), [file(-5, 7)], ()),
        (file(0, GREATEST - 7), [file(-5, 7)], ()),
        (file(0, GREATEST - 7), [file(-5, 8)], ("s",)),
        (file(-GREATEST, 0), [file(-5, 0)], ("s",)),
        (file(0, GREATEST - 7), [file(0, 4), file(0, 4)], ("s",)),
        (file(0, GREATEST), [], ()),
        (file(0, GREATEST), [DataFile("f", 1, 1, {}, frozenset({"s"}))], ()),
    ],
)
def test_sums_that_may_not_fit(main: DataFile, layers: list[DataFile], doubtful: tuple[str, ...]) -> None:
    assert doubtful_sums(state(*layers), [main]) == doubtful


def test_bags_have_no_sums() -> None:
    assert doubtful_sums(RelationState("r", COLUMNS, 0, 1), []) == ()
