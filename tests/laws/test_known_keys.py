"""Known keys written into a plan change what is read, never the rows; nor does it matter who joins few rows.

*Differential* tests: the plan that asks against the plan as it was, and the driver's rows against DuckDB's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from tests.laws.databases import TABLES, History, histories
from tests.laws.harness import explicit_value, load, scan, start, value
from tests.laws.harness import rows_of as stored_rows_of
from tests.laws.held import bag, held_rows
from tests.laws.plans import Typed, plans_with
from tests.laws.settings import cases
from viewkeeper.algebra.build import filtered, named_like, restricted_to, union_all
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import Named, Scalar, column, conjunction, equal, same_or_both_null
from viewkeeper.algebra.expressions import literal as number
from viewkeeper.algebra.facts import column_type
from viewkeeper.algebra.prune import pruned
from viewkeeper.algebra.relations import Distinct, Join, JoinKind, Project, Relation, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import rewrite, scans
from viewkeeper.delta import delta
from viewkeeper.engine.local.run import run
from viewkeeper.engine.rows import Held
from viewkeeper.planning.physical import Facts, Input, KnownTypes, lowered
from viewkeeper.planning.physical.in_lists import with_known_keys
from viewkeeper.planning.physical.keys import TYPES, Keys

PAIR = ("x", "y")
KINDS = (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)


def keys_of(rel: Relation, name: str) -> Keys | None:
    kind = column_type(rel, name)
    if kind not in TYPES:
        return None
    values = {row[rel.columns.index(name)] for row in stored_rows_of(rel)}
    return Keys(tuple(sorted(values - {None})), kind, None in values)


@cases(300)
@given(plans_with(Join), histories(), st.booleans(), st.integers(0, 99))
def test_plans_that_ask_for_known_keys_have_the_same_value(
    view: Typed, history: History, changes: bool, seed: int
) -> None:
    changed, dice = start(history), Random(seed)
    plan = weighted(delta(view.rel, changed) if changes else view.rel)
    small = {table for table in TABLES if dice.random() < 0.5}
    asking = with_known_keys(plan, keys_of, lambda rel: not _is_over(rel, small), set())
    assert asking.columns == plan.columns
    assert explicit_value(asking) == explicit_value(plan)


@cases(300)
@given(plans_with(Join), histories(), st.booleans(), st.integers(0, 99))
def test_keys_are_known_above_joins_too(view: Typed, history: History, changes: bool, seed: int) -> None:
    """The keys of some tables are known, and of no plan that joins them with others."""
    changed, dice = start(history), Random(seed)
    plan = weighted(delta(view.rel, changed) if changes else view.rel)
    few = {table for table in TABLES if dice.random() < 0.5}

    def known(rel: Relation, name: str) -> Keys | None:
        return keys_of(rel, name) if _is_over(rel, few) else None

    asking = with_known_keys(plan, known, lambda rel: not _is_over(rel, few), set(), through_joins=True)
    assert asking.columns == plan.columns
    assert explicit_value(asking) == explicit_value(plan)


def test_a_relation_is_asked_for_keys_that_a_join_below_has_met() -> None:
    """(s ⋈ t) ⋈ r by columns of both: r is asked for those of s, whose keys alone are known."""
    below = Join(scan("s"), scan("t"), JoinKind.INNER, equal(column("c"), column("k")))
    by = conjunction([equal(column("c"), column("a")), equal(column("k"), column("b"))])
    plan = Join(below, scan("r"), JoinKind.INNER, by)
    load(
        {"r": ((1, 1, "x"), (2, 2, "y")), "s": ((1, None, None),), "t": ((1, None, None), (2, None, None))},
        (),
    )

    def known(rel: Relation, name: str) -> Keys | None:
        return keys_of(rel, name) if _is_over(rel, {"s"}) else None

    def is_large(rel: Relation) -> bool:
        return _is_over(rel, {"r"})

    asking = with_known_keys(plan, known, is_large, set(), through_joins=True)
    assert isinstance(asking, Join)
    assert value(asking.right) == Counter({(1, 1, "x"): 1})
    assert value(asking) == value(plan)
    assert with_known_keys(plan, known, is_large, set()) == plan


@cases(300)
@given(histories(), st.integers(0, 10**6))
def test_marks_and_semi_joins_become_choices(history: History, seed: int) -> None:
    """L ⟕ δ(K) and L ⋉ K by one column, which random plans seldom have: no join is left."""
    start(history)
    dice = Random(seed)
    left, right = pair(dice, "l"), Distinct(restricted_to(pair(dice, "r"), ["rx"]))
    semi = dice.random() < 0.5
    same = dice.choice((equal, same_or_both_null)) if semi else equal
    join = Join(left, right, JoinKind.SEMI if semi else JoinKind.LEFT, same(column("ly"), column("rx")))
    asked: set[Relation] = set()
    asking = with_known_keys(join, keys_of, lambda rel: rel == left, asked)
    assert value(asking) == value(join)
    assert not isinstance(asking, Join)
    assert asked == ({asking} if semi else set()), "rows that are only marked are all there"


def test_one_semi_join_that_is_said_does_not_stand_for_another() -> None:
    first = Join(
        scan("r"), Distinct(restricted_to(scan("s"), ["c"])), JoinKind.SEMI, equal(column("a"), column("c"))
    )
    both = Join(
        first, Distinct(restricted_to(scan("t"), ["k"])), JoinKind.SEMI, equal(column("b"), column("k"))
    )
    load({"r": ((1, 1, "x"), (1, 2, "x")), "s": ((1, None, None),), "t": ((2, None, None),)}, ())
    asking = with_known_keys(both, keys_of, lambda rel: _is_over(rel, {"r"}), set())
    assert value(asking) == value(both) == Counter({(1, 2, "x"): 1})


def _is_over(rel: Relation, tables: set[str]) -> bool:
    return {found.table for found in scans(rel)} <= tables


def pair(dice: Random, prefix: str) -> Relation:
    """Two columns of numbers of a table, and what is chosen from them."""
    table = dice.choice(("r", "s", "t"))
    names = {"r": ("a", "b"), "s": ("c", "c"), "t": ("k", "k")}[table]
    outputs = (Named(f"{prefix}x", column(names[0])), Named(f"{prefix}y", column(names[1])))
    rel: Relation = Project(scan(table), outputs)
    return (
        filtered(rel, exp.GT(this=column(f"{prefix}x"), expression=number(0))) if dice.random() < 0.2 else rel
    )


def plain_plan(dice: Random, depth: int) -> Relation:
    """A plan of two columns that chooses, unites and joins by equal columns."""
    if depth == 0:
        return named_like(pair(dice, ""), PAIR)
    below = plain_plan(dice, depth - 1)
    match dice.randrange(4):
        case 0:
            return Distinct(below)
        case 1:
            return union_all((below, plain_plan(dice, depth - 1)), PAIR)
        case _:
            other = named_like(plain_plan(dice, dice.randrange(depth)), ("u", "v"))
            join = Join(below, other, dice.choice(KINDS), _condition(dice))
            wide = join.kind in (JoinKind.INNER, JoinKind.LEFT)
            return named_like(restricted_to(join, ["x", "v"] if wide else PAIR), PAIR)


def _condition(dice: Random) -> Scalar:
    same = dice.choice((equal, same_or_both_null))
    pairs = dice.choice(([("y", "u")], [("x", "u"), ("y", "v")], [("x", "v")]))
    return conjunction(same(column(mine), column(theirs)) for mine, theirs in pairs)


def held_as(rel: Relation) -> Held:
    """The rows of a relation whose columns are all numbers."""
    return held_rows([Column(name, "int") for name in rel.columns], value(rel).elements())


placed: Counter[str] = Counter()


def test_few_rows_put_together_on_the_driver_are_those_of_the_plan() -> None:
    placed.clear()
    few_rows_put_together()
    assert placed["here"] > placed.total() / 4


@cases(600)
@given(histories(), st.integers(0, 10**6))
def few_rows_put_together(history: History, seed: int) -> None:
    dice = Random(seed)
    load(history.rows, ())
    plan = pruned(plain_plan(dice, dice.choice((1, 2, 3))))
    on_driver = {table for table in TABLES if dice.random() < 0.6}
    looks: list[Relation] = []
    held, inputs = {}, {}
    for table in on_driver:
        numbers = [column.name for column in TABLES[table] if column.type == "int"]
        held[table] = held_as(restricted_to(scan(table), numbers))
        inputs[table] = Input(held[table].rows, held=True)

    def look(part: Relation) -> pa.Table:
        looks.append(part)
        return held_as(part).table

    narrow = rewrite(plan, _numbers_alone)
    types = KnownTypes(lambda leaf: {})
    physical = lowered(narrow, Facts(inputs, types=types, near=0.0))
    found = run(physical, held, look) if physical.is_here else None
    placed["here" if found is not None else "on Spark"] += 1
    assert not (looks and on_driver == set(TABLES))
    if found is not None:
        assert bag(found) == value(plan)
    elif on_driver == set(TABLES):
        raise AssertionError("all rows are on the driver")


def _numbers_alone(node: Relation) -> Relation:
    """A scan that has the columns of numbers alone."""
    if not isinstance(node, Scan):
        return node
    return replace(node, bound=tuple(item for item in node.bound if item.source.type == "int"))
