"""Every query of TPC-H, translated and rendered for DuckDB, answers as its text does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlglot

from tests.tpch.database import SCHEMAS
from tests.tpch.queries import QUERIES
from viewkeeper.algebra.counts import plain
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import DUCKDB, render

CATALOG = StaticCatalog(SCHEMAS)


@pytest.fixture(scope="module")
def database(tpch_files: dict[str, Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, path in tpch_files.items():
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{path}')")
        yield connection


@pytest.mark.parametrize("name", QUERIES)
def test_translation_answers_as_the_text(name: str, database: duckdb.DuckDBPyConnection) -> None:
    view = parse_view(QUERIES[name], CATALOG)
    assert view.relation is not None, view.untranslatable
    text = sqlglot.transpile(QUERIES[name], read="spark", write="duckdb")[0]
    wanted = database.execute(text).fetchall()
    found = database.execute(render(plain(view.relation), DUCKDB)).fetchall()
    assert wanted
    assert any(value is not None for row in wanted for value in row)
    assert Counter(found) == Counter(wanted)
