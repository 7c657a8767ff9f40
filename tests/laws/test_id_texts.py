"""Random texts of SQL over keyed tables, kept by ID-based diffs on DuckDB: as recomputation has them.

What `test_id_diffs` is for plans that are drawn as trees, this is for all forms that SQL has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

import duckdb
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fuzz.forms import FORMS, Holes
from fuzz.sources import Draw
from fuzz.views import random_query, random_view
from tests.laws.settings import cases
from tests.laws.test_texts import ONLY_SPARK
from tests.maintenance.id_diffs.stage import Row, Stage
from tests.maintenance.id_diffs.views import SCHEMAS, random_change, random_tables
from tests.sizes import SIZES
from viewkeeper.algebra.relations import Relation
from viewkeeper.errors import ViewkeeperError
from viewkeeper.maintenance.id_diffs import Caching, IdView, Script, define
from viewkeeper.maintenance.program import without_unused
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

pytestmark = pytest.mark.timeout(0)  # a large run of one law takes its time
COLUMNS = {name: [(c.name, c.type) for c in schema.columns] for name, schema in SCHEMAS.items()}
CATALOG = StaticCatalog(SCHEMAS.values())
SEEDS = st.integers(0, 2**40)


@cache
def stage() -> Stage:
    return Stage(SCHEMAS.values())


def defined(text: str, random: Random) -> tuple[Relation, Script]:
    """The plan of a text and its script; the case is dropped where there is none."""
    assume(not ONLY_SPARK.search(text))
    try:
        plan = parse_view(text, CATALOG).relation
    except ViewkeeperError:
        plan = None
    found = None
    if plan is not None:
        plan = without_unused(plan)
        caching, tuple_based = random.choice(list(Caching)), random.random() < 0.3
        found = define("v", plan, SCHEMAS, caching=caching, tuple_based=tuple_based)
    assume(isinstance(found, IdView))
    assert plan is not None
    assert isinstance(found, IdView)
    return plan, found.script()


def is_kept(text: str, random: Random) -> None:
    plan, script = defined(text, random)
    for _ in range(SIZES.changes):
        before = random_tables(random)
        after, noise = random_change(random, before)
        try:
            stage().load(before, after, noise)
            stage().populate(script)
            wanted = rows(plan)
        except duckdb.Error:
            assume(False)
        stage().execute(script)
        assert rows("v", script.visible) == wanted, text


def rows(source: str | Relation, columns: Sequence[str] = ()) -> Counter[Row]:
    """Rows whose numbers in floating point are as equal as sums in another order are."""
    found = stage().connection.execute(stage().text(source, columns)).fetchall()
    return Counter(tuple(_plain(value) for value in row) for row in found)


def _plain(value: object) -> object:
    if isinstance(value, float):
        return "NaN" if value != value else float(f"{value:.9g}") + 0.0
    return str(value) if isinstance(value, list | dict) else value


@cases(60)
@given(SEEDS)
def test_random_texts(seed: int) -> None:
    random = Random(seed)
    is_kept(str(random_view(random, COLUMNS)), random)


@cases(60)
@given(st.sampled_from(FORMS), SEEDS)
def test_forms_of_sql(form: Callable[[Holes], str], seed: int) -> None:
    random = Random(seed)
    is_kept(form(Holes(Draw(random, COLUMNS, random_query))), random)


def test_an_update_beside_a_relation_without_ids() -> None:
    """The pairs that it loses have the IDs of one side only, and are told from those that it keeps."""
    text = "SELECT b, COUNT(*) AS n FROM r GROUP BY b HAVING COUNT(*) <> (SELECT COUNT(*) FROM s WHERE d = 1)"
    for seed in range(20):
        is_kept(text, Random(seed))
