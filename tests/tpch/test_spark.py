"""Queries of TPC-H, translated and rendered for Spark, answer as their texts do; in the long form all are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.sizes import SIZES, spread
from tests.tpch.database import SCHEMAS
from tests.tpch.queries import QUERIES
from viewkeeper.algebra.counts import plain
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import SPARK, render

CATALOG = StaticCatalog(SCHEMAS)


@pytest.fixture(scope="module")
def tables(spark: Any, tpch_files: dict[str, Path]) -> Any:
    for name, path in tpch_files.items():
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
    yield spark
    for name in tpch_files:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("name", spread(list(QUERIES), SIZES.tpch))
def test_translation_answers_as_the_text(name: str, tables: Any) -> None:
    view = parse_view(QUERIES[name], CATALOG)
    assert view.relation is not None, view.untranslatable
    text = QUERIES[name]
    wanted = [tuple(row) for row in tables.sql(text).collect()]
    found = [tuple(row) for row in tables.sql(render(plain(view.relation), SPARK)).collect()]
    assert wanted
    assert tables.sql(text).columns == list(view.columns)
    assert Counter(found) == Counter(wanted)
