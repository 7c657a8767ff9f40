"""ID-based diffs as a strategy: what a view that asks for them stores, plans and explains."""

from __future__ import annotations

import pytest

from tests.maintenance.id_diffs.devices import SCHEMAS
from viewkeeper.algebra.merge.spec import Operator
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.ddl.definitions import checked_properties
from viewkeeper.errors import CannotMaintain, InvalidOption
from viewkeeper.maintenance.steps import ApplyDiffs, Compute, diffs_present, flag, is_needed
from viewkeeper.maintenance.strategy import Batch, Stored, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.planning.explanation import explanation
from viewkeeper.planning.planner import choose
from viewkeeper.views import CACHES, STRATEGY, compiled

COSTS = """SELECT did, SUM(price) AS cost FROM parts JOIN devices_parts USING (pid) JOIN devices USING (did)
           WHERE category = 'phone' GROUP BY did"""


def view(sql: str = COSTS, **properties: str) -> View:
    names = {"strategy": STRATEGY, "caches": CACHES}
    asked = tuple((names[key], value) for key, value in properties.items())
    definition = ViewDefinition("costs", sql, (), ("parts", "devices_parts", "devices"), properties=asked)
    return compiled(definition, Catalog(SCHEMAS))


def batch(**changes: TableChange) -> Batch:
    return Batch(changes)


UPDATED = TableChange(2, only_inserts=False, updates=frozenset({"price"}))
UNKNOWN = TableChange(2, only_inserts=False)


def test_the_view_and_its_caches_are_stored_by_their_ids() -> None:
    cache, top = view(strategy="id-diffs").strata
    assert (cache.name, top.name) == ("__costs_n7", "costs")
    assert cache.merge is not None
    assert top.merge is not None
    assert cache.merge.identified
    assert cache.merge.key == ("pid", "did")
    assert top.merge.operators == tuple((name, Operator.SET) for name in ("cost", "__n", "__rows"))
    assert [s.name for s in view(strategy="id-diffs", caches="never").strata] == ["costs"]
    assert [s.name for s in view(strategy="tuple-diffs").strata] == ["costs"]


def test_a_known_update_needs_no_log() -> None:
    asked = view(strategy="id-diffs")
    choice = choose(asked, batch(parts=UPDATED), "auto")
    assert choice.strategy.name == "id-diffs"
    [step] = choice.strategy.plan(asked, batch(parts=UPDATED))
    assert isinstance(step, ApplyDiffs)
    assert step.possible == {"upd_parts"}


def test_updates_of_columns_that_the_view_does_not_read_are_nothing() -> None:
    asked = view("SELECT pid FROM parts", strategy="id-diffs")
    [step] = choose(asked, batch(parts=UPDATED), "auto").strategy.plan(asked, batch(parts=UPDATED))
    assert isinstance(step, ApplyDiffs)
    assert step.definition.script(step.possible).steps == ()


def test_insertions_need_no_log() -> None:
    asked, gained = view(strategy="id-diffs"), batch(devices_parts=TableChange(2, only_inserts=True))
    [step] = choose(asked, gained, "auto").strategy.plan(asked, gained)
    assert isinstance(step, ApplyDiffs)
    assert step.known == {"ins_devices_parts"}


def test_otherwise_flags_of_the_log_tell_which_diffs_have_rows() -> None:
    asked, changed = view(strategy="id-diffs"), batch(parts=UNKNOWN)
    log, step = choose(asked, changed, "auto").strategy.plan(asked, changed)
    assert isinstance(log, Compute)
    assert isinstance(step, ApplyDiffs)
    assert log.flags == ("__ins_parts", "__del_parts", "__upd_parts")
    nothing_gone = frozenset({flag(log.name, "__ins_parts"), flag(log.name, "__del_parts")})
    assert diffs_present(step, nothing_gone) == {"upd_parts"}
    assert not is_needed(step, nothing_gone | {flag(log.name, "__upd_parts")})


def test_explain_shows_the_script() -> None:
    asked = view(strategy="id-diffs")
    explained = explanation(asked, batch(parts=UPDATED), choose(asked, batch(parts=UPDATED), "auto"))
    assert explained.strategy == "id-diffs"
    assert explained.state == (("__costs_n7", None),)
    titles = [step.title for step in explained.steps]
    assert titles[:4] == [
        "Compute log_parts",
        "Compute upd_parts: Δu_parts(pid, price_pre, price_post)",
        "Compute upd_n7: Δu_n7(pid, price_pre, price_post)",
        "Append upd_n7 to __costs_n7: set price by (pid)",
    ]
    assert titles[-1] == "Append mov_n9 to costs: add to cost, __n by (did)"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT pid, did FROM parts LEFT JOIN devices_parts USING (pid)", "outer-join"),
        ("SELECT pid FROM parts ORDER BY price LIMIT 1", "operator"),
    ],
)
def test_a_view_that_is_refused_is_counted(sql: str, code: str) -> None:
    asked = view(sql, strategy="id-diffs")
    choice = choose(asked, batch(parts=UNKNOWN), "strict")
    assert choice.strategy.name == "counting"
    assert next((name, reason.code) for name, reason in choice.rejected) == ("id-diffs", code)


def test_a_view_that_does_not_ask_hears_nothing_of_it() -> None:
    choice = choose(view(), batch(parts=UNKNOWN), "auto")
    asked = {name for name, _ in choice.rejected} | {one.strategy.name for one in choice.alternatives}
    assert asked == {"summary-delta", "recompute"}


@pytest.mark.parametrize("name", [STRATEGY, CACHES])
def test_properties_have_values_to_choose_from(name: str) -> None:
    with pytest.raises(InvalidOption, match=f"{name} cannot be 'fast'"):
        checked_properties([(name, "fast")])


def test_a_table_written_anew_has_no_log() -> None:
    asked, changed = view(strategy="tuple-diffs"), batch(parts=TableChange(2, False, replaced=True))
    choice = choose(asked, changed, "auto")
    assert (choice.strategy.name, choice.reason.code) == ("recompute", "input-replaced")
    with pytest.raises(CannotMaintain):
        choose(asked, changed, "strict")


def test_explain_tells_what_an_update_takes_by_ids_and_by_tuples() -> None:
    asked = view("SELECT did, price FROM parts JOIN devices_parts USING (pid)", strategy="id-diffs")
    sizes = {"parts": 100, "devices_parts": 1000, "costs": 1000}
    changed = Batch({"parts": UPDATED}, Stored(sizes=sizes))
    shown = str(explanation(asked, changed, choose(asked, changed, "auto")))
    assert "with indexes, an update of parts takes 11 accesses by IDs, 31 by tuples (p = 10, a = 11)" in shown
