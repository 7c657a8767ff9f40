"""Long work that somebody asked for: one piece at a time, told while it is done, remembered for a while."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from typing import Any

from viewkeeper.errors import ViewkeeperError
from viewkeeper.plain import told
from viewkeeper.workspace import ProgressEvent

REMEMBERED = 200
"""Jobs that can still be asked for, the newest."""

Work = Callable[[Callable[[ProgressEvent], None]], Mapping[str, Any]]
"""What is done: it tells of its progress, and gives its result."""

NOT_BEGUN = ViewkeeperError("The service ended before this began.", hint="Ask again when it runs.")
GIVEN_UP = ViewkeeperError(
    "The service ended before this was finished.",
    "What it had not committed by then is not visible, and never will be.",
    "`viewkeeper history` tells what was committed; ask again when the service runs.",
)

log = logging.getLogger("viewkeeper.serve")


@dataclass
class Job:
    """A refresh or a verification: what of, who asked, where it stands (waiting, running, done, failed or
    cancelled), and what came of it."""

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
    over: Future[Job] = field(default_factory=Future, repr=False)
    """Never fails: the job says what happened."""

    @property
    def is_over(self) -> bool:
        return self.over.done()

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
        self._is_closed = False
        self._lock = threading.Lock()

    def start(self, run: Job, work: Work) -> Future[Job]:
        """Has the work done when its turn comes; the future never fails: the run says what happened."""
        with self._lock:
            over = [one.id for one in self._known.values() if one.is_over]
            for old in over[: max(len(self._known) + 1 - REMEMBERED, 0)]:
                del self._known[old]
            self._known[run.id] = run
            may_begin = not self._is_closed
            if may_begin:
                self._workers[run.kind].submit(self._done, run, work)
        if not may_begin:
            self._end(run, "cancelled", failure=NOT_BEGUN)
        return run.over

    def get(self, name: str) -> Job | None:
        return self._known.get(name)

    def __iter__(self) -> Iterator[Job]:
        """The newest first."""
        return iter(list(self._known.values())[::-1])

    def end(self, grace: float | None = None) -> None:
        """Nothing begins any more, and what waits is cancelled; what runs may finish, in so many seconds."""
        with self._lock:
            self._is_closed = True
            waiting = [run for run in self._known.values() if run.state == "waiting"]
        for run in waiting:
            self._end(run, "cancelled", failure=NOT_BEGUN)
        for worker in self._workers.values():
            worker.shutdown(wait=False, cancel_futures=True)
        wait([run.over for run in self], grace)

    def give_up(self) -> None:
        """What still runs is over for whoever asks, whatever its thread does."""
        for run in self:
            self._end(run, "cancelled", failure=GIVEN_UP)

    def _done(self, run: Job, work: Work) -> None:
        with self._lock:
            if run.is_over:
                return
            run.state = "running"
        started = time.perf_counter()
        result, failure = None, None
        try:
            result = work(run.tell)
        except Exception as error:
            failure = error
        seconds = round(time.perf_counter() - started, 3)
        self._end(run, "done" if failure is None else "failed", result, failure, seconds)

    def _end(
        self,
        run: Job,
        state: str,
        result: Mapping[str, Any] | None = None,
        failure: Exception | None = None,
        seconds: float = 0.0,
    ) -> None:
        """The first end of a run is what it came to."""
        with self._lock:
            if run.is_over:
                return
            run.result, run.failure, run.seconds = result, failure, seconds
            run.error = None if failure is None else _error(failure)
            run.state = state
            run.over.set_result(run)
        fields = {"run": run.id, "views": list(run.views), "seconds": run.seconds, "by": run.by}
        log.info("%s %s", run.kind, run.state, extra={**fields, "error": run.error})
        if failure is not None and not isinstance(failure, ViewkeeperError):
            log.error("a run failed", exc_info=failure, extra={"run": run.id, "views": list(run.views)})


def _error(failure: Exception) -> Mapping[str, Any]:
    if isinstance(failure, ViewkeeperError):
        return told(failure)
    what = "Something went wrong that Viewkeeper does not know."
    return {"type": type(failure).__name__, "message": what, "detail": str(failure)[:500]}
