"""What is kept of the queries that are asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from viewkeeper.advise import workload
from viewkeeper.advise.workload import LoggedQuery, QueryLog, given, shape_of
from viewkeeper.errors import InvalidOption
from viewkeeper.storage.objects import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path))


def test_queries_of_one_shape_are_one_with_the_text_that_was_asked_last(folder: Folder) -> None:
    log = QueryLog(folder)
    for sql in ("SELECT 1", "SELECT a FROM t WHERE b = 'x'", "select a from t where b = 'y'", "SELECT 1"):
        log.note(sql)
    log.note("SELECT a FROM t WHERE b = 'z' ")
    assert QueryLog(folder).queries() == (
        LoggedQuery("SELECT a FROM t WHERE b = 'z'", 3, varies=True),
        LoggedQuery("SELECT 1", 2),
    )
    assert "'x'" not in folder.read(workload.PATH).decode()


def test_what_was_not_asked_for_longest_is_forgotten(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "MOST", 2)
    log = QueryLog(folder)
    for name in ("a", "b", "a", "c"):
        log.note(f"SELECT {name} FROM t")
    assert {query.sql for query in log.queries()} == {"SELECT a FROM t", "SELECT c FROM t"}
    assert len(json.loads(folder.read(workload.PATH))) == 2


def test_a_text_that_cannot_be_parsed_is_its_own_shape() -> None:
    assert shape_of("SELECT FROM (") == "SELECT FROM ("
    assert shape_of("SELECT a FROM t LIMIT 5") == shape_of("SELECT a FROM t LIMIT 7")


def test_a_workload_is_texts_or_how_often_each_is_asked() -> None:
    assert given(["SELECT 1", "SELECT 2", " SELECT 1"]) == (
        LoggedQuery("SELECT 1", 2),
        LoggedQuery("SELECT 2", 1),
    )
    assert given({"SELECT 1": 0.5, "SELECT 2": 3}) == (
        LoggedQuery("SELECT 2", 3),
        LoggedQuery("SELECT 1", 0.5),
    )
    with pytest.raises(InvalidOption, match="cannot be asked -1 times"):
        given({"SELECT 1": -1})
