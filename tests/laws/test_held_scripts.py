"""Scripts do the same where their steps are placed on the driver: logs, diffs, sums over joins.

Scripts of random views are executed on DuckDB, with the driver's rows in the place of every result that it
can tell by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pyarrow as pa
from hypothesis import given
from sqlglot import exp

from tests.laws.held import fetched
from tests.laws.settings import cases
from tests.laws.test_id_diffs import (
    changes,
    definition,
    is_up_to_date,
    seeds,
    stage,
    updated,
)
from tests.maintenance.id_diffs.views import SCHEMAS, ViewMaker, random_tables, random_view
from tests.sizes import SIZES
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.prune import pruned
from viewkeeper.algebra.relations import Aggregate, Relation, Scan, State
from viewkeeper.algebra.walk import scans
from viewkeeper.engine.local.run import run
from viewkeeper.engine.rows import Held
from viewkeeper.maintenance.id_diffs import Caching
from viewkeeper.maintenance.id_diffs.inline import inlined
from viewkeeper.maintenance.id_diffs.schemas import base_tables
from viewkeeper.maintenance.id_diffs.script import Apply, Script
from viewkeeper.planning.physical import Facts, Input, KnownTypes, lowered
from viewkeeper.sql.render import state_name

looked_at: list[Relation] = []


def look(plan: Relation) -> pa.Table:
    looked_at.append(plan)
    found = stage().connection.sql(stage().sql(plan)).to_arrow_table()
    return pa.table(found.columns, names=found.column_names)


def changes_of(scan: Scan) -> Held:
    """The signed rows that a table went through."""
    columns = tuple(item.source for item in scan.bound)
    names = ", ".join(f'"{column.name}"' for column in columns)
    return fetched(stage().connection, f"SELECT {names} FROM {scan.table}__delta", columns)


def told(plan: Relation, rows: Mapping[str, Held]) -> Held | None:
    """The rows of a step that is placed on the driver, with looks at what is stored, which DuckDB answers."""
    narrow = pruned(plan)
    deltas = {state_name(scan): changes_of(scan) for scan in scans(narrow) if scan.at is State.DELTA}
    held = {**rows, **deltas}
    inputs = {name: Input(one.rows, held=True) for name, one in held.items()}
    types = KnownTypes(lambda leaf: held[state_name(leaf)].types if state_name(leaf) in held else {})
    physical = lowered(narrow, Facts(inputs, types=types, near=0.0))
    return run(physical, held, look) if physical.is_here else None


placed: Counter[str] = Counter()


def execute(script: Script) -> None:
    """Runs a script, with the driver's rows in the place of every result that is placed there."""
    rows: dict[str, Held] = {}
    for step in inlined(script.steps, set()):
        own = None if isinstance(step, Apply) else told(step.executable, rows)
        placed["here" if own is not None else "on Spark"] += 1
        if own is not None:
            rows[step.name] = own
            stage().connection.register("held", own.table)
            stage().run(f"CREATE OR REPLACE TEMP TABLE {step.name} AS FROM held")
            stage().connection.unregister("held")
        else:
            stage().execute(replace(script, steps=(step,)))


def test_scripts_with_steps_on_the_driver_do_the_same() -> None:
    """Some steps of random views, those that take logs at least, are placed there."""
    placed.clear()
    scripts_of_random_views()
    assert placed["here"] > placed.total() / 5


@cases(12)
@given(seeds)
def scripts_of_random_views(seed: int) -> None:
    random = Random(seed)
    plan = random_view(random)
    found = definition(plan, random.choice(list(Caching)), tuple_based=random.random() < 0.3)
    script = found.script()
    for _ in changes(random, script):
        execute(script)
        is_up_to_date(script, plan)


def test_sums_that_the_driver_puts_together() -> None:
    """Sums over joins, while attributes of one table change: what is cached is looked up by known keys."""
    looked_at.clear()
    sums_over_joins()
    assert looked_at


@cases(30)
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
        execute(short)
        is_up_to_date(short, plan)
