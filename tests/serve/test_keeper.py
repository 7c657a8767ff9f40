"""What a keeper does turn by turn, over a log without Spark; time is a number that tests set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from viewkeeper.algebra.schema import COUNT, Column, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.catalog.freshness import SCHEDULE, TARGET_LAG
from viewkeeper.errors import WrongType
from viewkeeper.serve.jobs import Job, Jobs
from viewkeeper.serve.keeper import Keeper
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.failures import failures
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile, Layer, RelationState

COLUMNS = (Column("a", "int"),)


def view(name: str, *properties: tuple[str, str], tables: tuple[str, ...] = ("t",)) -> ViewDefinition:
    return ViewDefinition(
        name, f"SELECT a FROM {tables[0]}", COLUMNS, tables, position=1, published=1, properties=properties
    )


class Double:
    """A warehouse of a log alone: refreshes move views to the newest version, but for the broken ones."""

    def __init__(self, path: Path, *views: ViewDefinition) -> None:
        self.log, self.jobs = WarehouseLog(Folder(str(path))), Jobs()
        self.done: list[tuple[str, ...]] = []
        self.broken: set[str] = set()
        self.later = timedelta()
        state = RelationState("r", COLUMNS, 0, 1)
        names = {one.name: one for one in views}
        catalog = Catalog({"t": TableSchema("t", COLUMNS)}, names)
        assert self.log.commit(Entry(1, catalog, dict.fromkeys(("t", *names), state)))

    def clock(self) -> datetime:
        return datetime.now(UTC) + self.later

    def change(self) -> None:
        """One more row of the table."""
        base = self.log.latest()
        layer = Layer(base.version + 1, (DataFile("f", 1, 10, {COUNT: (1, 1)}),))
        table = base.relations["t"]
        table = replace(table, overlay=(*table.overlay, layer), log=(*table.log, layer))
        after = Entry(base.version + 1, base.catalog, {**base.relations, "t": table})
        assert self.log.commit(after)

    def refreshed(
        self, views: tuple[str, ...], policy: str | None, tell: Callable[..., None]
    ) -> Mapping[str, Any]:
        self.done.append(views)
        if self.broken & set(views):
            raise WrongType(f"A value of {views[0]} does not fit.")
        base = self.log.latest()
        catalog, version = base.catalog, base.version + 1
        for name in views:
            moved = replace(catalog.views[name], position=base.version, published=version)
            catalog = catalog.with_view(moved)
        reports = [{"view": name, "strategy": "counting", "seconds": 0.1} for name in views]
        assert self.log.commit(Entry(version, catalog, base.relations, "refresh", report={"views": reports}))
        return {"version": version}


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Callable[..., tuple[Keeper, Double]]]:
    made: list[Double] = []

    def make(*views: ViewDefinition) -> tuple[Keeper, Double]:
        double = Double(tmp_path / "warehouse", *views)
        made.append(double)
        return Keeper(double, poll=2.0, clock=double.clock), double

    yield make
    for one in made:
        one.jobs.end()


MINUTE = (TARGET_LAG, "1 minute")


def test_what_is_due_is_refreshed_in_one_commit_and_then_left_alone(keeper):
    kept, double = keeper(view("v", MINUTE), view("w", MINUTE), view("never"))
    assert kept.turn() == 2.0
    double.change()
    kept.turn()
    assert double.done == []
    double.later = timedelta(seconds=60)
    kept.turn()
    kept.turn()
    assert double.done == [("v", "w")]
    assert double.log.latest().version == 3


def test_one_that_fails_is_tried_alone_rests_and_is_told_while_others_go_on(keeper):
    kept, double = keeper(view("v", MINUTE), view("w", MINUTE))
    double.broken = {"w"}
    double.change()
    double.later = timedelta(seconds=60)
    kept.turn()
    assert double.done == [("v", "w"), ("v",), ("w",)]
    kept.turn()
    assert len(double.done) == 3
    double.later += timedelta(seconds=6)
    kept.turn()
    assert double.done[3:] == [("w",)]
    double.later += timedelta(seconds=6)
    kept.turn()
    assert len(double.done) == 4
    assert [one.what for one in failures(double.log.folder)] == ["A value of w does not fit."] * 2
    assert (kept.seen["w"].failures, kept.seen["w"].total_failures) == (2, 2)
    double.broken = set()
    double.later += timedelta(seconds=6)
    kept.turn()
    assert double.done[4:] == [("w",)]
    assert (kept.seen["w"].failures, kept.seen["w"].total_failures) == (0, 2)


def test_a_lag_that_cannot_be_met_is_told_once_and_not_tried_in_a_loop(keeper, caplog):
    kept, double = keeper(view("v", (TARGET_LAG, "1 second")))
    kept.seen["v"].seconds = 100.0
    double.change()
    double.later = timedelta(seconds=50)
    kept.turn()
    kept.turn()
    assert double.done == []
    assert kept.unmet == {"v": "A refresh takes 100 s, and the target lag is 1 s."}
    double.later = timedelta(seconds=101)
    kept.turn()
    assert double.done == [("v",)]


def test_a_schedule_that_passes_with_nothing_to_do_waits_for_its_next_time(keeper):
    kept, double = keeper(view("v", (SCHEDULE, "every 1 hour")))
    double.later = timedelta(minutes=61)
    kept.turn()
    double.change()
    kept.turn()
    assert double.done == []
    double.later = timedelta(minutes=122)
    kept.turn()
    assert double.done == [("v",)]


def test_it_ends_after_the_turn_that_is_under_way(keeper):
    kept, double = keeper(view("v", (TARGET_LAG, "1 second")))
    double.change()
    double.later = timedelta(seconds=60)
    kept.start()
    kept.end()
    number = len(double.done)
    double.change()
    assert (len(double.done), number <= 1) == (number, True)
    with pytest.raises(RuntimeError):
        kept.start()


def test_jobs_tell_what_happened_and_the_oldest_are_forgotten():
    jobs = Jobs()
    done = jobs.start(Job("refresh", ("v",), "request"), lambda tell: {"version": 2}).result()
    assert (done.state, done.result) == ("done", {"version": 2})

    def fail(_: Any) -> Any:
        raise WrongType("A value does not fit.", "NULL", "Mend it.")

    failed = jobs.start(Job("refresh", ("v",), "request"), fail).result()
    assert failed.error == {
        "type": "WrongType",
        "message": "A value does not fit.",
        "detail": "NULL",
        "hint": "Mend it.",
    }
    for _ in range(210):
        jobs.start(Job("verify", ("v",), "request"), lambda tell: {}).result()
    assert len(list(jobs)) == 200
    assert jobs.get(done.id) is None
    jobs.end()
