"""Main and ID-based diffs read as one, on DuckDB, against a dictionary that the diffs are applied to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.storage.model import Database, Row
from viewkeeper.algebra.merge.id_layers import DiffRows, can_fold, identified, last, touched
from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.merge.spec import DiffKind, IdDiff, MergeSpec, Operator
from viewkeeper.algebra.relations import Reference
from viewkeeper.algebra.schema import Column
from viewkeeper.storage.relation import Layer, RelationState, by_schema, diff_schema

DATABASE = Database()
IDS = ("i", "j")
FIELDS = ("i", "j", "a", "b")
COLUMNS = tuple(Column(name, "int") for name in FIELDS)
SPEC = MergeSpec(IDS, (("a", Operator.SET), ("b", Operator.SET)), identified=True)
STATE = RelationState("r", COLUMNS, 0, 0, SPEC, IDS)
NUMBERS = st.none() | st.integers(0, 2)
TWO = st.tuples(NUMBERS, NUMBERS)
KEYS = st.sampled_from([(), ("i",), ("j",), IDS])
SETS = st.sampled_from([("a",), ("b",), ("a", "b")])

Rows = dict[Row, Row]


@dataclass(frozen=True)
class Applied:
    """A layer and its rows: the key, then the columns that are set."""

    schema: IdDiff
    rows: tuple[Row, ...]


def one_per_key(width: int, sets: int) -> st.SearchStrategy[tuple[Row, ...]]:
    number = st.tuples(*[NUMBERS] * width)
    values = st.tuples(*[NUMBERS] * sets)
    pairs = st.dictionaries(number, values, min_size=1, max_size=3)
    return pairs.map(lambda found: tuple((*key, *value) for key, value in found.items()))


def movements(columns: int) -> st.SearchStrategy[tuple[Row, ...]]:
    by = st.integers(-2, 2)
    found = st.dictionaries(TWO, st.tuples(*[by] * columns), min_size=1, max_size=3)
    return found.map(lambda moves: tuple((*ids, *values) for ids, values in moves.items()))


@st.composite
def layers(draw: st.DrawFn) -> Applied:
    kind = draw(st.sampled_from(DiffKind))
    match kind:
        case DiffKind.INSERT:
            return Applied(IdDiff(kind, IDS, ("a", "b")), draw(one_per_key(2, 2)))
        case DiffKind.DELETE:
            key = draw(KEYS)
            return Applied(IdDiff(kind, key), draw(one_per_key(len(key), 0)))
        case DiffKind.UPDATE:
            key, sets = draw(KEYS), draw(SETS)
            return Applied(IdDiff(kind, key, sets), draw(one_per_key(len(key), len(sets))))
        case DiffKind.MOVE:
            if draw(st.booleans()):
                return Applied(IdDiff(kind, IDS, ("b",)), draw(movements(1)))
            return Applied(IdDiff(kind, IDS, ("a", "b"), (("a", "b"),)), draw(movements(2)))


MAINS = st.dictionaries(TWO, TWO, max_size=5)
OVERLAYS = st.lists(layers(), min_size=1, max_size=5)


def after(rows: Rows, diffs: Sequence[Applied]) -> Rows:
    """What section 2 of katsis15 says of the diffs, one by one. Where `a` moved, `b` counts its values."""
    found, summed = dict(rows), set[Row]()
    for diff in diffs:
        places = [IDS.index(name) for name in diff.schema.key]
        for row in diff.rows:
            key, values = row[: len(places)], row[len(places) :]
            named = [ids for ids in found if tuple(ids[place] for place in places) == key]
            match diff.schema.kind:
                case DiffKind.INSERT:
                    found[key] = values
                    summed.discard(key)
                case DiffKind.DELETE:
                    for ids in named:
                        del found[ids]
                case DiffKind.UPDATE:
                    for ids in named:
                        new = dict(zip(("a", "b"), found[ids])) | dict(zip(diff.schema.sets, values))
                        found[ids] = (new["a"], new["b"])
                        summed -= {ids} if "a" in diff.schema.sets else set()
                case DiffKind.MOVE:
                    for ids in named:
                        new = dict(zip(("a", "b"), found[ids]))
                        new |= {n: (new[n] or 0) + by for n, by in zip(diff.schema.sets, values)}
                        found[ids] = (new["a"], new["b"])
                        summed |= {ids} if "a" in diff.schema.sets else set()
    empty = {ids for ids in summed & found.keys() if not found[ids][1]}
    return {ids: (None, b) if ids in empty else (a, b) for ids, (a, b) in found.items()}


def bag(rows: Rows) -> Counter[Row]:
    return Counter((*ids, *values) for ids, values in rows.items())


def leaves(diffs: Sequence[Applied], first: int = 1) -> list[DiffRows]:
    """The rows of each schema as a table of their own, with their place in the order."""
    placed = [(diff, number) for number, diff in enumerate(diffs, start=first)]
    found = []
    for number, schema in enumerate(by_schema(Layer(1, (), diff=diff.schema) for diff in diffs)):
        own = [(diff, seq) for diff, seq in placed if diff.schema == schema]
        rows = [(*row, seq) for diff, seq in own for row in diff.rows]
        found.append(table(number, schema, rows, len(own) > 1))
    return found


def table(number: int, schema: IdDiff, rows: Sequence[Row], several: bool) -> DiffRows:
    fields = [(name, "int") for name in (*schema.key, *schema.sets)]
    leaf = DATABASE.leaf(f"diff{number}", [*fields, (SEQUENCE, "bigint")], rows)
    return DiffRows(schema, leaf, several)


def stored(rows: Rows) -> Reference:
    return DATABASE.leaf("stored", [(name, "int") for name in FIELDS], list(bag(rows)))


@cases(60)
@given(MAINS, OVERLAYS)
def test_all_layers_at_once_are_one_after_the_other(main: Rows, diffs: list[Applied]) -> None:
    assert DATABASE.rows(identified(stored(main), leaves(diffs))) == bag(after(main, diffs))
    assert DATABASE.rows(identified(stored(main), leaves(diffs), COLUMNS, FIELDS)) == bag(after(main, diffs))


@cases(40)
@given(MAINS, OVERLAYS, OVERLAYS)
def test_folded_layers_mean_the_same(main: Rows, diffs: list[Applied], more: list[Applied]) -> None:
    """Of each schema the last row of a key is enough, whatever comes later; of moves their sum, where nothing
    was set between them."""
    assume(can_fold(diff.schema for diff in diffs))
    folded = {diff.schema: DATABASE.rows(last(diff)) for diff in leaves(diffs)}
    for number, diff in enumerate(more, start=len(diffs) + 1):
        own = folded.setdefault(diff.schema, Counter())
        own.update((*row, number) for row in diff.rows)
    tables = [table(n, schema, list(rows), True) for n, (schema, rows) in enumerate(folded.items())]
    assert DATABASE.rows(identified(stored(main), tables)) == bag(after(main, diffs + more))


@cases(40)
@given(MAINS, OVERLAYS)
def test_rows_that_no_diff_names_are_the_same_before_and_after(main: Rows, diffs: list[Applied]) -> None:
    """What changed is the difference of the touched rows; untouched ones need not be compared."""
    new = after(main, diffs)
    before = DATABASE.rows(touched(stored(main), leaves(diffs)))
    now = DATABASE.rows(touched(stored(new), leaves(diffs)))
    assert max(before.values(), default=1) == 1
    assert bag(main) - before == bag(new) - now
    assert now - before == bag(new) - bag(main)


def test_one_row_updates_many() -> None:
    main = {(1, place): (10, place) for place in range(5)} | {(2, 0): (20, 0)}
    price = Applied(IdDiff(DiffKind.UPDATE, ("i",), ("a",)), ((1, 11),))
    found = DATABASE.rows(identified(stored(main), leaves([price])))
    assert found == Counter([*((1, place, 11, place) for place in range(5)), (2, 0, 20, 0)])


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_the_last_diff_counts(order: tuple[int, ...]) -> None:
    diffs = [
        Applied(IdDiff(DiffKind.INSERT, IDS, ("a", "b")), ((1, 1, 5, 5),)),
        Applied(IdDiff(DiffKind.DELETE, ("i",)), ((1,),)),
        Applied(IdDiff(DiffKind.UPDATE, ("j",), ("a",)), ((1, 7),)),
    ]
    chosen = [diffs[number] for number in order]
    main = {(1, 1): (0, 0), (2, 1): (0, 0)}
    assert DATABASE.rows(identified(stored(main), leaves(chosen))) == bag(after(main, chosen))


def test_a_layer_stores_its_key_and_what_it_sets() -> None:
    diff = IdDiff(DiffKind.UPDATE, ("j",), ("b",))
    assert [c.name for c in diff_schema(STATE, diff)] == ["j", "b", SEQUENCE]
    layer = Layer(3, (), diff=diff)
    assert Layer.from_json(layer.to_json()) == layer
    assert MergeSpec.from_json(SPEC.to_json()) == SPEC
