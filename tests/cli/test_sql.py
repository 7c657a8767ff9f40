from __future__ import annotations

import json

import pytest

from viewkeeper.cli.prompt import history_file, leaves, run_all
from viewkeeper.errors import InvalidSQL
from viewkeeper.sql.header import is_complete, split_statements


def statements_run(warehouse):
    return [entry[1] for entry in warehouse.log if entry[0] == "sql"]


def test_a_query_prints_its_rows_as_a_table(run):
    result = run("sql", "SELECT n, t FROM x")
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert result.exit_code == 0
    assert lines[0] == ["n", "t"]
    assert lines[2] == ["0", "[row", "0]"]
    assert lines[-1] == ["5", "rows"]


def test_a_limit_says_that_there_are_more_rows(run):
    result = run("sql", "SELECT n, t FROM x", "--limit", "2", "--json")
    assert json.loads(result.stdout) == {
        "columns": ["n", "t"],
        "rows": [{"n": 0, "t": "[row 0]"}, {"n": 1, "t": "[row 1]"}],
        "truncated": True,
    }


def test_a_statement_prints_its_message(run):
    assert run("sql", "CREATE TABLE t (a INT)").stdout == "Created table t.\n"
    answer = run("sql", "CREATE TABLE t (a INT)", "--json").stdout
    assert json.loads(answer) == {"message": "Created table t.", "version": 7}


def test_several_statements_of_a_file_run_in_order(run, warehouse, tmp_path):
    script = tmp_path / "script.sql"
    script.write_text("CREATE TABLE t (a INT); -- one; two\nINSERT INTO t VALUES (';');\n")
    assert run("sql", "--file", str(script), "-w", "somewhere").exit_code == 0
    assert statements_run(warehouse) == ["CREATE TABLE t (a INT)", "-- one; two\nINSERT INTO t VALUES (';')"]
    assert warehouse.log[0] == ("open", "somewhere")
    assert warehouse.log[-1] == ("close",)


def test_piped_text_is_run(run, warehouse):
    assert run("sql", stdin="SELECT 1; SELECT 2").exit_code == 0
    assert statements_run(warehouse) == ["SELECT 1", "SELECT 2"]


def test_an_error_ends_the_script_with_code_1_and_no_traceback(run, warehouse):
    result = run("sql", "SELECT * FROM nowhere; SELECT 1")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "error: There is no table nowhere.",
        "  It is read in FROM [nowhere].",
        "  Create it first.",
    ]
    assert statements_run(warehouse) == ["SELECT * FROM nowhere"]
    assert warehouse.log[-1] == ("close",)


def test_an_error_as_json(run):
    result = run("sql", "SELECT * FROM nowhere", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"] == {
        "type": "UnknownTable",
        "message": "There is no table nowhere.",
        "detail": "It is read in FROM [nowhere].",
        "hint": "Create it first.",
    }


def test_a_conflict_has_its_own_exit_code(run):
    assert run("sql", "INSERT INTO conflict VALUES (1)").exit_code == 4


def test_statement_and_file_together_are_wrong_usage(run, tmp_path):
    script = tmp_path / "script.sql"
    script.touch()
    assert run("sql", "SELECT 1", "--file", str(script)).exit_code == 2
    assert run("sql", "--file", str(tmp_path / "missing.sql")).exit_code == 2


def test_an_unfinished_text_is_an_error_before_anything_runs(run, warehouse):
    result = run("sql", "SELECT 1; SELECT 'open")
    assert result.exit_code == 1
    assert statements_run(warehouse) == []


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ; ;", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT ';'; SELECT `a;b`", ["SELECT ';'", "SELECT `a;b`"]),
        ("/* a;b */ SELECT 1;", ["/* a;b */ SELECT 1"]),
        ("-- only a comment", []),
        ("SELECT 'ä'; SELECT 'ö'", ["SELECT 'ä'", "SELECT 'ö'"]),
    ],
)
def test_split(text, statements):
    assert split_statements(text) == statements


def test_split_refuses_an_unfinished_text():
    with pytest.raises(InvalidSQL):
        split_statements("SELECT 'a")


@pytest.mark.parametrize(
    ("text", "complete"),
    [("SELECT 1", False), ("SELECT 1;", True), ("SELECT ';", False), ("SELECT 1; -- done", True), ("", True)],
)
def test_the_prompt_waits_for_the_semicolon(text, complete):
    assert is_complete(text) is complete


@pytest.mark.parametrize(
    ("text", "over"), [("quit", True), ("EXIT;", True), (r"\q", True), ("SELECT 1;", False)]
)
def test_words_that_leave_the_prompt(text, over):
    assert leaves(text) is over


def test_an_error_does_not_end_the_prompt(warehouse, capsys):
    run_all(warehouse, "SELECT * FROM nowhere; SELECT 1;", limit=10)
    run_all(warehouse, "SELECT 2;", limit=10)
    assert statements_run(warehouse) == ["SELECT * FROM nowhere", "SELECT 2"]
    assert capsys.readouterr().err.startswith("error: There is no table nowhere.")


def test_history_is_kept_between_sessions(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "viewkeeper" / "history"
    assert history_file().parent.is_dir()


def test_the_prompt_reads_lines_until_a_semicolon(warehouse, monkeypatch, tmp_path, capsys):
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from viewkeeper.cli.prompt import interact

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("SELECT n\rFROM x;\rquit\r")
        interact(warehouse, limit=3)
    assert statements_run(warehouse) == ["SELECT n\nFROM x"]
    assert "first 3 rows" in capsys.readouterr().out
