"""katsis15: the devices and parts example through all its figures and numbered examples."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlglot import exp

from tests.maintenance.id_diffs.devices import BEFORE, SCHEMAS, v, v_prime
from tests.maintenance.id_diffs.stage import Row, Rows, Stage, at
from tests.reference.applied_diffs import applied
from tests.reference.scripts import base_table_reads
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Aggregate, Filter, Join, Reference, Relation, Scan, State
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.maintenance.id_diffs import IdView, define
from viewkeeper.maintenance.id_diffs.diffs import Diff, DiffSchema, delete_schema, insert_schema
from viewkeeper.maintenance.id_diffs.ids import Component, subviews
from viewkeeper.maintenance.id_diffs.instantiate import instantiate
from viewkeeper.maintenance.id_diffs.rules.selection import selection
from viewkeeper.maintenance.id_diffs.schemas import base_diffs, base_tables
from viewkeeper.maintenance.id_diffs.script import Apply, ComputeDiff, Script, computations

V_BEFORE = Counter([("D1", "P1", 10), ("D2", "P1", 10), ("D1", "P2", 20)])
DEARER = {**BEFORE, "parts": [("P1", 11), ("P2", 20)]}


@pytest.fixture
def stage() -> Stage:
    return Stage(SCHEMAS.values())


def defined(plan: Relation, **options: object) -> IdView:
    found = define("v", plan, SCHEMAS, **options)  # type: ignore[arg-type]
    assert isinstance(found, IdView)
    return found


def run(stage: Stage, script: Script, after: Rows, before: Rows = BEFORE) -> None:
    stage.load(before, after)
    stage.populate(script)
    stage.execute(script)


def visible(stage: Stage, script: Script) -> Counter[Row]:
    return stage.rows("v", script.visible)


def last_diff(script: Script) -> Diff:
    return [step.diff for step in script.steps if isinstance(step, Apply)][-1]


def test_figure_2_the_view_before(stage: Stage) -> None:
    stage.load(BEFORE, BEFORE)
    assert stage.rows(at(v(), State.OLD)) == V_BEFORE


def test_example_1_1_one_i_diff_row_where_two_t_diff_rows_are(stage: Stage) -> None:
    by_id, by_tuple = defined(v()).script({"upd_parts"}), defined(v(), tuple_based=True).script({"upd_parts"})
    run(stage, by_id, DEARER)
    assert stage.rows(last_diff(by_id).name) == Counter([("P1", 10, 11)])
    assert visible(stage, by_id) == Counter([("D1", "P1", 11), ("D2", "P1", 11), ("D1", "P2", 20)])
    run(stage, by_tuple, DEARER)
    found = stage.rows(last_diff(by_tuple).name, ("did", "pid", "__pre_price", "price"))
    assert found == Counter([("D1", "P1", 10, 11), ("D2", "P1", 10, 11)])
    assert visible(stage, by_tuple) == Counter([("D1", "P1", 11), ("D2", "P1", 11), ("D1", "P2", 20)])


def test_example_1_2_the_i_diff_is_computed_without_base_tables() -> None:
    by_id, by_tuple = defined(v()).script({"upd_parts"}), defined(v(), tuple_based=True).script({"upd_parts"})
    assert base_table_reads(by_id) == ()
    assert {scan.table for scan in base_table_reads(by_tuple)} == {"devices_parts", "devices"}


def test_example_1_2_a_dummy_i_diff_row_changes_nothing(stage: Stage) -> None:
    script = defined(v()).script()
    before = {**BEFORE, "parts": [*BEFORE["parts"], ("P3", 20)]}
    run(stage, script, {**before, "parts": [*BEFORE["parts"], ("P3", 21)]}, before)
    diffs = (step.diff for step in script.steps if isinstance(step, Apply))
    diff = next(diff for diff in diffs if diff.schema.kind is DiffKind.UPDATE)
    assert stage.rows(diff.name, ("pid", "__pre_price", "price")) == Counter([("P3", 20, 21)])
    assert visible(stage, script) == V_BEFORE


def test_example_2_1_the_ids_of_v() -> None:
    top = defined(v()).top
    assert set(top.ids) == {"did", "pid"}
    assert top.attributes == ("price",)


def _applied(stage: Stage, diff: Diff, *rows: Row) -> Counter[Row]:
    names = ", ".join(diff.schema.columns)
    values = ", ".join(str(row) if len(row) > 1 else f"('{row[0]}')" for row in rows)
    stage.run(f"CREATE TEMP TABLE {diff.name} AS FROM (VALUES {values}) d({names})")
    stage.load(BEFORE, BEFORE)
    old = ", ".join(str(row) for row in V_BEFORE)
    stage.run(f"CREATE TABLE v AS FROM (VALUES {old}) v(did, pid, price)")
    return stage.rows(applied(Reference("v", ("did", "pid", "price")), diff, ("did", "pid")))


def test_example_2_2_applying_an_update_i_diff(stage: Stage) -> None:
    schema = DiffSchema(DiffKind.UPDATE, "v", ("pid",), ("price",), ("price",), ("price",))
    found = _applied(stage, Diff("d", schema), ("P1", 10, 11))
    assert found == Counter([("D1", "P1", 11), ("D2", "P1", 11), ("D1", "P2", 20)])


def test_example_2_3_applying_an_insert_i_diff(stage: Stage) -> None:
    diff = Diff("d", insert_schema("v", ("did", "pid"), ("price",)))
    found = _applied(stage, diff, ("D3", "P2", 20), ("D4", "P3", 30))
    assert found == V_BEFORE + Counter([("D3", "P2", 20), ("D4", "P3", 30)])


def test_example_2_3_inserting_a_row_that_is_there_does_nothing(stage: Stage) -> None:
    diff = Diff("d", insert_schema("v", ("did", "pid"), ("price",)))
    assert _applied(stage, diff, ("D1", "P1", 10)) == V_BEFORE


def test_example_2_4_applying_a_delete_i_diff(stage: Stage) -> None:
    diff = Diff("d", delete_schema("v", ("pid",), ("price",)))
    assert _applied(stage, diff, ("P1", 10)) == Counter([("D1", "P2", 20)])


def test_example_2_5_components_of_the_key() -> None:
    components = defined(v()).top.components
    assert Component(("pid",), ("price",)) in components
    assert any(part.ids == ("did",) for part in components)


def test_example_4_1_the_total_cost_of_each_device(stage: Stage) -> None:
    stage.load(BEFORE, BEFORE)
    assert stage.rows(v_prime()) == Counter([("D1", 30), ("D2", 10)])


def test_example_4_2_the_ids_of_every_operator() -> None:
    found = {type(view.plan): view for view in subviews(defined(v_prime()).top)}
    scans = {view.plan.table: view.ids for view in subviews(defined(v()).top) if isinstance(view.plan, Scan)}
    assert scans == {"parts": ("pid",), "devices_parts": ("dp_did", "dp_pid"), "devices": ("did",)}
    assert found[Filter].ids == ("did",)
    assert set(found[Join].ids) == {"pid", "dp_did"}
    assert found[Aggregate].ids == ("did",)


def test_example_4_3_a_general_aggregate_computes_touched_groups_again(stage: Stage) -> None:
    script = defined(v_prime(exp.Max)).script({"ins_devices_parts"})
    again = next(s for s in script.steps if isinstance(s, ComputeDiff) and s.name.startswith("again"))
    assert [type(node).__name__ for node in nodes(again.query)].count("Aggregate") == 1
    run(stage, script, {**BEFORE, "devices_parts": [*BEFORE["devices_parts"], ("D2", "P2")]})
    assert visible(stage, script) == Counter([("D1", 20), ("D2", 20)])


def test_example_4_4_aggregates_block_and_other_operators_do_not() -> None:
    whole = defined(v_prime())
    dag = instantiate(whole.top, SCHEMAS, whole.caches)
    plans = {view.name: view.plan for view in subviews(whole.top)}
    for rule in dag.rules:
        assert rule.blocking == isinstance(plans.get(rule.subview), Aggregate)
    non_blocking = [r for r in dag.rules if isinstance(plans.get(r.subview), (Filter, Join))]
    assert non_blocking
    assert all(len(rule.inputs) == 1 for rule in non_blocking)


def test_example_4_5_the_update_passes_every_operator_as_it_is() -> None:
    whole = defined(v_prime())
    dag = instantiate(whole.top, SCHEMAS, whole.caches, {"upd_parts"})
    plans = {view.name: view.plan for view in subviews(whole.top)}
    passing = [r for r in dag.rules if isinstance(plans.get(r.subview), (Scan, Filter, Join))]
    assert [type(rule.query) for rule in passing] == [Reference, Reference, Reference]
    assert [str(rule.schema).split("(")[1] for rule in passing] == ["pid, price_pre, price_post)"] * 3


def test_example_4_6_one_cache_before_the_aggregate_and_the_view_after_it() -> None:
    script = defined(v_prime()).script()
    assert [set(cache.plan.columns) for cache in script.caches] == [{"pid", "price", "dp_did"}]
    assert script.view.plan.columns[:2] == ("did", "cost")


def test_example_4_7_figure_7_the_script(stage: Stage) -> None:
    script = defined(v_prime(), adds=False).script({"upd_parts"})
    assert [step.target for step in script.steps if isinstance(step, Apply)] == [script.caches[0].name, "v"]
    assert base_table_reads(script) == ()
    run(stage, script, DEARER)
    assert stage.rows(last_diff(script).name, ("did", "__pre_cost", "cost")) == Counter(
        [("D1", 30, 31), ("D2", 10, 11)]
    )
    assert visible(stage, script) == Counter([("D1", 31), ("D2", 11)])


def test_example_4_7_without_a_look_at_the_view(stage: Stage) -> None:
    script = defined(v_prime()).script({"upd_parts"})
    assert not [scan for step in computations(script) for scan in scans(step.query) if scan.table == "v"]
    run(stage, script, DEARER)
    assert stage.rows(last_diff(script).name, ("did", "cost", "__n")) == Counter([("D1", 1, 0), ("D2", 1, 0)])
    assert visible(stage, script) == Counter([("D1", 31), ("D2", 11)])


def test_example_4_8_a_deletion_passes_a_selection_that_it_cannot_decide() -> None:
    view = next(view for view in subviews(defined(v()).top) if isinstance(view.plan, Filter))
    unknown = Diff("d", delete_schema("devices", ("did",)))
    (passed,) = selection(view, unknown)
    assert passed.query == unknown.rows
    known = Diff("d", delete_schema("devices", ("did",), ("category",)))
    (filtered,) = selection(view, known)
    assert isinstance(filtered.query, Filter)


def test_example_4_8_overestimation_does_not_change_the_view(stage: Stage) -> None:
    script = defined(v()).script()
    run(stage, script, {**BEFORE, "devices": BEFORE["devices"][:2]})
    assert visible(stage, script) == V_BEFORE


def test_section_5_schemas_of_base_table_diffs() -> None:
    top = defined(v()).top
    found = {t.name: [str(schema) for schema in base_diffs(top, t)] for t in base_tables(top, SCHEMAS)}
    assert found["parts"] == [
        "Δ+_parts(pid, price_post)",
        "Δ-_parts(pid, price_pre)",
        "Δu_parts(pid, price_pre, price_post)",
    ]
    assert found["devices"][2:] == ["Δu_devices(did, category_pre, category_post)"]
    assert found["devices_parts"] == ["Δ+_devices_parts(did, pid)", "Δ-_devices_parts(did, pid)"]


def test_section_5_several_modifications_of_a_row_are_one(stage: Stage) -> None:
    script = defined(v()).script()
    stage.load(BEFORE, DEARER, noise={"parts": [("P1", 10), ("P1", 12), ("P9", 1)]})
    stage.populate(script)
    stage.execute(script)
    assert stage.rows("log_parts") == Counter([("P1", 10, 11, True, True)])
    assert stage.rows("upd_parts") == Counter([("P1", 10, 11)])
    assert stage.rows("ins_parts") == stage.rows("del_parts") == Counter()


@pytest.mark.parametrize(
    ("plan", "rows"),
    [(v(), [("D2", "P1", 10), ("D3", "P2", 20)]), (v_prime(), [("D2", 10), ("D3", 20)])],
    ids=["v", "v_prime"],
)
def test_a_device_becomes_a_phone_and_another_ceases_to_be_one(
    stage: Stage, plan: Relation, rows: list[Row]
) -> None:
    script = defined(plan).script()
    before = {**BEFORE, "devices_parts": [*BEFORE["devices_parts"], ("D3", "P2")]}
    run(stage, script, {**before, "devices": [("D1", "tablet"), ("D2", "phone"), ("D3", "phone")]}, before)
    assert visible(stage, script) == Counter(rows)
