"""The same loops as SQL: DRed rendered for DuckDB derives what the interpreter derives."""

from __future__ import annotations

import random

import pytest

from tests.datalog.duckdb_evaluator import DuckDatabase
from tests.datalog.interpreter import Bag
from tests.datalog.programs import EXAMPLES, TABLES, Example
from tests.datalog.views import TABLE_COLUMNS, fixpoints, naive, translated
from viewkeeper.algebra.relations import Reference
from viewkeeper.datalog.parse import parse_program
from viewkeeper.maintenance.dred.algorithm import Maintained, maintain
from viewkeeper.maintenance.dred.changed_subgoals import Changes
from viewkeeper.maintenance.recursion.port import Run
from viewkeeper.maintenance.recursion.seminaive import evaluate_fixpoint


def random_bag(rng: random.Random, table: str) -> Bag:
    width = len(TABLES[table].columns)
    rows = [
        tuple(rng.randint(0, 4) if n < 2 else rng.randint(1, 3) for n in range(width))
        for _ in range(3 * width)
    ]
    return {row: rng.choice((1, 1, 2)) for row in rows}


def difference(new: Bag, old: Bag) -> Bag:
    return {row: n for row in {**old, **new} if (n := new.get(row, 0) - old.get(row, 0))}


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_dred_as_sql(example: Example, seed: int) -> None:
    rng = random.Random(f"{example.name}{seed}")
    program = parse_program(example.rules)
    columns = {predicate.name: predicate.columns for predicate in translated(program)}
    old = {name: random_bag(rng, name) if name in example.tables else {} for name in TABLES}
    new = {
        name: dict(rng.sample(sorted(bag.items()), len(bag) // 2)) | random_bag(rng, name) if bag else bag
        for name, bag in old.items()
    }
    before, after = naive(program, old), naive(program, new)
    db = DuckDatabase()
    changed: frozenset[str] = frozenset()
    for name, bag in old.items():
        states(db, name, TABLE_COLUMNS[name], bag, new[name])
        changed |= {name}
    for fixpoint in fixpoints(program):
        stored = {d.name: Reference(f"{d.name}__old", d.columns) for d in fixpoint.definitions}
        for name in stored:
            states(db, name, columns[name], before[name], after[name])
        first = evaluate_fixpoint(fixpoint, Run(db))
        assert {name: db.value(rel) for name, rel in first.items()} == {name: after[name] for name in stored}
        done = maintain(fixpoint, stored, Changes(changed, changed), Run(db))
        assert isinstance(done, Maintained)
        for name in stored:
            assert db.value(done.deltas[name].signed) == difference(after[name], before[name])
        changed |= set(stored)


def states(db: DuckDatabase, name: str, columns: tuple[str, ...], old: Bag, new: Bag) -> None:
    db.create(name, columns, new)
    db.create(f"{name}__old", columns, old)
    db.create(f"{name}__delta", columns, difference(new, old), counted=True)
