from __future__ import annotations

import json


def test_advice_is_printed_as_tables_and_statements(run, warehouse):
    result = run("advise", "--budget", "50")
    assert result.exit_code == 0
    assert warehouse.log[1] == ("advise", None, 50, None, 1.0)
    assert "It answers 1 of 1 queries." in result.stdout
    assert "the workload reads 1,000 rows, then 10" in result.stdout
    assert result.stdout.rstrip().endswith("CREATE MATERIALIZED VIEW t_by_a;")


def test_a_workload_is_a_file_of_statements(run, warehouse, tmp_path):
    file = tmp_path / "queries.sql"
    file.write_text("SELECT 1; SELECT ';';")
    result = run("advise", "--workload", str(file), "--sql", "--most", "2", "--refreshes", "24")
    assert result.stdout == "CREATE MATERIALIZED VIEW t_by_a;\n"
    assert warehouse.log[1] == ("advise", ["SELECT 1", "SELECT ';'"], None, 2, 24.0)


def test_advice_as_json(run):
    found = json.loads(run("advise", "--json").stdout)
    assert found["rows_read"] == {"before": 1000, "after": 10}
    assert found["summaries"][0]["sql"] == "CREATE MATERIALIZED VIEW t_by_a"


def test_a_workload_that_is_not_there_is_wrong_usage(run):
    assert run("advise", "--workload", "nowhere.sql").exit_code == 2
