"""Signed layers among ID-based diffs, on DuckDB, against a dictionary that both are applied to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.storage.model import Row
from tests.storage.test_id_layers import DATABASE, IDS, Applied, Rows, after, bag, stored, table
from viewkeeper.algebra.merge.id_layers import DiffRows, identified, touched
from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.merge.signed_ids import as_diffs, folded
from viewkeeper.algebra.merge.spec import DiffKind, IdDiff
from viewkeeper.algebra.relations import Reference
from viewkeeper.algebra.schema import COUNT

SEEDS = st.integers(0, 2**40)
FIELDS = [(name, "int") for name in ("i", "j", "a", "b")] + [(COUNT, "bigint"), (SEQUENCE, "bigint")]


@dataclass(frozen=True)
class Stream:
    """A relation before some layers, the layers with their rows, and the relation after them."""

    before: Rows
    signed: tuple[Row, ...]
    updates: tuple[tuple[Applied, int], ...]
    after: Rows


def random_rows(random: Random) -> Rows:
    return {ids(random): values(random) for _ in range(random.randint(0, 5))}


def ids(random: Random) -> Row:
    return (random.choice((0, 1, None)), random.choice((0, 1, 2)))


def values(random: Random) -> Row:
    return (random.choice((0, 1, None)), random.choice((0, 1, 2)))


def stream(random: Random, rows: Rows, first: int = 1) -> Stream:
    """Signed layers that are exact: what they delete is there, as it is."""
    now, signed, updates = dict(rows), [], []
    for seq in range(first, first + random.randint(1, 5)):
        if random.random() < 0.5:
            key, sets = random.choice((("i",), ("j",), IDS)), random.choice((("a",), ("b",), ("a", "b")))
            found = {tuple(random.choice((0, 1, None)) for _ in key): values(random) for _ in range(2)}
            diff = Applied(
                IdDiff(DiffKind.UPDATE, key, sets), tuple((*k, *v[: len(sets)]) for k, v in found.items())
            )
            updates.append((diff, seq))
            now = after(now, [diff])
            continue
        new = dict(now)
        for _ in range(random.randint(1, 3)):
            if new and random.random() < 0.5:
                del new[random.choice(list(new))]
            else:
                new[ids(random)] = values(random)
        changed = [one for one in {**now, **new} if now.get(one) != new.get(one)]
        signed += [(*one, *now[one], -1, seq) for one in changed if one in now]
        signed += [(*one, *new[one], 1, seq) for one in changed if one in new]
        now = new
    return Stream(rows, tuple(signed), tuple(updates), now)


def signed_leaf(rows: Sequence[Row]) -> Reference:
    return DATABASE.leaf("signed", FIELDS, list(rows))


def diffs(signed: Sequence[Row], updates: Sequence[tuple[Applied, int]]) -> list[DiffRows]:
    found = list(as_diffs(signed_leaf(signed), IDS, True)) if signed else []
    for number, schema in enumerate(dict.fromkeys(diff.schema for diff, _ in updates)):
        rows = [(*row, seq) for diff, seq in updates if diff.schema == schema for row in diff.rows]
        found.append(table(number, schema, rows, True))
    return found


@cases(40)
@given(SEEDS)
def test_both_kinds_at_once_are_one_after_the_other(seed: int) -> None:
    one = stream(Random(seed), random_rows(Random(seed)))
    assert DATABASE.rows(identified(stored(one.before), diffs(one.signed, one.updates))) == bag(one.after)


@cases(40)
@given(SEEDS)
def test_folded_signed_layers_mean_the_same(seed: int) -> None:
    """Whatever comes later."""
    random = Random(seed)
    one = stream(random, random_rows(random))
    more = stream(random, one.after, first=10)
    signed = list(DATABASE.rows(folded(signed_leaf(one.signed), IDS))) if one.signed else []
    found = diffs([*signed, *more.signed], [*one.updates, *more.updates])
    assert DATABASE.rows(identified(stored(one.before), found)) == bag(more.after)


@cases(30)
@given(SEEDS)
def test_rows_that_neither_names_are_the_same_before_and_after(seed: int) -> None:
    one = stream(Random(seed), random_rows(Random(seed)))
    named = diffs(one.signed, one.updates)
    before = DATABASE.rows(touched(stored(one.before), named))
    now = DATABASE.rows(touched(stored(one.after), named))
    assert bag(one.before) - before == bag(one.after) - now
    assert now - before == bag(one.after) - bag(one.before)
