"""When layers are folded; and a refresh that is published on top of other commits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from viewkeeper.algebra.merge.spec import MergeSpec
from viewkeeper.algebra.schema import COUNT, Column, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.limits import LIMITS
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.compaction import Fold, fold_of
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import rebased
from viewkeeper.storage.relation import DataFile, Layer, RelationState

COLUMNS = (Column("a", "int"),)


def layer(rows: int, commit: int = 1, low: int = 1, name: str = "f") -> Layer:
    return Layer(commit, (DataFile(name, rows, rows * 10, {COUNT: (low, 1)}),))


def bag(main_rows: int, *overlay: Layer) -> RelationState:
    return RelationState("r", COLUMNS, 0, main_rows, overlay=overlay)


FEW = LIMITS.layers - 1
MANY = LIMITS.layers
LARGE = LIMITS.main_written + 1


@pytest.mark.parametrize(
    ("state", "fold"),
    [
        (bag(10), Fold.NOTHING),
        (bag(10, layer(1)), Fold.NOTHING),
        (bag(10, *[layer(1, low=-1)] * FEW), Fold.NOTHING),
        (bag(1000, *[layer(1, low=-1)] * MANY), Fold.MAIN),
        (bag(LARGE * 10, *[layer(1, low=-1)] * MANY), Fold.LAYERS),
        (bag(LARGE, layer(LARGE, low=-1)), Fold.MAIN),
        (bag(LARGE * 100, layer(LARGE, low=-1)), Fold.NOTHING),
        (bag(10, layer(LIMITS.layer_adopted)), Fold.ADOPT),
        (bag(10, layer(LIMITS.layer_adopted), layer(1)), Fold.NOTHING),
        (bag(10, layer(LIMITS.layer_adopted, low=-1)), Fold.NOTHING),
    ],
)
def test_the_cheapest_fold_that_keeps_reads_fast(state: RelationState, fold: Fold) -> None:
    assert fold_of(state, forced=False) is fold


def test_layers_of_groups_are_never_adopted() -> None:
    large = layer(LIMITS.layer_adopted)
    keyed = RelationState("r", COLUMNS, 0, 10, MergeSpec(("a",), ()), overlay=(large,))
    assert fold_of(keyed, forced=False) is Fold.NOTHING


def test_what_is_asked_for_is_folded() -> None:
    assert fold_of(bag(10, layer(1)), forced=True) is Fold.MAIN
    assert fold_of(bag(10), forced=True) is Fold.NOTHING


def test_a_layer_only_inserts_when_its_footers_say_so() -> None:
    assert layer(3).only_inserts
    assert not layer(3, low=-1).only_inserts
    assert not Layer(1, (DataFile("f", 3, 1),)).only_inserts
    assert Layer(1, (DataFile("f", 0, 1),)).only_inserts


def catalog(sql: str = "SELECT a FROM t") -> Catalog:
    view = ViewDefinition("v", sql, COLUMNS, ("t",), position=1, published=1)
    return Catalog({"t": TableSchema("t", COLUMNS)}, {"v": view})


BASE = Entry(3, catalog(), {"t": bag(1), "v": bag(1)})


def refreshed() -> Draft:
    draft = Draft(BASE, "refresh")
    draft.append("v", layer(1, name="new").files)
    view = draft.catalog.views["v"]
    draft.put_view(ViewDefinition(**{**view.__dict__, "position": 3, "published": draft.version}))
    return draft


def test_a_refresh_moves_on_top_of_a_change_of_tables() -> None:
    newest = Entry(5, catalog(), {"t": bag(1, layer(1, 4)), "v": bag(1)})
    draft = rebased(refreshed(), newest)
    assert draft is not None
    assert draft.version == 6
    assert [found.commit for found in draft.relations["v"].log] == [6]
    assert draft.relations["t"] == newest.relations["t"]
    assert (draft.catalog.views["v"].position, draft.catalog.views["v"].published) == (3, 6)


@pytest.mark.parametrize(
    "newest",
    [
        Entry(4, catalog(), {"t": bag(1), "v": bag(2)}),
        Entry(4, catalog("SELECT a + 1 AS a FROM t"), {"t": bag(1), "v": bag(1)}),
        Entry(4, Catalog({"t": TableSchema("t", COLUMNS)}, {}), {"t": bag(1)}),
    ],
    ids=["the view was refreshed", "the view was altered", "the view was dropped"],
)
def test_a_refresh_starts_anew_when_its_views_changed(newest: Entry) -> None:
    assert rebased(refreshed(), newest) is None


def test_changes_of_tables_always_start_anew() -> None:
    draft = Draft(BASE, "transaction")
    draft.append("t", layer(1, name="new").files)
    assert rebased(draft, Entry(4, catalog(), {"t": bag(1), "v": bag(1)})) is None


def test_changes_of_options_start_anew_and_are_not_lost() -> None:
    draft = Draft(BASE, "set freshness")
    draft.put_view(replace(draft.catalog.views["v"], properties=(("viewkeeper.target_lag", "1 minute"),)))
    assert rebased(draft, Entry(4, catalog(), {"t": bag(2), "v": bag(1)})) is None


def test_a_table_that_is_dropped_is_dropped_from_the_newest_entry() -> None:
    draft = Draft(Entry(3, Catalog({"t": TableSchema("t", COLUMNS)}, {}), {"t": bag(1)}), "drop t")
    draft.drop("t")
    assert rebased(draft, Entry(4, Catalog({"t": TableSchema("t", COLUMNS)}, {}), {"t": bag(2)})) is None


def test_a_draft_counts_its_own_layers() -> None:
    draft = Draft(BASE, "refresh")
    first = draft.next_sequence("v")
    draft.append("v", layer(1, name="new").files)
    assert draft.next_sequence("v") == first + 1
    draft.append("v", ())
    assert len(draft.relations["v"].overlay) == 1
    assert draft.position == BASE.version
    draft.append("t", layer(1, name="new").files)
    assert draft.position == draft.version
