"""Views that are stored with their IDs though nobody asked, on DuckDB: changes are i-diffs, or signed rows.

An ID is named once, so a signed change names it once as it was and once as it is. Updates told by i-diffs and
signed rows, laid over each other, are what recomputation gives.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fuzz.views import random_view as random_text
from tests.laws.settings import cases
from tests.laws.test_id_texts import CATALOG, COLUMNS, stage
from tests.maintenance.id_diffs.stage import Row, at
from tests.maintenance.id_diffs.views import SCHEMAS, Tables, ViewMaker, random_change, random_tables
from tests.storage.model import Database
from viewkeeper.algebra.merge.id_layers import DiffRows, identified
from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.merge.signed_ids import as_diffs
from viewkeeper.algebra.merge.spec import DiffKind, IdDiff
from viewkeeper.algebra.relations import Relation, State
from viewkeeper.algebra.schema import COUNT
from viewkeeper.errors import ViewkeeperError
from viewkeeper.maintenance.id_diffs import IdView
from viewkeeper.maintenance.id_diffs.by_default import by_default
from viewkeeper.maintenance.id_diffs.script import Apply
from viewkeeper.maintenance.program import without_unused
from viewkeeper.report import Reason
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.show import show

pytestmark = pytest.mark.timeout(0)  # a large run of one law takes its time
DATABASE = Database()
SEEDS = st.integers(0, 2**40)
STEPS = 4


class RowsOnly(ViewMaker):
    """Draws plans that select, project, join and unite."""

    def view(self, depth: int) -> Relation:
        if depth == 0 or self.scans <= 0:
            return self.scan()
        make = self.random.choice(
            (self.filter, self.project, self.join, self.join, self.semijoin, self.union)
        )
        return make(depth - 1)


def updated(random: Random, before: Tables) -> tuple[Tables, dict[str, frozenset[str]]]:
    """The tables after updates of some columns, with the columns."""
    after, columns = dict(before), {}
    for name, schema in SCHEMAS.items():
        attributes = [column.name for column in schema.columns if column.name not in schema.key]
        if random.random() < 0.5:
            continue
        column = random.choice(attributes)
        place = schema.names.index(column)
        new = [(*row[:place], random.choice((0, 1, 2, None)), *row[place + 1 :]) for row in before[name]]
        after[name] = [one if random.random() < 0.6 else row for one, row in zip(new, before[name])]
        columns[name] = frozenset({column})
    return after, columns


class Stored:
    """What is stored of a view: main, signed rows and i-diffs, all with their place."""

    def __init__(self, found: IdView, plan: Relation) -> None:
        self.found, self.plan = found, plan
        self.names, self.ids = found.top.plan.columns, found.top.ids
        self.main: list[Row] = []
        self.signed: list[Row] = []
        self.diffs: dict[IdDiff, list[Row]] = {}

    def state(self, at_state: State) -> Counter[Row]:
        found = stage().rows(at(self.found.top.plan, at_state))
        assume(all(value is None or type(value) is int for row in found for value in row))
        return found

    def fill(self) -> None:
        self.main = list(self.state(State.OLD).elements())

    def count(self, seq: int) -> None:
        """Counting: the net change of the rows with their IDs."""
        old, new = self.state(State.OLD), self.state(State.NEW)
        for rows_of in (old, new):
            assert len(self.named(rows_of)) == sum(rows_of.values()), show(self.plan)
        self.signed += [(*row, -1, seq) for row in old - new] + [(*row, 1, seq) for row in new - old]

    def named(self, found: Counter[Row]) -> set[Row]:
        places = [self.names.index(name) for name in self.ids]
        return {tuple(row[place] for place in places) for row in found}

    def update(self, known: set[str], seq: int) -> None:
        """The i-diffs of an update."""
        script = self.found.script(known)
        stage().populate(script)
        stage().execute(script)
        for step in script.steps:
            if isinstance(step, Apply):
                schema = IdDiff(DiffKind.UPDATE, step.key, step.sets)
                named = stage().rows(step.diff.name, (*step.key, *step.sets))
                self.diffs.setdefault(schema, []).extend((*row, seq) for row in named)

    def rows(self) -> Counter[Row]:
        fields = [(name, "int") for name in self.names]
        main = DATABASE.leaf("stored", fields, self.main)
        found: list[DiffRows] = []
        if self.signed:
            more = [*fields, (COUNT, "bigint"), (SEQUENCE, "bigint")]
            found += as_diffs(DATABASE.leaf("signed", more, self.signed), self.ids, True)
        for number, (schema, own) in enumerate(self.diffs.items()):
            columns = [(name, "int") for name in (*schema.key, *schema.sets)]
            leaf = DATABASE.leaf(f"diff{number}", [*columns, (SEQUENCE, "bigint")], own)
            found.append(DiffRows(schema, leaf, True))
        return DATABASE.rows(identified(main, found))


def told(found: IdView, columns: dict[str, frozenset[str]]) -> set[str]:
    """The base-table diffs of updates of some columns."""
    updates = (d for table in columns for d in found.diffs_of(table) if d.schema.kind is DiffKind.UPDATE)
    return {diff.name for diff in updates if columns[diff.schema.relation] & set(diff.schema.updated)}


def is_kept(plan: Relation, random: Random) -> None:
    found = by_default("v", plan, SCHEMAS)
    assume(not isinstance(found, Reason))
    assert isinstance(found, IdView)
    tables = random_tables(random)
    stored = Stored(found, plan)
    for seq in range(1, STEPS + 1):
        columns: dict[str, frozenset[str]] = {}
        if random.random() < 0.6:
            after, columns = updated(random, tables)
            noise: Tables = {}
        else:
            after, noise = random_change(random, tables)
        stage().load(tables, after, noise)
        if seq == 1:
            stored.fill()
        stored.state(State.NEW)
        known = told(found, columns)
        if columns and found.script(known).only_updates:
            stored.update(known, seq)
        else:
            stored.count(seq)
        places = [stored.names.index(name) for name in plan.columns]
        shown = Counter(tuple(row[place] for place in places) for row in stored.rows().elements())
        assert shown == stage().rows(plan), show(plan)
        tables = after


@cases(60)
@given(SEEDS)
def test_random_plans(seed: int) -> None:
    random = Random(seed)
    is_kept(RowsOnly(random, random.randint(2, 3)).view(random.choice((2, 3, 3, 4))), random)


@cases(60)
@given(SEEDS)
def test_random_texts(seed: int) -> None:
    random = Random(seed)
    try:
        plan = parse_view(str(random_text(random, COLUMNS)), CATALOG).relation
    except ViewkeeperError:
        plan = None
    assume(plan is not None)
    assert plan is not None
    is_kept(without_unused(plan), random)
