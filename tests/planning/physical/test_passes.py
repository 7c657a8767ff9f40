"""Each pass as text in `golden/*.txt`: a plan before it and after it, and a plan that it leaves alone.

`VIEWKEEPER_GOLDEN=update pytest tests/planning/physical` rewrites the files; read the difference before you
commit.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import Reference, Relation, Scan, State
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import nodes, rewrite
from viewkeeper.limits import LIMITS, Limits
from viewkeeper.planning.physical import (
    PASSES,
    Facts,
    Fragment,
    Input,
    KnownTypes,
    KnownValues,
    Physical,
    lowered,
    shown,
)
from viewkeeper.planning.physical.keys import Keys
from viewkeeper.planning.physical.plan import Pass, check
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("VIEWKEEPER_GOLDEN") == "update"

TABLES = StaticCatalog(
    (
        TableSchema("part", (Column("pkey", "int"), Column("brand", "string"))),
        TableSchema("line", (Column("lkey", "int"), Column("qty", "int"))),
        TableSchema("mean", (Column("mkey", "int"), Column("avg", "double"))),
    )
)
CHAIN = "SELECT qty FROM (mean JOIN part ON mkey = pkey) JOIN line ON lkey = pkey"
LOOKED_UP = "SELECT qty FROM line JOIN mean ON lkey = mkey"
DEEP = " UNION ALL ".join(["SELECT pkey FROM part"] * 3)


class Few(KnownValues):
    """The change of `mean` is on the driver: it is about the parts 3 and 7."""

    any = True

    def keys(self, rel: Relation, name: str) -> Keys | None:
        return Keys((3, 7), "int") if self.knows(rel) else None

    def knows(self, rel: Relation) -> bool:
        return all(node.table == "mean" for node in nodes(rel) if isinstance(node, Scan))


TYPES = KnownTypes(lambda leaf: {}, lambda plan: {})
"""Scans know the types of their columns; nothing else is asked for."""


@dataclass(frozen=True)
class Case:
    """A query of which `mean` changed, and what is known of its inputs."""

    text: str
    inputs: dict[str, Input]
    values: KnownValues = field(default_factory=KnownValues)
    limits: Limits = LIMITS
    near: float | None = None


SMALL = {name: Input(100, 100, joins=0) for name in ("part", "line")}
LARGE = {"part": Input(2e5, 200_000, ("pkey",)), "line": Input(6e6, 6_000_000)}
CHANGE = {"mean__delta": Input(10, 10, is_few=True, joins=0)}
HELD = {"mean__delta": Input(10, 10, is_few=True, joins=0, held=True)}

CASES: dict[str, tuple[Case, Case]] = {
    "signs": (Case("SELECT avg FROM mean", CHANGE), Case("SELECT mkey FROM mean", CHANGE)),
    "in_lists": (
        Case(CHAIN, {**LARGE, **CHANGE}, Few()),
        Case(CHAIN, {**SMALL, **CHANGE}, Few()),
    ),
    "gather": (
        Case(LOOKED_UP, {"line": Input(5e5, 500_000), **CHANGE}),
        Case(LOOKED_UP, {**LARGE, **CHANGE}),
    ),
    "broadcast": (Case(CHAIN, {**LARGE, **CHANGE}), Case(CHAIN, {**SMALL, **CHANGE})),
    "materialize": (Case(DEEP, SMALL, limits=Limits(unions=1)), Case(DEEP, SMALL)),
    "share": (
        Case(
            "WITH m AS (SELECT mkey, COUNT(*) AS n FROM mean GROUP BY mkey)"
            " SELECT a.n FROM m a JOIN m b ON a.mkey = b.n",
            CHANGE,
        ),
        Case(LOOKED_UP, {**LARGE, **CHANGE}),
    ),
    "co_locate": (Case(CHAIN, {**SMALL, **CHANGE}), Case(CHAIN, {**LARGE, "mean__delta": Input(10)})),
    "place": (Case(CHAIN, {**LARGE, **HELD}, near=1e-4), Case(CHAIN, {**LARGE, **HELD}, near=1.0)),
}
"""Of each pass a plan that it changes, and one that it does not."""


def plan_of(case: Case) -> Relation:
    query = parse_view(case.text, TABLES).relation
    assert query is not None

    def changed(node: Relation) -> Relation:
        is_it = isinstance(node, Scan) and node.table == "mean"
        return replace(node, at=State.DELTA) if is_it and isinstance(node, Scan) else node

    return plain(rewrite(query, changed)) if "mean" in case.text else plain(query)


def around(name: str, case: Case) -> tuple[Physical, Physical]:
    """A plan just before and just after a pass."""
    facts = Facts(case.inputs, case.values, TYPES, case.limits, case.near)
    before = Physical((Fragment("", plan_of(case), is_part=False),))
    for one in PASSES:
        after = check(one(before, facts), before.result.plan.columns)
        if one.__name__ == name:
            return before, after
        before = after
    raise AssertionError(name)


def told(physical: Physical) -> str:
    """The plan as `explain` has it, and what is noted for passes to come."""
    parts = [
        f"-- {fragment.name or 'result'}: {words or 'nothing special'}\n{sql}"
        for fragment, (words, sql) in zip(physical.fragments, shown(physical), strict=True)
    ]
    parts += [f"-- {len(physical.broadcast)} to be broadcast"] if physical.broadcast else []
    parts += [f"-- {len(physical.materialize)} to be written out"] if physical.materialize else []
    return "\n".join(parts)


@pytest.mark.parametrize("one", PASSES, ids=lambda one: one.__name__)
def test_a_pass_does_what_is_written_down(one: Pass) -> None:
    name = one.__name__
    positive, negative = CASES[name]
    before, after = around(name, positive)
    same, still = around(name, negative)
    assert after != before
    assert told(still) == told(same)
    text = f"==== before\n{told(before)}\n\n==== after\n{told(after)}\n\n==== left alone\n{told(still)}\n"
    path = GOLDEN / f"{name}.txt"
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_every_pass_has_a_file_of_its_own() -> None:
    names = {one.__name__ for one in PASSES}
    assert names == set(CASES) == {path.stem for path in GOLDEN.glob("*.txt")}
    assert {one.__module__.rpartition(".")[2] for one in PASSES} == names


def test_a_plan_that_lost_columns_is_no_plan() -> None:
    case = CASES["gather"][0]
    plan = plan_of(case)
    with pytest.raises(MalformedPlan, match="are not"):
        check(Physical((Fragment("", plan),)), ("other",))
    part = Fragment("a", Reference("mean__delta", ("mkey",)))
    wider = Physical((part, Fragment("", Reference("a", ("mkey", "avg")))))
    with pytest.raises(MalformedPlan, match="has not all"):
        check(wider, ("mkey", "avg"))


def test_every_plan_goes_through_all_passes() -> None:
    case = CASES["broadcast"][0]
    done = lowered(plan_of(case), Facts(case.inputs, Few()))
    assert done.in_lists
    assert [fragment.broadcast for fragment in done.fragments] == [True, False]
