"""The laws of ID-based diffs, on DuckDB: random views over keyed tables, random changes of all tables.

A case is a view and a change. Every view is tried with several changes, for making a script takes as
long as running it does: `VIEWKEEPER_CASES=20000 VIEWKEEPER_CHANGES=48` is 20,000 cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.maintenance.id_diffs.stage import Stage
from tests.maintenance.id_diffs.views import SCHEMAS, Tables, random_change, random_tables, random_view
from tests.reference.applied_diffs import applied
from tests.reference.scripts import base_table_reads
from tests.sizes import SIZES
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.maintenance.id_diffs import Caching, IdView, Script, define
from viewkeeper.maintenance.id_diffs.caches import ChangeSource
from viewkeeper.maintenance.id_diffs.diffs import Diff
from viewkeeper.maintenance.id_diffs.inline import inlined
from viewkeeper.maintenance.id_diffs.schemas import BaseTable, base_tables, conditional_attributes
from viewkeeper.maintenance.id_diffs.script import Apply

pytestmark = pytest.mark.timeout(0)  # a large run of one law takes its time
seeds = st.integers(min_value=0, max_value=2**40)


@cache
def stage() -> Stage:
    return Stage(SCHEMAS.values())


def definition(plan: Relation, caching: Caching = Caching.AUTO, tuple_based: bool = False) -> IdView:
    found = define("v", plan, SCHEMAS, caching=caching, tuple_based=tuple_based)
    assert isinstance(found, IdView), found
    return found


def changes(random: Random, script: Script) -> Iterator[None]:
    """The stage is set for one change after the other, with the view as it is before it."""
    for _ in range(SIZES.changes):
        before = random_tables(random)
        after, noise = random_change(random, before)
        stage().load(before, after, noise)
        stage().populate(script)
        yield


def is_up_to_date(script: Script, plan: Relation) -> None:
    for stored in script.stored:
        assert stage().rows(stored.name) == stage().rows(stored.plan), stored.name
    assert stage().rows("v", script.visible) == stage().rows(plan)


@cases(12)
@given(seeds)
def test_the_script_does_what_recomputation_does(seed: int) -> None:
    random = Random(seed)
    plan = random_view(random)
    found = definition(plan, random.choice(list(Caching)))
    script = (found.widened if random.random() < 0.3 else found).script()
    for _ in changes(random, script):
        stage().execute(script)
        is_up_to_date(script, plan)


@cases(4)
@given(seeds)
def test_tuple_based_scripts_do_the_same(seed: int) -> None:
    random = Random(seed)
    plan = random_view(random)
    script = definition(plan, tuple_based=True).script()
    for _ in changes(random, script):
        stage().execute(script)
        is_up_to_date(script, plan)


@cases(4)
@given(seeds)
def test_steps_written_into_the_step_that_uses_them_do_the_same(seed: int) -> None:
    random = Random(seed)
    plan = random_view(random)
    script = definition(plan, random.choice(list(Caching)), tuple_based=random.random() < 0.3).script()
    for _ in changes(random, script):
        stage().execute(replace(script, steps=tuple(inlined(script.steps))))
        is_up_to_date(script, plan)


@cases(4)
@given(seeds)
def test_a_script_for_the_diffs_that_have_rows_is_enough(seed: int) -> None:
    """The short scripts of batches that only insert, or update one attribute, are complete."""
    random = Random(seed)
    plan = random_view(random)
    whole = definition(plan)
    script = whole.script()
    for _ in changes(random, script):
        stage().execute(replace(script, steps=whole.base_steps()))
        changed = {diff.name for diff in script.base if stage().rows(diff.name)}
        short = whole.script(changed)
        stage().execute(short)
        is_up_to_date(short, plan)


@cases(6)
@given(seeds)
def test_short_scripts_for_updates_of_one_column(seed: int) -> None:
    """Where one column of one table is updated, much less is read, and the result is the same."""
    random = Random(seed)
    plan = random_view(random)
    whole = definition(plan, tuple_based=random.random() < 0.7)
    script = whole.script()
    for _ in range(SIZES.changes):
        before = random_tables(random)
        stage().load(before, one_column_updated(random, before))
        stage().populate(script)
        stage().execute(replace(script, steps=whole.base_steps()))
        short = whole.script({diff.name for diff in script.base if stage().rows(diff.name)})
        stage().execute(short)
        is_up_to_date(short, plan)


def one_column_updated(random: Random, tables: Tables) -> Tables:
    schema = random.choice(list(SCHEMAS.values()))
    place = random.randrange(len(schema.key), len(schema.columns))
    rows = [(*row[:place], random.choice((0, 1, 2, None)), *row[place + 1 :]) for row in tables[schema.name]]
    return {**tables, schema.name: rows}


@cases(4)
@given(seeds)
def test_diffs_are_effective_and_any_order_of_applying_them_is_good(seed: int) -> None:
    random = Random(seed)
    plan = random_view(random)
    script = definition(plan).script()
    after = {stored.name: stored.plan for stored in script.stored}
    for _ in changes(random, script):
        stage().execute(script, order=lambda group: random.sample(group, len(group)))
        is_up_to_date(script, plan)
        for step in script.steps:
            if isinstance(step, Apply):
                assert is_effective(step.diff, after[step.target]), step.diff.schema


def is_effective(diff: Diff, after: Relation) -> bool:
    """The definition of section 2, against the recomputed post-state."""
    schema = diff.schema
    stage().run(f"CREATE OR REPLACE TEMP TABLE post AS {stage().sql(after)}")
    ids = [f'post."{name}" IS NOT DISTINCT FROM d."{name}"' for name in schema.ids]
    match schema.kind:
        case DiffKind.INSERT:
            columns = (*schema.ids, *schema.post)
            return stage().rows(diff.name, columns) - stage().rows("post", columns) == {}
        case DiffKind.DELETE:
            return not stage().rows(f"{diff.name} d, post WHERE {' AND '.join(ids) or 'TRUE'}", ())
        case DiffKind.UPDATE:
            differs = [f'post."{name}" IS DISTINCT FROM d."{name}"' for name in schema.post]
            where = " AND ".join([*ids, f"({' OR '.join(differs)})"])
            return not stage().rows(f"{diff.name} d, post WHERE {where}", ())


@cases(12)
@given(seeds)
def test_updates_of_one_table_alone(seed: int) -> None:
    """Views are often told by how much their sums have moved, which `apply` as algebra means as well."""
    random = Random(seed)
    plan = random_view(random, plain=True)
    whole = definition(plan, Caching.ALWAYS)
    table = random.choice(base_tables(whole.top, SCHEMAS))
    for _ in range(SIZES.changes):
        before = random_tables(random)
        stage().load(before, {**before, table.name: updated(random, before[table.name], table)})
        stage().populate(whole.script())
        stage().execute(replace(whole.script(), steps=whole.base_steps()))
        short = whole.script({diff.name for diff in whole.script().base if stage().rows(diff.name)})
        stage().execute(short)
        is_up_to_date(short, plan)
        rel: Relation = Reference("v__old", short.view.plan.columns)
        for step in short.steps:
            if isinstance(step, Apply) and step.target == "v":
                rel = applied(rel, step.diff, short.view.ids)
        assert stage().rows(rel) == stage().rows("v")


def updated(
    random: Random, rows: list[tuple[int | None, ...]], table: BaseTable
) -> list[tuple[int | None, ...]]:
    """Rows with one attribute changed in some of them, the same in all."""
    places = [n for n, c in enumerate(SCHEMAS[table.name].columns) if c.name in table.attributes]
    if not places:
        return rows
    place = random.choice(places)

    def changed(row: tuple[int | None, ...]) -> tuple[int | None, ...]:
        value = random.choice((None, 0, 1, 2, 3)) if random.random() < 0.6 else row[place]
        return (*row[:place], value, *row[place + 1 :])

    return [changed(row) for row in rows]


@cases(4)
@given(seeds)
def test_apply_as_algebra_is_apply_as_dml(seed: int) -> None:
    random = Random(seed)
    script = definition(random_view(random)).script()
    steps = [step for step in script.steps if isinstance(step, Apply) and step.target == "v"]
    for _ in changes(random, script):
        stage().execute(script)
        rel: Relation = Reference("v__old", script.view.plan.columns)
        for step in random.sample(steps, len(steps)):
            rel = applied(rel, step.diff, script.view.ids)
        assert stage().rows(rel) == stage().rows("v")


@cases(40)
@given(seeds)
def test_updates_of_non_conditional_attributes_read_no_base_table(seed: int) -> None:
    """Structurally: the script for such an update has no scan of a table at OLD or at NEW."""
    whole = definition(random_view(Random(seed), plain=True), Caching.ALWAYS)
    assert ChangeSource.QUERIED not in whole.caches.sources.values()
    for table in base_tables(whole.top, SCHEMAS):
        conditional = {name for group in conditional_attributes(whole.top, table) for name in group}
        for diff in whole.script().base:
            if is_update_of(diff, table.name) and not conditional & set(diff.schema.updated):
                assert [(scan.table, scan.at) for scan in base_table_reads(whole.script({diff.name}))] == []


def is_update_of(diff: Diff, table: str) -> bool:
    return diff.schema.kind is DiffKind.UPDATE and diff.schema.relation == table
