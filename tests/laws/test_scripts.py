"""Random texts of SQL, kept by whole Δ-scripts on DuckDB: after each batch readers see what the plan answers.

The strata of a view, their state, and the steps are those that Spark runs; only the engine is another.
"""

from __future__ import annotations

from random import Random

import duckdb
from hypothesis import assume, given
from hypothesis import strategies as st

from fuzz.forms import FORMS, Holes
from fuzz.sources import Draw
from fuzz.views import random_query, random_view
from tests.laws.databases import TABLES, Bag, Change, History, histories
from tests.laws.harness import load, value
from tests.laws.scripts import NoType, Player, types_of
from tests.laws.settings import cases
from tests.laws.test_texts import COLUMNS, SEEDS, plan_of
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.maintenance import typed_calls
from viewkeeper.maintenance.program import program, without_unused
from viewkeeper.maintenance.strategy import Batch, Stored, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.maintenance.typed_calls import with_types
from viewkeeper.planning.planner import candidates
from viewkeeper.views import summary_of

SCHEMAS = tuple(TableSchema(name, columns) for name, columns in TABLES.items())


def view_of(text: str) -> View:
    """A view without recursion, as strategies see it; where DuckDB's CORR is NaN, Spark's is NULL."""
    assume("CORR" not in text)
    plan = without_unused(plan_of(text))
    try:
        plan = with_types(plan, typed_calls.types_of(plan, types_of))
    except (duckdb.Error, NoType):
        assume(False)
    strata = program("v", plan)
    assume(all(one.fixpoint is None for one in strata))
    summary = summary_of("v", plan, strata, SCHEMAS)
    return View("v", text, (), strata, query=plan, summary=summary)


def batch_of(random: Random, changes: tuple[Change, ...], player: Player) -> Batch:
    """What is told of a batch; sizes are told or not, and tables are read with counts or without."""
    counts: dict[str, list[int]] = {}
    for change in changes:
        counts.setdefault(change.table, []).extend(count for _, count in change.entries)
    told = {name: TableChange(len(n), all(count > 0 for count in n)) for name, n in counts.items() if n}
    counted = frozenset(name for name in told if random.random() < 0.5)
    groups = {name: random.choice((1, 3, 100_000)) for name in player.stored if random.random() < 0.7}
    stored = Stored(groups, counted, player.columns, groups=groups)
    return Batch(told, stored, is_read=random.random() < 0.5)


def is_kept(view: View, history: History, random: Random) -> None:
    rows = load(history.rows, ())
    try:
        player = Player(view)
    except (duckdb.Error, NoType):
        assume(False)
    for changes in history.batches:
        rows = load(rows, changes)
        wanted = answer_of(view)
        batch = batch_of(random, changes, player)
        chosen = random.choice(candidates(view))
        assume(chosen.refuse(view, batch) is None)
        try:
            player.run(chosen.plan(view, batch))
        except duckdb.ConversionException:
            assume(False)  # of a value that the text does not look at: such views are run as text
        assert player.seen() == wanted, (chosen.name, view.sql)
        player.fold()


def answer_of(view: View) -> Bag:
    """The plan over all rows; the case is dropped where a value does not fit."""
    assert view.query is not None
    try:
        return value(view.query)
    except duckdb.Error:
        assume(False)
    raise AssertionError


@cases(120)
@given(SEEDS, histories(batches=3))
def test_scripts_keep_views_of_random_texts(seed: int, history: History) -> None:
    random = Random(seed)
    is_kept(view_of(str(random_view(random, COLUMNS))), history, random)


@cases(120)
@given(st.sampled_from(FORMS), SEEDS, histories(batches=3))
def test_scripts_keep_every_form_of_sql(form: object, seed: int, history: History) -> None:
    random = Random(seed)
    is_kept(view_of(form(Holes(Draw(random, COLUMNS, random_query)))), history, random)  # type: ignore[operator]
