"""gupta93 Theorem 7.1: after DRed a view holds a row if and only if it has a derivation in the new database.

Random graphs with cycles and duplicate edges, random batches over several tables, rules that come
and go; after every batch each view equals its naive evaluation from scratch.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datalog.interpreter import Bag, Database
from tests.datalog.programs import EXAMPLES, TABLES, Example
from tests.datalog.views import TABLE_COLUMNS, Views, changed, naive, together
from tests.laws.settings import cases
from viewkeeper.algebra.relations import Reference
from viewkeeper.datalog.parse import parse_program, with_rules, without_rules
from viewkeeper.maintenance.dred.algorithm import Maintained, maintain
from viewkeeper.maintenance.dred.changed_subgoals import Changes
from viewkeeper.maintenance.recursion.port import Run
from viewkeeper.maintenance.recursion.seminaive import evaluate_fixpoint

NODES = st.sampled_from((0, 1, 2, 3, 4, 0, 1, 2, 3, None))
ROWS = {
    "link": st.tuples(NODES, NODES),
    "cost": st.tuples(NODES, NODES, st.integers(1, 3)),
    "node": st.tuples(NODES),
    "mark": st.tuples(NODES),
}


@st.composite
def bags(draw: st.DrawFn, table: str) -> Bag:
    most = 7 if len(TABLES[table].columns) > 1 else 3
    return draw(st.dictionaries(ROWS[table], st.sampled_from((1, 1, 1, 2)), max_size=most))


@st.composite
def deltas(draw: st.DrawFn, table: str, bag: Bag) -> Bag:
    inserted = draw(st.lists(ROWS[table], max_size=2, unique=True))
    deleted = draw(st.lists(st.sampled_from(sorted(bag, key=repr)), max_size=3, unique=True)) if bag else []
    fewer = {row: -draw(st.integers(1, bag[row])) for row in deleted}
    return {**dict.fromkeys(inserted, 1), **fewer}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@cases(70)
@given(data=st.data())
def test_views_hold_exactly_what_is_derivable(example: Example, data: st.DataObject) -> None:
    tables = {name: data.draw(bags(name), name) for name in example.tables}
    views = Views(parse_program(example.rules), {**{name: {} for name in TABLES}, **tables})
    assert views.rows == naive(views.program, views.tables)
    for _ in range(data.draw(st.integers(1, 2))):
        touched = data.draw(st.lists(st.sampled_from(example.tables), unique=True, max_size=3))
        batch = {name: data.draw(deltas(name, views.tables[name]), f"Δ{name}") for name in touched}
        program = views.program
        if example.optional and data.draw(st.booleans()):
            rule = data.draw(st.sampled_from(example.optional))
            present = parse_program(rule).rules[0] in program.rules
            program = without_rules(program, rule) if present else with_rules(program, rule)
        views.change(batch, program)
        assert views.rows == naive(views.program, views.tables)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@cases(10)
@given(data=st.data())
def test_strata_that_are_one_fixpoint(example: Example, data: st.DataObject) -> None:
    program = parse_program(example.rules)
    fixpoint = together(program)
    tables = {name: data.draw(bags(name), name) if name in example.tables else {} for name in TABLES}
    rows = naive(program, tables)
    db = Database(tables, TABLE_COLUMNS)
    assert {name: db.value(rel) for name, rel in evaluate_fixpoint(fixpoint, Run(db)).items()} == rows
    db = Database({**tables, **{f"{name}__stored": bag for name, bag in rows.items()}}, TABLE_COLUMNS)
    changes = Changes()
    for name in example.tables:
        changes = changed(db, name, data.draw(deltas(name, tables[name]), f"Δ{name}"), changes)
    stored = {d.name: Reference(f"{d.name}__stored", d.columns) for d in fixpoint.definitions}
    done = maintain(fixpoint, stored, changes, Run(db))
    assert isinstance(done, Maintained)
    after = naive(program, {name: db.bags[name] for name in TABLES})
    for name, delta in done.deltas.items():
        moved = {row: (row in after[name]) - (row in rows[name]) for row in {**rows[name], **after[name]}}
        assert db.value(delta.signed) == {row: n for row, n in moved.items() if n}
