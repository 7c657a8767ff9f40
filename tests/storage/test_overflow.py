"""When a stored sum must be looked at, since adding its layers may overflow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from viewkeeper.algebra.merge.spec import MergeSpec, Operator
from viewkeeper.algebra.schema import Column
from viewkeeper.storage.overflow import GREATEST, doubtful_sums
from viewkeeper.storage.relation import DataFile, Layer, RelationState

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


def test_shares_of_sums_have_limits_of_their_own() -> None:
    """Beyond the limit what derives from a share is looked at as well, where it may not fit its type."""
    columns = (*COLUMNS, Column("total", "decimal(38,2)"), Column("name", "string"))
    derived = (("total", "s"), ("name", "k"))
    spec = replace(SPEC, derived=derived, limits=(("s", 100),))
    given = RelationState("r", columns, 0, 1, spec, overlay=(Layer(1, (file(0, 60),)),))
    assert doubtful_sums(given, [file(-40, 40)]) == ()
    assert doubtful_sums(given, [file(-41, 40)]) == ("s", "total")


def test_bags_have_no_sums() -> None:
    assert doubtful_sums(RelationState("r", COLUMNS, 0, 1), []) == ()
