"""A service over a log alone, without Spark: what the log tells is real, what Spark would say is given."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import uvicorn

from tests.serve.ask import Answer, get
from viewkeeper.algebra.schema import COUNT, Column, ForeignKey, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.catalog.freshness import TARGET_LAG
from viewkeeper.planning.cost import Estimate
from viewkeeper.planning.explanation import ExplainedStep, Explanation
from viewkeeper.report import Reason
from viewkeeper.serve.api import Service
from viewkeeper.serve.app import application
from viewkeeper.serve.chronicle import Chronicle
from viewkeeper.serve.desk import Desk
from viewkeeper.serve.guard import access
from viewkeeper.serve.jobs import Jobs
from viewkeeper.sql.selects import checked_select
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.failures import Failure, record
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile, Layer, RelationState
from viewkeeper.workspace import ProgressEvent

TOKEN = "a token for tests only"


def columns(*names: str, kind: str = "int") -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name in names)


STORES = TableSchema("stores", (*columns("storeID"), Column("city", "string")), ("storeID",))
POS = TableSchema(
    "pos", columns("storeID", "item", "qty"), (), (ForeignKey(("storeID",), "stores", ("storeID",)),)
)
VIEWS = (
    ViewDefinition("sales", "SELECT storeID, item FROM pos", columns("storeID", "item"), ("pos",)),
    ViewDefinition(
        "cities", "SELECT city FROM stores JOIN pos USING (storeID)", columns("city"), ("pos", "stores")
    ),
    ViewDefinition(
        "large",
        "SELECT storeID, qty -- the large ones\nFROM pos\nWHERE qty > 8",
        columns("storeID", "qty"),
        ("pos",),
        properties=((TARGET_LAG, "1 minute"),),
    ),
)
EXPLAINED = Explanation(
    "cities",
    "counting",
    Reason("incremental", "Only the change is computed."),
    (("counting", Estimate(3, 1, 1, 0.2)), ("recompute", Estimate(40, 4, 2, 0.9))),
    (("id-diffs", Reason("no-key", "The table pos has no primary key.")),),
    ("pos",),
    "inner join on storeID",
    (("__cities_1", 4),),
    (
        ExplainedStep(
            "Name near: broadcast", "SELECT * FROM stores", "near", ("stores",), "broadcast", "shared"
        ),
        ExplainedStep(
            "Append to cities (Δ)", "SELECT city FROM near", "cities", ("near", "pos__delta"), "", "Δ"
        ),
    ),
)


class Shown(Desk):
    """A desk whose warehouse is a log: `sales` fresh, `cities` stale, `large` failing."""

    def __init__(self, path: str) -> None:
        self.log = WarehouseLog(Folder(path))
        self.chronicle, self.jobs = Chronicle(self.log), Jobs()
        self.refreshing = cast(Any, self.log)  # what is closed at the end
        state = RelationState("r", POS.columns, 0, 1234)
        names = ("stores", "pos", *(one.name for one in VIEWS))
        filled = {one.name: replace(one, position=1, published=1) for one in VIEWS}
        catalog = Catalog({"stores": STORES, "pos": POS}, filled)
        reports = {"views": [report(one.name, "recompute", 2.0) for one in VIEWS]}
        assert self.log.commit(Entry(1, catalog, dict.fromkeys(names, state), "create view", report=reports))
        for name in ("sales", "cities", "sales"):
            self.change()
            Shown.refreshed(self, (name,), None, lambda _: None)
        failed = self.log.latest().written
        record(
            self.log.folder,
            Failure(failed, ("large",), "A value does not fit.", version=self.log.latest().version),
        )

    def leave(self) -> None:
        """There is no Spark."""

    def change(self) -> None:
        """One more row of pos."""
        base = self.log.latest()
        layer = Layer(base.version + 1, (DataFile("f", 1, 10, {COUNT: (1, 1)}),))
        pos = base.relations["pos"]
        pos = replace(pos, overlay=(*pos.overlay, layer), log=(*pos.log, layer))
        assert self.log.commit(Entry(base.version + 1, base.catalog, {**base.relations, "pos": pos}))

    def refreshed(
        self, views: tuple[str, ...], policy: str | None, tell: Callable[[ProgressEvent], None]
    ) -> Mapping[str, Any]:
        base = self.log.latest()
        catalog, version = base.catalog, base.version + 1
        for number, name in enumerate(views):
            tell(ProgressEvent("refresh", name, number, len(views)))
            catalog = catalog.with_view(
                replace(catalog.views[name], position=base.version, published=version)
            )
        reports = [report(name, "counting", 0.25) for name in views]
        assert self.log.commit(Entry(version, catalog, base.relations, "refresh", report={"views": reports}))
        return {"version": version, "views": reports}

    def _verified(self, view: str, tell: Callable[[ProgressEvent], None]) -> Mapping[str, Any]:
        return {"view": view, "equal": True, "verdict": "right"}

    def explain(self, view: str) -> Explanation:
        return replace(EXPLAINED, view=view)

    def rows(self, name: str, limit: int) -> dict[str, Any]:
        return {"columns": ["city", "n"], "rows": [["Lyon", 3], [None, 4]], "truncated": False}

    def query(self, sql: str, limit: int) -> dict[str, Any]:
        checked_select(sql, self.entry.catalog, frozenset())
        answered = {"view": "sales", "reason": {"code": "derives", "sentence": "sales derives the query."}}
        told = {
            **answered,
            "rejected": [{"view": "large", "code": "stale", "sentence": "Stale."}],
            "sql": sql,
        }
        return {"columns": ["storeID", "q"], "rows": [[1, 30], [2, 36]], "truncated": False, "answered": told}

    def lattice(self, entry: Entry) -> dict[str, Any]:
        edge = {"parent": "sales", "child": "cities", "joins": ["stores"], "chosen": True}
        return {"views": [], "edges": [edge]}


def report(view: str, strategy: str, seconds: float) -> dict[str, Any]:
    costs = {"rows_read": 3, "rows_written": 1, "actions": 1, "seconds": 0.2}
    details = {"estimate": costs, "alternatives": {"counting": costs, "recompute": {**costs, "seconds": 0.9}}}
    reason = {"code": "incremental", "sentence": "Only the change is computed."}
    told = {"rejected": {"id-diffs": "no-key"}, "reads": {"pos": 3}, "parent": None}
    known = {"view": view, "strategy": strategy, "reason": reason, "rows_read": 3, "rows_written": 1}
    return {**known, "seconds": seconds, "details": {**details, **told}}


@dataclass(frozen=True)
class Listening:
    """A service that listens."""

    url: str
    desk: Shown

    def get(self, path: str) -> Answer:
        return get(f"{self.url}{path}")


@contextmanager
def listening(path: str) -> Iterator[Listening]:
    """The service, in a thread of its own, until the block ends."""
    desk, port = Shown(path), free_port()
    app = application(Service(desk, None, access("127.0.0.1", (), TOKEN)))
    config = uvicorn.Config(app, port=port, log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        end = time.monotonic() + 60
        while not server.started and time.monotonic() < end:
            time.sleep(0.02)
        yield Listening(f"http://127.0.0.1:{port}", desk)
    finally:
        server.should_exit = True
        thread.join()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
