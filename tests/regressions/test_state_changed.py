"""Views whose state another version stored in other columns: they are computed anew once, and say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlglot import exp

import viewkeeper as vk
from viewkeeper import errors, views
from viewkeeper.algebra.expressions import Scalar
from viewkeeper.ddl import redefinition
from viewkeeper.delta import functions
from viewkeeper.delta.parts import Decomposition, Part, PartKind

TEXTS = {
    "spread": "SELECT g, VAR_POP(v) AS s, COUNT(*) AS n FROM t GROUP BY g",
    "doubled": "SELECT g, SUM(d) AS s FROM t GROUP BY g",
    "whole": "SELECT STDDEV(v) AS s, SUM(d) AS d FROM t",
    "beside": "SELECT t.k, q.s FROM t JOIN (SELECT g, VAR_POP(v) AS s FROM t GROUP BY g) q ON t.g = q.g",
    "untouched": "SELECT g, SUM(v) AS s, MIN(k) AS least FROM t GROUP BY g",
    "above": "SELECT n, COUNT(*) AS groups FROM spread GROUP BY n",
}
CHANGED = {"spread", "doubled", "whole", "beside"}


def sums_of_squares(call: Scalar, filtered: Callable[[Scalar], Scalar]) -> Decomposition:
    """What was kept of a variance once."""
    x = exp.cast(filtered(call.this), "double")
    variance = "(q - v * v / n) / n" if isinstance(call, exp.VariancePop) else "(q - v * v / n) / (n - 1)"
    shown = f"sqrt({variance})" if isinstance(call, exp.Stddev) else variance
    parts = (
        Part(PartKind.SUM, x),
        Part(PartKind.SUM, exp.Mul(this=x, expression=x.copy())),
        Part(PartKind.COUNT, x),
    )
    return Decomposition(f"CASE WHEN n > 1 THEN {shown} END", tuple(zip("vqn", parts, strict=True)))


def no_types(*arguments: Any) -> tuple[()]:
    return ()


@pytest.fixture
def stored_before(warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> vk.Warehouse:
    """A warehouse as it was stored when variances were sums of squares, and types were not asked for."""
    filled(warehouse)
    with monkeypatch.context() as before:
        before.setattr(functions, "moments_of", sums_of_squares)
        before.setattr(redefinition, "summed_types", no_types)
        before.setattr(redefinition, "is_outdated", lambda *_: False)
        views._compiled.cache_clear()
        for name, text in TEXTS.items():
            warehouse.create_view(name, text)
    views._compiled.cache_clear()
    return vk.open(warehouse.path, warehouse.spark)


def filled(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (k INT, g INT, v INT, d DOUBLE, PRIMARY KEY (k))")
    warehouse.sql("INSERT INTO t SELECT id, id % 3, id % 4, id / 4D FROM range(1, 13)")


def refreshed(warehouse: vk.Warehouse, change: str, policy: str = "incremental") -> dict[str, str]:
    """Why each view was refreshed as it was, after a change; all are right then."""
    warehouse.sql(change)
    report = warehouse.refresh(policy=policy)
    assert [name for name in TEXTS if not warehouse.verify(name)] == []
    return {entry.view: entry.reason.code for entry in report}


def outdated(reasons: dict[str, str]) -> set[str]:
    return {name for name, code in reasons.items() if code == "state-changed"}


def test_what_another_version_stored_is_computed_anew_once(stored_before: vk.Warehouse) -> None:
    assert outdated(refreshed(stored_before, "DELETE FROM t WHERE k = 1")) == CHANGED
    assert not outdated(refreshed(stored_before, "INSERT INTO t VALUES (20, 1, 9, 0.5)"))
    assert not outdated(refreshed(stored_before, "DELETE FROM t WHERE g = 2"))


def test_strict_views_say_what_to_do(stored_before: vk.Warehouse) -> None:
    stored_before.sql("INSERT INTO t VALUES (20, 1, 9, 0.5)")
    with pytest.raises(errors.CannotMaintain, match=r'refresh\(policy="full"\)') as raised:
        stored_before.refresh(policy="strict")
    assert raised.value.code == "state-changed"
    assert outdated(refreshed(stored_before, "DELETE FROM t WHERE k = 2", "full")) == CHANGED
    assert not outdated(refreshed(stored_before, "INSERT INTO t VALUES (21, 1, 9, 0.5)", "strict"))


def test_queries_are_not_answered_from_outdated_state(stored_before: vk.Warehouse) -> None:
    text = TEXTS["doubled"]
    assert stored_before.explain_query(text).view is None
    refreshed(stored_before, "DELETE FROM t WHERE k = 1")
    assert stored_before.explain_query(text).view == "doubled"


def test_what_was_stored_by_this_version_is_kept(warehouse: vk.Warehouse) -> None:
    filled(warehouse)
    for name, text in TEXTS.items():
        warehouse.create_view(name, text)
    average = "SELECT g, AVG(CAST(v AS BIGINT)) AS a, MAX(d) AS m FROM t GROUP BY g"
    warehouse.create_view("by_ids", average, strategy="id-diffs")
    reopened = vk.open(warehouse.path, warehouse.spark)
    assert not outdated(refreshed(reopened, "INSERT INTO t VALUES (20, 1, 9, 0.5)"))
    assert reopened.verify("by_ids")
