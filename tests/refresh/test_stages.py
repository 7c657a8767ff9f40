"""The stages of a refresh: the same for all that go through them, and each script is built once."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from viewkeeper.algebra.schema import COUNT, Column, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.errors import NotFound
from viewkeeper.inspect.status import status
from viewkeeper.limits import LIMITS
from viewkeeper.maintenance.incremental import Incremental
from viewkeeper.maintenance.recompute import Recompute
from viewkeeper.planning.explanation import unbound
from viewkeeper.refresh import explain as explained
from viewkeeper.refresh import life, measure
from viewkeeper.refresh.state import RefreshState, through
from viewkeeper.refresh.task import Task
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.execute import Execution
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile, Layer, RelationState
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace

SALES = TableSchema("sales", (Column("item", "int"), Column("price", "int")))
SUMS = ViewDefinition(
    "sums",
    "SELECT item, SUM(price) AS total FROM sales GROUP BY item",
    (Column("item", "int"), Column("total", "bigint")),
    ("sales",),
    position=1,
    published=1,
)
ONE_EACH = Counter({"Incremental": 1, "Recompute": 1})
ROW = Layer(2, (DataFile("f", 1, 10, {COUNT: (1, 1)}),))


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A warehouse of one table and one view of sums, which has not seen one inserted row; without Spark."""
    log = WarehouseLog(Folder(str(tmp_path)))
    catalog = Catalog({"sales": SALES}, {"sums": SUMS})
    top = compiled(SUMS, catalog).top
    assert top.state is not None
    stored = tuple(Column(name, "bigint") for name in top.state.columns)
    before = RelationState("sales", SALES.columns, 0, 1000)
    after = RelationState("sales", SALES.columns, 0, 1000, overlay=(ROW,), log=(ROW,))
    sums = RelationState("sums", stored, 0, 10, top.merge)
    assert log.commit(Entry(1, catalog, {"sales": before, "sums": sums}))
    assert log.commit(Entry(2, catalog, {"sales": after, "sums": sums}))
    monkeypatch.setattr(Workspace, "under", lambda self, view: nullcontext())
    monkeypatch.setattr(Execution, "physical", lambda self, plan: unbound(plan))
    engine = SimpleNamespace(
        is_netting=False, keeping=nullcontext, limits=LIMITS, access=SimpleNamespace(told="")
    )
    return Workspace(log, cast(SparkEngine, engine))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often which script was built."""
    found: Counter[str] = Counter()

    def counted(name: str, build: Any) -> Any:
        def counting(*arguments: Any) -> Any:
            found[name] += 1
            return build(*arguments)

        return counting

    for strategy in (Incremental, Recompute):
        monkeypatch.setattr(strategy, "plan", counted(strategy.__name__, strategy.plan))
    return found


def planned(work: Workspace) -> Task:
    stages = (*life.BEGUN, *life.COMPARED, *life.PLANNED)
    return through(stages, RefreshState(work, Draft(work.log.latest(), "refresh"))).tasks["sums"]


def test_each_stage_is_a_module_of_its_name() -> None:
    assert [stage.__module__ for stage in life.STAGES] == [
        f"viewkeeper.refresh.{stage.__name__}" for stage in life.STAGES
    ]
    assert len(set(life.STAGES)) == len(life.STAGES)


@pytest.mark.parametrize("fewer", [explained.STAGES, measure.STAGES])
def test_what_only_looks_goes_through_the_stages_of_a_refresh(fewer: tuple[Any, ...]) -> None:
    assert fewer == tuple(stage for stage in life.STAGES if stage in fewer)
    assert life.choose in fewer
    assert life.run not in fewer


def test_a_refresh_builds_one_script_that_maintains_and_one_that_recomputes(
    work: Workspace, built: Counter[str]
) -> None:
    task = planned(work)
    assert built == ONE_EACH
    assert task.choice is not None
    names = [one.strategy.name for one in task.choice.alternatives]
    assert names == ["summary-delta", "recompute"]
    assert task.script == task.choice.taken.script


def test_explain_builds_no_more_scripts_than_a_refresh(work: Workspace, built: Counter[str]) -> None:
    shown = explained.explain(work, "sums")
    assert built == ONE_EACH
    assert shown.strategy == "summary-delta"
    assert [step.title for step in shown.steps] == ["Append to sums (summary-delta)"]


def test_what_is_up_to_date_is_explained_by_the_log_alone(work: Workspace, tmp_path: Path) -> None:
    assert explained.explain_settled(work.log, "sums") is None, "a row is pending: Spark tells how it is run"
    assert explained.explain_settled(work.log, "SELECT item FROM sales") is None
    base = work.log.latest()
    seen = replace(base.catalog.views["sums"], position=2, published=2)
    assert work.log.commit(replace(base, version=3, catalog=Catalog(base.catalog.tables, {"sums": seen})))
    shown = explained.explain_settled(work.log, "SUMS")
    assert shown is not None
    assert (shown.strategy, shown.changed) == ("summary-delta", ("sales",))
    assert shown.steps
    with pytest.raises(NotFound, match="none"):
        explained.explain_settled(work.log, "none")


def test_what_is_chosen_is_what_explain_tells(work: Workspace) -> None:
    task, shown = planned(work), explained.explain(work, "sums")
    assert task.choice is not None
    assert shown.strategy == task.choice.strategy.name
    assert shown.expected == tuple((one.strategy.name, one.expected) for one in task.choice.alternatives)
    assert shown.changed == tuple(task.batch.changes) == ("sales",)


def test_a_refresh_plans_what_status_says_is_pending(work: Workspace) -> None:
    [_, view] = status(work.log)
    assert view.stale
    assert view.rows_behind == sum(change.rows for change in planned(work).batch.changes.values()) == 1
