"""Recursive views over generated graphs, maintained by DRed, against evaluation from scratch.

    layered     every node has two successors in the next of five layers: acyclic
    sparse      communities of twenty nodes and twenty-four random edges: cycles, closures stay inside
    power law   every node points to an older one, mostly to a popular one
    forest      trees of fan-out two: for the same generation

Graphs have 10,000 and 100,000 edges. Batches of one edge, ten edges, and 0.1 % of the edges are inserted,
deleted, and mixed; inserted edges were deleted before, so that the graph keeps its kind. No edge is there
twice, which a primary key says. The rival is the same view evaluated from scratch by the same engine: stock
Spark has no recursion with set semantics.

Java compiles what runs often, so that both sides take twice as long at first. A turn is one evaluation from
scratch and then all batches; some turns are not measured, and of the others the medians are taken.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from pyspark.sql import SparkSession

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, scratch, seconds, spark_session
from viewkeeper.report import Report
from viewkeeper.warehouse import Warehouse

Edge = tuple[int, int]

SIZES = (10_000, 100_000)

WARMING, MEASURED = 4, 3
"""Turns that are not measured, and turns of which the medians are taken."""

REACH = """
    reach(X, Y) :- edge(X, Y).
    reach(X, Y) :- reach(X, Z), edge(Z, Y).
"""
SAME_GENERATION = """
    same(X, Y) :- edge(P, X), edge(P, Y).
    same(X, Y) :- edge(P, X), same(P, Q), edge(Q, Y).
"""


@dataclass(frozen=True)
class Workload:
    """A kind of graph, the view over it, and whether the targets are about it."""

    name: str
    rules: str
    view: str
    edges: Callable[[random.Random, int], list[Edge]]
    has_limits: bool


def layered(rng: random.Random, number: int, layers: int = 5) -> list[Edge]:
    width = number // (2 * (layers - 1))
    nodes = [(layer, node) for layer in range(layers - 1) for node in range(width)]
    return [
        (layer * width + node, (layer + 1) * width + target)
        for layer, node in nodes
        for target in rng.sample(range(width), 2)
    ]


def sparse(rng: random.Random, number: int, nodes: int = 20, inside: int = 24) -> list[Edge]:
    found: set[Edge] = set()
    for community in range(number // inside):
        first = community * nodes
        while len(found) < (community + 1) * inside:
            found.add((first + rng.randrange(nodes), first + rng.randrange(nodes)))
    return sorted(found)


def power_law(rng: random.Random, number: int) -> list[Edge]:
    """Half of the choices copy the target of an earlier edge, which makes popular nodes more popular."""
    edges: list[Edge] = []
    for node in range(1, number + 1):
        target = edges[rng.randrange(len(edges))][1] if edges and rng.random() < 0.5 else rng.randrange(node)
        edges.append((node, target))
    return edges


def forest(rng: random.Random, number: int, depth: int = 5) -> list[Edge]:
    """Complete binary trees; `rng` has nothing to decide."""
    size = 2 ** (depth + 1) - 1
    trees = range(max(1, number // (size - 1)))
    return [(tree * size + (node - 1) // 2, tree * size + node) for tree in trees for node in range(1, size)]


WORKLOADS = (
    Workload("layered", REACH, "reach", layered, True),
    Workload("sparse", REACH, "reach", sparse, True),
    Workload("power law", REACH, "reach", power_law, False),
    Workload("forest, same generation", SAME_GENERATION, "same", forest, False),
)


def run(scale: float) -> Table:
    table = Table("graph", "from scratch")
    with spark_session() as spark:
        for size in SIZES:
            for workload in WORKLOADS:
                _measure(table, spark, workload, max(200, int(size * scale)))
    return table


def _measure(table: Table, spark: SparkSession, workload: Workload, size: int) -> None:
    rng = random.Random(size)
    edges = workload.edges(rng, size)
    with scratch() as folder:
        wh = vk.open(str(folder / "warehouse"), spark)
        wh.create_table("edge", spark.createDataFrame(edges, "s INT, t INT"), key=["s", "t"])
        wh.datalog(workload.rules)
        turns = [_turn(wh, workload, edges, rng) for _ in range(WARMING + MEASURED)][WARMING:]
        rival = median(turn.from_scratch for turn in turns)
        held = wh.table(workload.view).count()
        table.add(f"{workload.name}, {len(edges):,} edges: rows", Comparison(held, len(edges)), unit="rows")
        for batch in turns[0].reports:
            reports = [turn.reports[batch] for turn in turns]
            cost = Comparison(median(report.seconds for report in reports), rival)
            name = f"{workload.name}, {len(edges):,} edges: {batch[0]} {batch[1]}"
            table.add(name, cost, _limit(workload, *batch, len(edges)), **_cost(reports[-1]))
        if not wh.verify(workload.view):
            raise AssertionError(f"{workload.view} of {workload.name} is not equal to its rules")


@dataclass(frozen=True)
class Turn:
    """An evaluation from scratch, and the reports of the batches after it, by size and kind."""

    from_scratch: float
    reports: dict[tuple[int, str], Report]


def _turn(wh: Warehouse, workload: Workload, edges: Sequence[Edge], rng: random.Random) -> Turn:
    rival = seconds(lambda: wh.refresh(workload.view, policy="full"))
    reports = {
        (number, what): report
        for number in dict.fromkeys((1, 10, max(1, len(edges) // 1000)))
        for what, report in _batches(wh, rng.sample(edges, 2 * number), number)
    }
    return Turn(rival, reports)


def _batches(wh: Warehouse, chosen: Sequence[Edge], number: int) -> list[tuple[str, Report]]:
    """Some edges go, come back while others go, and all are back at the end."""
    first, second = list(chosen[:number]), list(chosen[number:])
    return [
        ("deleted", _changed(wh, gone=first)),
        ("mixed", _changed(wh, gone=second, new=first)),
        ("inserted", _changed(wh, new=second)),
    ]


def _changed(wh: Warehouse, gone: Sequence[Edge] = (), new: Sequence[Edge] = ()) -> Report:
    with wh.transaction() as t:
        if gone:
            t.delete("edge", list(gone))
        if new:
            t.insert("edge", list(new))
    return wh.refresh()


def _limit(workload: Workload, number: int, what: str, edges: int) -> float | None:
    """0.1 % inserted: at least eight times faster; deleted: at least three times."""
    if not workload.has_limits or number != edges // 1000:
        return None
    return {"inserted": 1 / 8, "deleted": 1 / 3}.get(what)


def _cost(report: Report) -> dict[str, object]:
    view = report[0]
    return {
        "rows_read": view.rows_read,
        "rows_written": view.rows_written,
        "actions": report.actions,
        "reason": view.reason.code,
    }
