"""gupta93 Theorem 7.1 on Spark: Datalog views under random batches equal their naive evaluation.

Graphs with cycles, NULLs and duplicate edges; insertions and deletions of several tables in one batch;
rules that come and go. `VIEWKEEPER_STREAMS=42` tries half as many streams; there is one at least.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.datalog.interpreter import Bag
from tests.datalog.programs import EXAMPLES, TABLES, Example
from tests.datalog.views import naive
from tests.sizes import SIZES
from viewkeeper.datalog.parse import parse_program, with_rules, without_rules
from viewkeeper.datalog.syntax import Program
from viewkeeper.datalog.write import rule_text

STREAMS = max(1, SIZES.streams // 2)
FIRST = int(os.environ.get("VIEWKEEPER_FIRST_STREAM", "5"))
NODES = (0, 1, 2, 3, 4, 0, 1, 2, 3, None)


def some_rows(chance: random.Random, table: str, most: int) -> list[tuple]:
    width = len(TABLES[table].columns)
    ends = [tuple(chance.choice(NODES) for _ in range(min(width, 2))) for _ in range(chance.randint(0, most))]
    return [(*end, chance.randint(1, 3)) if width == 3 else end for end in ends]


def change(chance: random.Random, wh: vk.Warehouse, tables: dict[str, Bag], example: Example) -> None:
    """One transaction over some of the tables, applied to the bags as well."""
    with wh.transaction() as transaction:
        for name in example.tables:
            held = [row for row, count in tables[name].items() for _ in range(count)]
            gone = chance.sample(held, min(len(held), chance.randint(0, 3)))
            new = some_rows(chance, name, 2)
            if gone:
                transaction.delete(name, gone)
            if new:
                transaction.insert(name, new)
            for row in gone:
                tables[name][row] -= 1
            for row in new:
                tables[name][row] = tables[name].get(row, 0) + 1
            tables[name] = {row: count for row, count in tables[name].items() if count}


def change_rules(chance: random.Random, wh: vk.Warehouse, program: Program, example: Example) -> Program:
    if not example.optional or chance.random() < 0.3:
        return program
    text = chance.choice(example.optional)
    rule = rule_text(parse_program(text).rules[0])
    if parse_program(text).rules[0] in program.rules:
        wh.drop_rule(rule)
        return without_rules(program, text)
    wh.add_rule(rule)
    return with_rules(program, text)


def check(wh: vk.Warehouse, program: Program, tables: dict[str, Bag]) -> None:
    for name, expected in naive(program, tables).items():
        found = sorted((tuple(row) for row in wh.table(name).collect()), key=repr)
        assert found == sorted(expected, key=repr), name


@pytest.mark.parametrize("seed", range(FIRST, FIRST + STREAMS))
def test_views_hold_exactly_what_is_derivable(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    chance, example = random.Random(seed), EXAMPLES[seed % len(EXAMPLES)]
    wh = vk.open(str(tmp_path / "warehouse"), spark=spark)
    tables: dict[str, Bag] = {name: {} for name in TABLES}
    for name in example.tables:
        wh.create_table(TABLES[name])
    for name in example.tables:
        first = some_rows(chance, name, 7)
        tables[name] = {row: first.count(row) for row in first}
        if first:
            with wh.transaction() as transaction:
                transaction.insert(name, first)
    program = parse_program(example.rules)
    wh.datalog(example.rules)
    check(wh, program, tables)
    for _ in range(SIZES.batches):
        change(chance, wh, tables, example)
        program = change_rules(chance, wh, program, example)
        wh.refresh(policy="strict")
        check(wh, program, tables)
