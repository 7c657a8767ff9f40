"""Work in several threads, where there is more than one thing to do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class AtOnce(Executor):
    """Runs what is submitted in the thread that submits it: for one thing to do, a thread more is only a
    thread to wait for."""

    def submit(self, fn: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*arguments, **options))
        except BaseException as error:
            future.set_exception(error)
        return future


def workers(tasks: int, most: int) -> Executor:
    """As many threads as there are tasks, and so many at most."""
    return ThreadPoolExecutor(min(tasks, most)) if tasks > 1 else AtOnce()
