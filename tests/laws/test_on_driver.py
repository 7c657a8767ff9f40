"""What the driver does with few rows is what the plans do: logs, flags, and what is picked from them.

Scripts of random views are executed on DuckDB, with the driver's rows in the place of every result that it
can tell by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pyarrow as pa
from hypothesis import given
from sqlglot import exp

from tests.laws.settings import cases
from tests.laws.test_id_diffs import (
    changes,
    definition,
    is_up_to_date,
    seeds,
    stage,
    updated,
)
from tests.maintenance.id_diffs.stage import Stage
from tests.maintenance.id_diffs.views import SCHEMAS, ViewMaker, random_tables, random_view
from tests.sizes import SIZES
from viewkeeper.algebra.expressions import Named, column, literal, same
from viewkeeper.algebra.relations import Aggregate, Filter, Project, Relation
from viewkeeper.algebra.schema import COUNT
from viewkeeper.limits import LIMITS
from viewkeeper.maintenance.id_diffs import Caching
from viewkeeper.maintenance.id_diffs.inline import inlined
from viewkeeper.maintenance.id_diffs.schemas import BaseTable, base_tables, belongs
from viewkeeper.maintenance.id_diffs.script import Apply, ComputeDiff, Script
from viewkeeper.maintenance.id_diffs.strategy import zero_or_one
from viewkeeper.spark.held import Held
from viewkeeper.spark.on_driver import flags_in, log_of, picked, put_together


def signed_rows(on: Stage, table: BaseTable) -> pa.Table:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    found = on.connection.sql(f"SELECT {names}, {COUNT} FROM {table.name}__delta").to_arrow_table()
    return pa.table(found.columns, names=found.column_names)


def put(on: Stage, name: str, held: Held) -> None:
    on.connection.register("held", held.table)
    on.run(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM held")
    on.connection.unregister("held")


looked_at: list[Relation] = []


def look(plan: Relation) -> pa.Table:
    looked_at.append(plan)
    found = stage().connection.sql(stage().sql(plan)).to_arrow_table()
    return pa.table(found.columns, names=found.column_names)


def told(plan: Relation, rows: dict[str, Held]) -> Held | None:
    """What the driver tells by itself, or with looks at what is stored, which DuckDB answers here."""
    return picked(plan, rows) or put_together(plan, rows, look, LIMITS)


def execute(script: Script, tables: Iterable[BaseTable]) -> None:
    """Runs a script, with the driver's rows in the place of every result that it can tell."""
    rows = {table.log.name: log_of(signed_rows(stage(), table), table) for table in tables}
    for name, held in rows.items():
        put(stage(), name, held)
    for step in inlined(script.steps, set(rows)):
        own = None if isinstance(step, Apply) else told(step.executable, rows)
        if own is not None:
            rows[step.name] = own
            put(stage(), step.name, own)
        else:
            stage().execute(replace(script, steps=(step,)))


@cases(12)
@given(seeds)
def test_a_script_with_rows_of_the_driver_does_the_same(seed: int) -> None:
    random = Random(seed)
    plan = random_view(random)
    found = definition(plan, random.choice(list(Caching)), tuple_based=random.random() < 0.3)
    script = found.script()
    for _ in changes(random, script):
        execute(script, base_tables(found.top, found.schemas))
        is_up_to_date(script, plan)


def test_sums_that_the_driver_puts_together() -> None:
    """Sums over joins, while attributes of one table change: what is cached is looked up by known keys."""
    looked_at.clear()
    sums_over_joins()
    assert looked_at


@cases(30, at_least=15)
@given(seeds)
def sums_over_joins(seed: int) -> None:
    random = Random(seed)
    below = ViewMaker(random, scans=3, plain=True).join(1)
    group, *summed = random.sample(below.columns, min(3, len(below.columns)))
    calls = tuple(Named(f"sum_{name}", exp.Sum(this=column(name))) for name in summed)
    plan = Aggregate(below, (Named("group", column(group)),), calls)
    whole = definition(plan, Caching.ALWAYS)
    tables = base_tables(whole.top, SCHEMAS)
    table = random.choice(tables)
    for _ in range(SIZES.changes):
        before = random_tables(random)
        stage().load(before, {**before, table.name: updated(random, before[table.name], table)})
        stage().populate(whole.script())
        stage().execute(replace(whole.script(), steps=whole.base_steps()))
        short = whole.script({diff.name for diff in whole.script().base if stage().rows(diff.name)})
        execute(short, tables)
        is_up_to_date(short, plan)


@cases(12)
@given(seeds)
def test_the_log_and_its_flags_are_those_of_the_plan(seed: int) -> None:
    random = Random(seed)
    found = definition(random_view(random))
    logs = {step.name: step for step in found.base_steps()}
    for _ in changes(random, found.script()):
        for table in base_tables(found.top, found.schemas):
            held = log_of(signed_rows(stage(), table), table)
            stage().execute(replace(found.script(), steps=(logs[table.log.name],)))
            put(stage(), "held_log", held)
            assert stage().rows("held_log", table.log.columns) == stage().rows(table.log.name)
            diffs = {diff.name: belongs(diff.schema) for diff in found.diffs_of(table.name)}
            flagged = Project(
                table.log,
                (*same(table.log.columns), *(Named(name, zero_or_one(test)) for name, test in diffs.items())),
            )
            present = {n for n, test in diffs.items() if stage().rows(Filter(table.log, test))}
            assert flags_in(flagged, held.table) == present


def test_what_does_more_than_pick_is_left_to_spark() -> None:
    found = definition(random_view(Random(1)))
    table = base_tables(found.top, found.schemas)[0]
    held = log_of(signed_rows(stage(), table), table)
    rows = {table.log.name: held}
    assert picked(table.log, rows) is held
    computed = Project(table.log, (Named("one", literal(1)),))
    assert picked(computed, rows) is None
    assert picked(Project(computed, same(("one",))), rows) is None
    step = next(step for step in found.base_steps() if step.name == table.log.name)
    assert isinstance(step, ComputeDiff)
    assert picked(step.query, rows) is None
