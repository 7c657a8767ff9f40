"""A service of its own process that is told to end, or is killed, while it refreshes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import viewkeeper as vk
from tests.serve.ask import get
from tests.serve.running import filled, until
from tests.serve.shown import TOKEN, Shown, free_port
from viewkeeper.errors import InvalidOption, ViewkeeperError
from viewkeeper.serve.api import Service
from viewkeeper.serve.guard import access
from viewkeeper.serve.jobs import Job, Jobs
from viewkeeper.serve.server import answer
from viewkeeper.storage.commits import WarehouseLog
from viewkeeper.storage.objects import Folder

ROOT = Path(__file__).parents[2]


@dataclass
class Ending:
    """A service, and its process."""

    url: str
    process: subprocess.Popen[bytes]

    def answers(self) -> bool:
        assert self.process.poll() is None, "the service has ended"
        try:
            return get(f"{self.url}/healthz").status == 200
        except OSError:
            return False

    def refresh(self, *views: str) -> str:
        """The number of a refresh that was asked for."""
        return str(get(f"{self.url}/api/refresh", {"views": views}, TOKEN).json["id"])

    def run(self, name: str) -> Any:
        return get(f"{self.url}/api/runs/{name}").json

    def ended(self) -> tuple[int, str]:
        """How the process has ended, and what it has said."""
        _, said = self.process.communicate(timeout=240)
        return self.process.returncode, said.decode()


@contextmanager
def running(port: int, *command: str) -> Iterator[Ending]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    more = {"VIEWKEEPER_TOKEN": TOKEN, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.Popen([sys.executable, "-m", *command], env={**own, **more}, stderr=subprocess.PIPE)
    try:
        service = Ending(f"http://127.0.0.1:{port}", process)
        until(service.answers)
        yield service
    finally:
        process.kill()


@contextmanager
def slow(path: Path, grace: float) -> Iterator[Ending]:
    """A service whose first refresh has begun, and waits for the file `go`."""
    port = free_port()
    with running(port, "tests.serve.slow", str(path), str(port), str(grace)) as service:
        first = service.refresh("sales")
        until(lambda: service.run(first)["state"] == "running")
        yield service


class Stream(threading.Thread):
    """The events of a run, until there are no more."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.answer, self.text = urlopen(url), ""
        self.start()

    def run(self) -> None:
        with self.answer:
            self.text = self.answer.read().decode()


def newest(path: Path) -> int:
    return WarehouseLog(Folder(str(path))).latest().version


def test_what_runs_is_finished_and_what_waits_is_cancelled(tmp_path: Path):
    with slow(tmp_path, grace=120) as service:
        before = newest(tmp_path)
        runs = get(f"{service.url}/api/runs").json
        second = service.refresh("cities")
        streams = [Stream(f"{service.url}/api/runs/{run}/events") for run in (runs[0]["id"], second)]
        service.process.send_signal(signal.SIGTERM)
        waited = until(lambda: service.run(second)["error"])
        refused = service.run(service.refresh("large"))
        (tmp_path / "go").touch()
        code, said = service.ended()
    for one in streams:
        one.join()
    assert waited["message"] == refused["error"]["message"] == "The service ended before this began."
    assert ['"state": "done"' in streams[0].text, '"state": "cancelled"' in streams[1].text] == [True, True]
    assert (code, newest(tmp_path)) == (0, before + 1)
    assert '"message": "ending: what is running is finished first"' in said


def test_what_does_not_finish_is_given_up_and_the_process_ends(tmp_path: Path):
    with slow(tmp_path, grace=0.2) as service:
        before = newest(tmp_path)
        stream = Stream(f"{service.url}/api/runs/{get(f'{service.url}/api/runs').json[0]['id']}/events")
        with socket.create_connection(("127.0.0.1", int(service.url.rpartition(":")[2]))) as never_answered:
            never_answered.sendall(b"GET /api/views/sales/explain HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            until(service.answers)
            service.process.send_signal(signal.SIGTERM)
            code, said = service.ended()
        stream.join()
    assert "The service ended before this was finished." in stream.text
    assert (code, newest(tmp_path)) == (0, before)
    assert '"message": "ended without what would not end"' in said


def test_a_second_signal_ends_it_at_once(tmp_path: Path):
    with slow(tmp_path, grace=600) as service:
        before = newest(tmp_path)
        second = service.refresh("cities")
        service.process.send_signal(signal.SIGTERM)
        until(lambda: service.run(second)["state"] == "cancelled")
        service.process.send_signal(signal.SIGTERM)
        assert service.ended()[0] == -signal.SIGTERM
    assert newest(tmp_path) == before


def test_what_was_given_up_commits_nothing_later(tmp_path: Path):
    desk, begun, go = Shown(str(tmp_path)), threading.Event(), threading.Event()
    before, failed = newest(tmp_path), []

    def commits_late(_: Any) -> Any:
        begun.set()
        go.wait()
        try:
            desk.change()
        except ViewkeeperError as error:
            failed.append(error.what)
            raise

    run = Job("refresh", ("sales",), "request")
    over = desk.jobs.start(run, commits_late)
    begun.wait()
    desk.end(0)
    assert over.result(0).state == "cancelled"
    go.set()
    until(lambda: failed)
    assert failed == ["This warehouse was closed."]
    assert (run.state, newest(tmp_path)) == ("cancelled", before)


def test_nothing_begins_after_the_end():
    jobs = Jobs()
    jobs.end()
    late = jobs.start(Job("verify", ("v",), "request"), lambda _: {"n": 1}).result(0)
    assert (late.state, late.result) == ("cancelled", None)


def test_a_port_that_is_taken_is_told(tmp_path: Path):
    service = Service(Shown(str(tmp_path)), None, access("127.0.0.1"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InvalidOption, match="cannot listen on"):
            answer(service, "127.0.0.1", other.getsockname()[1])


def test_a_refresh_is_whole_or_was_never_there(spark, connect_address: str, tmp_path: Path):
    path = str(tmp_path / "warehouse")
    wh = filled(path, spark)
    for told in (signal.SIGKILL, signal.SIGTERM):
        port = free_port()
        command = ("viewkeeper", "serve", "-w", path, "--port", str(port), "--only-show")
        with running(port, *command, "--remote", connect_address) as service:
            wh.sql("INSERT INTO pos VALUES (1, 1, 9), (2, 2, 9)")
            before = wh.version
            run = service.refresh()
            until(lambda asked=service, run=run: asked.run(run)["state"] != "waiting")
            service.process.send_signal(told)
            code, said = service.ended()
        assert code == (0 if told is signal.SIGTERM else -told), said
        assert "ended without what would not end" not in said
        again = vk.open(path, spark=spark)
        assert again.version in (before, before + 1)
        assert {one.stale for one in again.status() if one.kind == "view"} == {again.version == before}
        again.refresh()
    assert all(again.verify(name) for name in ("sales", "cities", "large"))
