"""The plan of a query answers as its text does, on databases with NULLs and duplicates."""

from __future__ import annotations

import duckdb
import pytest

from tests.sql.database import database, of_text, of_translation
from tests.sql.texts import TEXTS

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def databases() -> list[duckdb.DuckDBPyConnection]:
    return [database(seed) for seed in SEEDS]


@pytest.mark.parametrize("sql", TEXTS)
def test_plan_answers_as_the_text(sql: str, databases: list[duckdb.DuckDBPyConnection]) -> None:
    for connection in databases:
        assert of_translation(connection, sql) == of_text(connection, sql)


def test_the_table_of_texts_is_wide() -> None:
    assert len(set(TEXTS)) > 250
