"""Reading main and layers as one, on DuckDB, against a model in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from tests.laws.settings import cases
from tests.storage.model import Database, Group, KeyedLayer, Row, columns, spec, value
from viewkeeper.algebra.build import matching, restricted_to
from viewkeeper.algebra.merge.layers import (
    bag_in_turn,
    bag_whole,
    changes,
    counted_bag,
    folded,
    layer_columns,
    merged,
    merged_bag,
    merged_whole,
    replaced,
)
from viewkeeper.algebra.relations import Distinct, Filter

DATABASE = Database()
NUMBERS = st.none() | st.integers(0, 3)
BAG = (("a", "int"), ("b", "int"))
SIGNED = (*BAG, ("__count", "bigint"))


def inserted_group(values: Sequence[int | None]) -> Group:
    """The state of a group that has these values."""
    present = [value for value in values if value is not None]
    least = min(present, default=None)
    return Group(
        len(values),
        sum(present) if present else None,
        len(present),
        least,
        present.count(least) if present else 0,
        max(present, default=None),
    )


GROUPS = st.lists(NUMBERS, min_size=1, max_size=3).map(inserted_group)
DEAD = Group()


@st.composite
def keyed(draw: st.DrawFn, keys: st.SearchStrategy[Row]) -> tuple[dict[Row, Group], list[KeyedLayer]]:
    """A main, and layers that insert or replace; only what replaces can kill a group."""
    main = draw(st.dictionaries(keys, GROUPS, max_size=3))
    layers = []
    for replaces in draw(st.lists(st.booleans(), min_size=1, max_size=4)):
        groups = draw(st.dictionaries(keys, st.just(DEAD) | GROUPS if replaces else GROUPS, max_size=3))
        layers.append(KeyedLayer(tuple(groups.items()), replaces))
    return main, layers


ONE_KEY = st.tuples(NUMBERS)
TWO_KEYS = st.tuples(NUMBERS, st.none() | st.integers(0, 1))


def merged_rows(key: Sequence[str], main: dict[Row, Group], layers: list[KeyedLayer]) -> Counter[Row]:
    """What both readings of the same layers give: main touched where it must be, and as a whole."""
    leaves = DATABASE.keyed(key, main, layers)
    replacing = any(layer.replaces for layer in layers)
    whole = DATABASE.rows(merged_whole(*leaves, spec(key), columns(key), replacing))
    if key:
        assert DATABASE.rows(merged(*leaves, spec(key), columns(key), replacing)) == whole
    return whole


@cases(40)
@given(keyed(ONE_KEY))
def test_layers_of_groups_merge_in_their_order(stored: tuple[dict[Row, Group], list[KeyedLayer]]) -> None:
    assert merged_rows(["k"], *stored) == value(*stored)


@cases(30)
@given(keyed(TWO_KEYS))
def test_of_layers_that_replace_the_last_one_counts(
    stored: tuple[dict[Row, Group], list[KeyedLayer]],
) -> None:
    main, given_layers = stored
    layers = [KeyedLayer(layer.groups, replaces=True) for layer in given_layers]
    leaves = DATABASE.keyed(["k", "l"], main, layers)
    several = len(layers) > 1
    found = DATABASE.rows(replaced(*leaves, spec(["k", "l"]), columns(["k", "l"]), several))
    assert found == value(main, layers)


@cases(20)
@given(keyed(TWO_KEYS))
def test_every_column_of_a_key_may_be_null(stored: tuple[dict[Row, Group], list[KeyedLayer]]) -> None:
    assert merged_rows(["k", "l"], *stored) == value(*stored)


@cases(20)
@given(GROUPS | st.just(DEAD), st.lists(st.tuples(GROUPS | st.just(DEAD), st.booleans()), max_size=4))
def test_without_a_key_there_is_one_group_that_never_dies(
    main: Group, changes: list[tuple[Group, bool]]
) -> None:
    layers = [KeyedLayer((((), group),), replaces) for group, replaces in changes]
    stored = {(): main}
    assert merged_rows([], stored, layers) == value(stored, layers)


@cases(40)
@given(keyed(ONE_KEY), st.integers(1, 4))
def test_many_layers_made_one_mean_the_same(
    stored: tuple[dict[Row, Group], list[KeyedLayer]], first: int
) -> None:
    """Folding some layers, then merging the result and the rest, changes nothing."""
    main, layers = stored
    leaf, changes = DATABASE.keyed(["k"], main, layers[:first])
    one = DATABASE.rows(folded(changes, spec(["k"])))
    rest = DATABASE.rows(DATABASE.keyed(["k"], main, layers)[1])
    later = [row for row in rest.elements() if row[-2] > first]
    kinds = {c.name: c.type for c in columns(["k"])} | {"__seq": "bigint", "__replaces": "boolean"}
    fields = [(name, kinds[name]) for name in layer_columns(spec(["k"]))]
    both = DATABASE.leaf("layers", fields, [*one.elements(), *later])
    replacing = any(layer.replaces for layer in layers)
    plan = merged(leaf, both, spec(["k"]), columns(["k"]), replacing)
    assert DATABASE.rows(plan) == value(main, layers)


@cases(60)
@given(keyed(TWO_KEYS), st.integers(0, 4))
def test_the_change_of_groups_in_one_pass(
    stored: tuple[dict[Row, Group], list[KeyedLayer]], first: int
) -> None:
    """Groups that later layers mention, as they were and as they are; the others have not changed."""
    main, layers = stored
    key = ["k", "l"]
    leaf, rows = DATABASE.keyed(key, main, layers)
    at = exp.column("__seq")
    earlier, later = (Filter(rows, at <= first), Filter(rows, at > first))
    mentioned = Distinct(restricted_to(later, key))
    before = [matching(rel, mentioned) for rel in (leaf, earlier)]
    replacing = any(layer.replaces for layer in layers)
    plan = changes(before, later, spec(key), columns(key), replacing)
    net: Counter[Row] = Counter()
    for row, times in DATABASE.rows(plan).items():
        net[row[:-1]] += row[-1] * times
    expected = value(main, layers)
    expected.subtract(value(main, layers[:first]))
    assert +net == +expected
    assert -net == -expected


def test_a_group_dies_and_is_born_again() -> None:
    main = {(1,): inserted_group([5, 7])}
    gone = KeyedLayer((((1,), DEAD),), replaces=True)
    born = KeyedLayer((((1,), inserted_group([9])),))
    assert merged_rows(["k"], main, [gone]) == Counter()
    assert merged_rows(["k"], main, [gone, born]) == Counter([(1, 9, 1, 9, 1, 9, 1, 9)])


def test_sums_that_cancel_leave_null_or_nothing() -> None:
    """Counts and sums may fall by adding: of a group without rows nothing stays."""
    main = {(1,): inserted_group([5]), (2,): inserted_group([4, None])}
    less = Group(-1, -5, -1), Group(-1, -4, -1)
    layer = KeyedLayer((((1,), less[0]), ((2,), less[1])))
    found = merged_rows(["k"], main, [layer])
    assert [(row[0], row[1], row[2]) for row in found] == [(2, None, 1)]


@pytest.mark.parametrize(("values", "holders"), [([3, 3, 4], 3), ([2, 2], 2), ([5], 1), ([None], 1)])
def test_holders_add_where_extremes_are_equal(values: list[int | None], holders: int) -> None:
    layer = KeyedLayer((((1,), inserted_group(values)),))
    [row] = merged_rows(["k"], {(1,): inserted_group([3])}, [layer])
    assert row[6] == holders


ROWS = st.tuples(NUMBERS, NUMBERS)


@st.composite
def bags(draw: st.DrawFn) -> tuple[list[Row], list[tuple[Row, int]], list[Row]]:
    """Rows of main, signed rows of layers, and the rows that remain."""
    main = draw(st.lists(ROWS, max_size=5))
    now, signed = list(main), []
    for row, deletes in draw(st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=6)):
        if deletes and now:
            row = draw(st.sampled_from(now))
            now.remove(row)
            signed.append((row, -1))
        else:
            now.append(row)
            signed.append((row, 1))
    return main, signed, now


@cases(40)
@given(bags())
def test_a_bag_and_its_signed_layers(stored: tuple[list[Row], list[tuple[Row, int]], list[Row]]) -> None:
    main, signed, now = stored
    leaf = DATABASE.leaf("stored", BAG, main)
    layers = DATABASE.leaf("layers", SIGNED, [(*row, count) for row, count in signed])
    assert DATABASE.rows(merged_bag(leaf, layers, ())) == Counter(now)
    assert DATABASE.rows(bag_whole(leaf, layers)) == Counter(now)
    counts: Counter[Row] = Counter()
    for *row, count in DATABASE.rows(counted_bag(leaf, layers)).elements():
        counts[tuple(row)] += count
    assert +counts == Counter(now)


@cases(20)
@given(
    st.dictionaries(st.none() | st.integers(0, 3), NUMBERS),
    st.dictionaries(st.none() | st.integers(0, 4), NUMBERS | st.just("gone")),
)
def test_a_bag_with_a_key_is_searched_by_it(
    main: dict[int | None, int | None], after: dict[int | None, int | str | None]
) -> None:
    signed = [(key, main[key], -1) for key in after if key in main]
    signed += [(key, value, 1) for key, value in after.items() if value != "gone"]
    leaf = DATABASE.leaf("stored", BAG, list(main.items()))
    layers = DATABASE.leaf("layers", SIGNED, signed)
    now = {key: value for key, value in {**main, **after}.items() if value != "gone"}
    nullable = None in main or None in after
    assert DATABASE.rows(merged_bag(leaf, layers, ("a",), nullable)) == Counter(now.items())
    assert DATABASE.rows(bag_in_turn(leaf, [(layers, True)], ("a",), nullable)) == Counter(now.items())


@st.composite
def whole_deletions(draw: st.DrawFn) -> tuple[list[Row], list[Counter[Row]], Counter[Row]]:
    """Rows of main, layers that leave no copy of what they delete, and the rows that remain."""
    main = draw(st.lists(ROWS, max_size=5))
    now, layers = Counter(main), []
    for _ in range(draw(st.integers(1, 4))):
        gone = draw(st.lists(st.sampled_from(sorted(now, key=str)), unique=True)) if now else []
        layer = Counter({row: -now.pop(row) for row in gone})
        more = Counter(row for row in draw(st.lists(ROWS, max_size=3)) if row not in gone)
        layers.append(Counter({**layer, **more}))
        now += more
    return main, layers, now


@cases(60)
@given(whole_deletions())
def test_layers_that_leave_no_copy_are_laid_over_each_other(
    stored: tuple[list[Row], list[Counter[Row]], Counter[Row]],
) -> None:
    main, layers, now = stored
    leaf = DATABASE.leaf("stored", BAG, main)
    above = [
        (
            DATABASE.leaf(f"layer{number}", SIGNED, _one_by_one(layer)),
            any(count > 0 for count in layer.values()),
        )
        for number, layer in enumerate(layers)
    ]
    assert DATABASE.rows(bag_in_turn(leaf, above, ())) == now


def _one_by_one(layer: Counter[Row]) -> list[Row]:
    """As a transaction writes its net effect: a row for every copy."""
    return [(*row, 1 if count > 0 else -1) for row, count in layer.items() for _ in range(abs(count))]
