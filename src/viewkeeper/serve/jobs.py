"""Long work that somebody asked for: one piece at a time, told while it is done, remembered for a while."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from viewkeeper.errors import ViewkeeperError
from viewkeeper.plain import told
from viewkeeper.workspace import ProgressEvent

REMEMBERED = 200
"""Jobs that can still be asked for, the newest."""

Work = Callable[[Callable[[ProgressEvent], None]], Mapping[str, Any]]
"""What is done: it tells of its progress, and gives its result."""

log = logging.getLogger("viewkeeper.serve")


@dataclass
class Job:
    """A refresh or a verification: what of, who asked, where it stands, and what came of it."""

    kind: str
    views: tuple[str, ...]
    by: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    asked: float = field(default_factory=time.time)
    state: str = "waiting"
    seconds: float = 0.0
    events: list[Mapping[str, Any]] = field(default_factory=list)
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    failure: Exception | None = None

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed")

    def tell(self, event: ProgressEvent) -> None:
        self.events.append(asdict(event))

    def to_dict(self) -> dict[str, Any]:
        plain = ("id", "kind", "by", "asked", "state", "seconds", "result", "error")
        return {"views": list(self.views), **{name: getattr(self, name) for name in plain}}


class Jobs:
    """Refreshes go one after the other, since each is a commit; verifications beside them, likewise."""

    def __init__(self) -> None:
        self._workers = {kind: ThreadPoolExecutor(1, f"viewkeeper-{kind}") for kind in ("refresh", "verify")}
        self._known: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, run: Job, work: Work) -> Future[Job]:
        """Has the work done when its turn comes; the future never fails: the run says what happened."""
        with self._lock:
            over = [one.id for one in self._known.values() if one.is_over]
            for old in over[: max(len(self._known) + 1 - REMEMBERED, 0)]:
                del self._known[old]
            self._known[run.id] = run
        return self._workers[run.kind].submit(self._done, run, work)

    def get(self, name: str) -> Job | None:
        return self._known.get(name)

    def __iter__(self) -> Iterator[Job]:
        """The newest first."""
        return iter(list(self._known.values())[::-1])

    def end(self) -> None:
        """Waits for what is running; what waits is not begun."""
        for worker in self._workers.values():
            worker.shutdown(wait=True, cancel_futures=True)

    def _done(self, run: Job, work: Work) -> Job:
        started, run.state = time.perf_counter(), "running"
        try:
            run.result = work(run.tell)
            run.state = "done"
        except ViewkeeperError as error:
            run.error, run.failure = told(error), error
        except Exception as error:
            what = "Something went wrong that Viewkeeper does not know."
            run.error = {"type": type(error).__name__, "message": what, "detail": str(error)[:500]}
            run.failure = error
            log.exception("a run failed", extra={"run": run.id, "views": list(run.views)})
        run.seconds = round(time.perf_counter() - started, 3)
        run.state = "done" if run.failure is None else "failed"
        fields = {"run": run.id, "views": list(run.views), "seconds": run.seconds, "by": run.by}
        log.info("%s %s", run.kind, run.state, extra={**fields, "error": run.error})
        return run
