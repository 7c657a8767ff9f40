"""`create`, `drop`, `changes`, `vacuum`, and the options of Spark that all commands take."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from viewkeeper.cli import app
from viewkeeper.spark import start
from viewkeeper.spark.quiet import quiet
from viewkeeper.spark.start import Wanted, defaults, given, settings


def test_a_table_comes_from_a_file_and_a_view_from_a_query(run, warehouse):
    found = run("create", "t", "--from", "rows.csv", "--key", "a, b")
    assert (found.exit_code, found.output) == (0, "Created table t: version 9.\n")
    found = run("create", "v", "--as", "SELECT 1", "--target-lag", "1 minute", "--json")
    assert json.loads(found.output) == {"message": "Created view v.", "version": 9}
    asked = {"policy": "auto", "target_lag": "1 minute", "schedule": None, "populate": True}
    done = [one for one in warehouse.log if one[0].startswith("create")]
    assert done == [("create table", "t", "rows.csv", ("a", "b")), ("create view", "v", "SELECT 1", asked)]


WRONG = [
    ("create", "t"),
    ("create", "t", "--from", "f", "--as", "SELECT 1"),
    ("create", "t", "--from", "f", "--target-lag", "1 minute"),
    ("create", "v", "--as", "SELECT 1", "--key", "a"),
    ("changes", "t"),
    ("vacuum", "--keep", "0"),
    ("status", "--conf", "spark.x"),
    ("status", "--conf", "x=1"),
    ("status", "--master", "local", "--remote", "sc://h"),
    ("refresh", "--via", "http://h", "--check", "1"),
]


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_is_told_before_anything_is_done(run, warehouse, arguments):
    assert run(*arguments).exit_code == 2
    assert warehouse.log == []


def test_drop_and_vacuum(run, warehouse):
    assert run("drop", "t", "--cascade").exit_code == 0
    assert run("vacuum", "--keep", "5").output == "Removed 3 files; the newest 5 versions stay.\n"
    assert [one for one in warehouse.log if one[0] in ("drop", "vacuum")] == [
        ("drop", "t", True),
        ("vacuum", 5),
    ]


def test_a_service_that_is_not_there_is_told(run):
    found = run("refresh", "--via", "http://127.0.0.1:9", "--json")
    assert found.exit_code == 1
    assert json.loads(found.output)["error"]["message"] == "There is no service at http://127.0.0.1:9."
    assert run("refresh", "--via", "file:///etc/passwd").exit_code == 1


def test_every_command_says_where_spark_runs(run, monkeypatch):
    asked = []
    monkeypatch.setattr(start, "want", asked.append)
    assert (
        run("status", "--master", "local[3]", "--conf", "spark.a=b=c", "--conf", "spark.d=e").exit_code == 0
    )
    assert run("status", "--remote", "sc://h:15002").exit_code == 0
    assert asked == [
        Wanted("local[3]", None, {"spark.a": "b=c", "spark.d": "e"}),
        Wanted(None, "sc://h:15002"),
    ]
    for command in app.registered_commands:
        assert {"master", "remote", "conf"} <= set(command.callback.__signature__.parameters)


def test_sessions_are_as_asked_then_as_the_environment_says_then_as_the_machine_is(tmp_path):
    plain = settings(Wanted(), {}, 8, 64_000)
    assert plain == defaults(8, 64_000)
    assert (plain["spark.master"], plain["spark.driver.memory"]) == ("local[8]", "16000m")
    assert defaults(1, 2_000)["spark.driver.memory"] == "1024m"
    assert defaults(1, 900_000)["spark.driver.memory"] == "32768m"
    (tmp_path / "spark-defaults.conf").write_text("# comment\nspark.sql.shuffle.partitions 7\nspark.x=1\n")
    environment = {
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": "--master yarn --conf spark.ui.enabled=true --driver-memory=3g pyspark-shell",
    }
    said = {
        "spark.sql.shuffle.partitions",
        "spark.x",
        "spark.master",
        "spark.ui.enabled",
        "spark.driver.memory",
    }
    assert given(environment) == said
    assert not said & settings(Wanted(), environment, 8, 64_000).keys()
    asked = settings(Wanted("local[1]", conf={"spark.x": "2"}), environment, 8, 64_000)
    assert (asked["spark.master"], asked["spark.x"]) == ("local[1]", "2")
    submitted = {"PYSPARK_GATEWAY_PORT": "1"}
    assert settings(Wanted(), submitted, 8, 64_000) == {}
    assert settings(Wanted("local"), submitted, 8, 64_000) == {"spark.master": "local"}


def test_what_java_says_when_it_starts_is_dropped_and_trouble_is_passed_on(capfd):
    lines = r"WARNING: Using incubator modules: x\nSetting Spark log level to ERROR\nreal trouble\n"
    with quiet():
        subprocess.run([sys.executable, "-c", f"import sys; sys.stderr.write('{lines}')"], check=True)
    said, end = "", time.monotonic() + 60
    while "real trouble" not in said and time.monotonic() < end:
        said += capfd.readouterr().err
        time.sleep(0.01)
    assert said == "real trouble\n"
    sys.stderr.write("later\n")
    sys.stderr.flush()
    assert capfd.readouterr().err == "later\n"
