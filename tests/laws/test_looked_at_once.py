"""An aggregate's layer and its change from one look: both are what recomputation says, and neither is more.

layer   the new state of exactly the groups that the summary-delta mentions, or of all there are; zero rows
        where one died
change  Δ of the aggregate, each group at most once on each side, none that looks as it did
"""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.databases import History, histories
from tests.laws.harness import difference, explicit_value, load, rows_of, store, value
from tests.laws.settings import cases
from tests.laws.test_stored_aggregates import Kept, aggregates, is_exact, known_again, means_the_same
from viewkeeper.algebra.build import filtered, matching, projected
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import column, not_, same
from viewkeeper.algebra.relations import Aggregate, JoinKind, Relation
from viewkeeper.algebra.walk import base_tables
from viewkeeper.delta import delta, old
from viewkeeper.delta.aggregate_state import ROWS_NAME
from viewkeeper.delta.stored_aggregate import is_undetermined, met
from viewkeeper.delta.summary_delta import full_state, summary_delta
from viewkeeper.maintenance.looked_at_once import (
    before_and_after,
    change_part,
    layer_and_change,
    layer_part,
)


@cases(150)
@given(aggregates(), histories(batches=1), st.booleans())
def test_layer_and_change_from_one_look(aggregate: Aggregate, history: History, is_whole: bool) -> None:
    kept, [batch] = Kept(aggregate), history.batches
    state, changed = kept.state, frozenset(change.table for change in batch)
    assume(not changed.isdisjoint(base_tables(aggregate)) and (state.keys or not is_whole))
    load(history.rows, batch)
    kept.start(changed)
    summary = store("summary", summary_delta(state, delta(aggregate.child, changed)))
    both = met(state, kept.stored, summary, JoinKind.FULL if is_whole else JoinKind.LEFT)
    assume(not value(filtered(both, is_undetermined(state))))
    whole = store("both_", plain(layer_and_change(state, before_and_after(state, both, is_whole))))

    now, past = value(aggregate), value(old(aggregate, changed))
    assume(means_the_same(aggregate, now, past))
    assert explicit_value(change_part(state, whole)) == difference(now, past)
    rows = rows_of(change_part(state, whole))
    if is_exact(rows):
        assert len({tuple(row) for row in rows}) == len(rows)
        assert len(rows) == sum(map(abs, explicit_value(change_part(state, whole)).values()))

    layer = store("layer_", layer_part(state, whole))
    wanted: Relation = store("fresh", full_state(state, aggregate.child))
    if state.keys and not is_whole:
        assert len(rows_of(layer)) == len(rows_of(summary))
        wanted = matching(wanted, projected(summary, same(state.keys)))
    alive = filtered(layer, not_(column(ROWS_NAME).eq(0))) if state.keys else layer
    assert value(known_again(state, alive)) == value(known_again(state, wanted))
