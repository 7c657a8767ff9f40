"""Recursive views on Spark: after each batch every view equals its evaluation from scratch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

import viewkeeper as vk
from viewkeeper import errors
from viewkeeper.spark.read import Reader, Source
from viewkeeper.storage.relation import RelationState

pytestmark = pytest.mark.usefixtures("maintained")

CYCLE = [(1, 2), (2, 3), (3, 1), (3, 4), (3, 4), (5, 5)]
CLOSURE = """WITH RECURSIVE path(x, y) AS (SELECT s, t FROM edge UNION
             SELECT p.x, e.t FROM path AS p JOIN edge AS e ON p.y = e.s) """


def table(wh: vk.Warehouse, name: str, columns: str, rows: Iterable[tuple] = ()) -> None:
    wh.sql(f"CREATE TABLE {name} ({columns})")
    insert(wh, name, *rows)


def insert(wh: vk.Warehouse, name: str, *rows: tuple) -> None:
    if rows:
        with wh.transaction() as change:
            change.insert(name, list(rows))


def rows(wh: vk.Warehouse, view: str) -> list[tuple]:
    return sorted(tuple(row) for row in wh.table(view).collect())


def refreshed(wh: vk.Warehouse, *views: str) -> list[str]:
    """Refreshes without recomputing, checks each view, and says how each was maintained."""
    report = wh.refresh(policy="strict")
    for view in views:
        assert wh.verify(view), wh.verify(view)
    return [entry.strategy for entry in report]


def closure(edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs connected by a path, naively."""
    found = set(edges)
    while more := {(x, z) for x, y in found for y2, z in edges if y == y2} - found:
        found |= more
    return sorted(found)


@pytest.fixture
def graph(warehouse: vk.Warehouse) -> vk.Warehouse:
    table(warehouse, "edge", "s INT, t INT", CYCLE)
    return warehouse


BATCHES: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = [
    ([(3, 4)], []),  # one copy of two: nothing is lost
    ([(2, 3)], []),  # an edge of the cycle
    ([(3, 4)], [(1, 4)]),  # the only way there, and another one
    ([], [(4, 5), (4, 2)]),
    ([(1, 2)], [(2, 6), (6, 1)]),
]


def changed_step_by_step(graph: vk.Warehouse) -> None:
    graph.create_view("path", CLOSURE + "SELECT x, y FROM path")
    edges = list(CYCLE)
    assert rows(graph, "path") == closure(edges)
    for gone, new in BATCHES:
        with graph.transaction() as change:
            if gone:
                change.delete("edge", gone)
            if new:
                change.insert("edge", new)
        for edge in gone:
            edges.remove(edge)
        edges += new
        assert refreshed(graph) == ["dred"]
        assert rows(graph, "path") == closure(edges)
    assert graph.verify("path")


def test_closure_through_inserts_and_deletes(graph: vk.Warehouse) -> None:
    changed_step_by_step(graph)


def test_a_large_closure_is_looked_up_in_pieces(
    graph: vk.Warehouse, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    """What is stored, and what layers did to it since, are looked at each by itself."""
    found = []

    def watched(reader: Reader, state: RelationState) -> tuple[Source, Source] | None:
        pieces = in_pieces(reader, state)
        found.append(pieces is not None)
        return pieces

    in_pieces = Reader.pieces
    monkeypatch.setattr(Reader, "pieces", watched)
    limit(one_task=0)
    changed_step_by_step(graph)
    assert any(found)


def test_a_row_that_is_updated_again_and_again(warehouse: vk.Warehouse) -> None:
    """Its first form is gone, though the last layer names another one: layers are laid over each other."""
    table(warehouse, "edge", "s INT, t INT, PRIMARY KEY (s)", [(1, 2), (2, 3), (3, 4), (5, 6)])
    warehouse.create_view("v", CLOSURE + "SELECT * FROM path")
    for t in (4, 5, 3):
        warehouse.sql(f"UPDATE edge SET t = {t} WHERE s = 2")
        refreshed(warehouse, "v")


def test_strata_above_a_recursion(graph: vk.Warehouse) -> None:
    """Aggregation, negation and another view over one closure, in one batch over two tables."""
    table(graph, "node", "n INT", [(n,) for n in range(1, 7)])
    graph.create_view("degree", CLOSURE + "SELECT x, COUNT(*) AS n, MAX(y) AS far FROM path GROUP BY x")
    graph.create_view(
        "apart",
        CLOSURE
        + """SELECT a.n AS a FROM node AS a WHERE NOT EXISTS
             (SELECT 1 FROM path WHERE path.x = 1 AND path.y = a.n)""",
    )
    graph.create_view("busy", "SELECT SUM(n) AS total FROM degree WHERE far > 3")
    with graph.transaction() as change:
        change.delete("edge", [(2, 3)])
        change.insert("edge", [(4, 6)])
        change.insert("node", [(7,)])
    assert sorted(refreshed(graph, "degree", "apart", "busy")) == [
        "counting",
        "summary-delta",
        "summary-delta",
    ]
    strata = graph.history("degree")[-1].report["details"]["strata"]
    assert strata == {"__degree_1": "dred", "degree": "summary-delta"}
    assert rows(graph, "degree") == [(1, 1, 2), (3, 4, 6), (4, 1, 6), (5, 1, 5)]
    assert rows(graph, "apart") == [(1,), (3,), (4,), (5,), (6,), (7,)]
    graph.sql("DELETE FROM edge WHERE s = 5")
    refreshed(graph, "degree", "apart", "busy")


def test_same_generation_and_non_linear_rules(warehouse: vk.Warehouse) -> None:
    table(warehouse, "parent", "c STRING, p STRING", [("b", "a"), ("c", "a"), ("d", "b"), ("e", "c")])
    warehouse.create_view(
        "sg",
        """WITH RECURSIVE sg(a, b) AS (
             SELECT p1.c, p2.c FROM parent AS p1 JOIN parent AS p2 ON p1.p = p2.p UNION
             SELECT p1.c, p2.c FROM sg JOIN parent AS p1 ON p1.p = sg.a JOIN parent AS p2 ON p2.p = sg.b)
           SELECT a, b FROM sg WHERE a < b""",
    )
    warehouse.create_view(
        "above",
        """WITH RECURSIVE up(x, y) AS (SELECT c, p FROM parent UNION
             SELECT u.x, v.y FROM up AS u JOIN up AS v ON u.y = v.x) SELECT x, y FROM up""",
    )
    assert rows(warehouse, "sg") == [("b", "c"), ("d", "e")]
    for statement in ("DELETE FROM parent WHERE c = 'c'", "INSERT INTO parent VALUES ('f', 'd'), ('g', 'e')"):
        warehouse.sql(statement)
        assert refreshed(warehouse, "sg", "above") == ["dred", "dred"]
    assert rows(warehouse, "above") == [
        ("b", "a"), ("d", "a"), ("d", "b"), ("e", "c"),
        ("f", "a"), ("f", "b"), ("f", "d"), ("g", "c"), ("g", "e"),
    ]  # fmt: skip


def test_union_all_by_levels(graph: vk.Warehouse) -> None:
    graph.create_view(
        "walk",
        """WITH RECURSIVE w(n, d) AS (SELECT 1, 0 UNION ALL
             SELECT e.t, w.d + 1 FROM w JOIN edge AS e ON e.s = w.n WHERE w.d < 4) SELECT n, d FROM w""",
    )
    assert rows(graph, "walk") == [(1, 0), (1, 3), (2, 1), (2, 4), (3, 2), (4, 3), (4, 3)]
    for statement in ("DELETE FROM edge WHERE t = 4", "INSERT INTO edge VALUES (1, 3), (1, 2)"):
        graph.sql(statement)
        assert refreshed(graph, "walk") == ["dred"]
    assert rows(graph, "walk") == [
        (1, 0), (1, 2), (1, 3), (1, 3), (1, 4), (2, 1), (2, 1), (2, 3), (2, 3),
        (2, 4), (2, 4), (2, 4), (2, 4), (3, 1), (3, 2), (3, 2), (3, 3), (3, 4), (3, 4), (3, 4), (3, 4),
    ]  # fmt: skip


def test_recursion_that_does_not_end(graph: vk.Warehouse) -> None:
    """It is stopped at the limit, and nothing is changed."""
    diverging = """WITH RECURSIVE w(n, d) AS (SELECT s, 0 FROM edge WHERE s = 9 UNION
                   SELECT e.t, w.d + 1 FROM w JOIN edge AS e ON e.s = w.n) SELECT n, d FROM w"""
    graph.sql(f"CREATE MATERIALIZED VIEW w TBLPROPERTIES ('viewkeeper.max_iterations' = '4') AS {diverging}")
    heard: list[str] = []
    graph.on_progress = lambda event: heard.append(event.detail) if event.stage == "iterate" else None
    graph.sql("INSERT INTO edge VALUES (9, 1)")
    version = graph.version
    with pytest.raises(errors.Diverged, match="did not end within 4 rounds"):
        graph.refresh()
    assert (graph.version, rows(graph, "w")) == (version, [])
    assert heard == [f"w: inserted, round {number}: w +1" for number in (1, 2, 3, 4)]
    with pytest.raises(errors.InvalidOption, match="max_iterations"):
        graph.datalog("p(X) :- edge(X, _).", max_iterations=0)


def test_a_stratum_that_mostly_goes_is_evaluated_from_scratch(
    graph: vk.Warehouse, limit: Callable[..., None]
) -> None:
    limit(overdeleted=1)
    graph.create_view("degree", CLOSURE + "SELECT x, COUNT(*) AS n FROM path GROUP BY x")
    graph.sql("DELETE FROM edge WHERE s < 4")
    entry = graph.refresh().of("degree")
    assert (entry.strategy, entry.reason.code, entry.details["recomputed"]) == (
        "summary-delta", "recomputed-stratum", ["__degree_1"],
    )  # fmt: skip
    assert entry.details["strata"] == {"__degree_1": "recompute", "degree": "summary-delta"}
    assert rows(graph, "degree") == [(5, 1)]
    assert graph.verify("degree")


def test_a_program_is_one_view_per_predicate(graph: vk.Warehouse) -> None:
    table(graph, "node", "n INT", [(n,) for n in range(1, 7)])
    graph.datalog("""
        odd(X, Y) :- edge(X, Y).           odd(X, Y) :- even(X, Z), edge(Z, Y).
        even(X, Y) :- odd(X, Z), edge(Z, Y).
        cut_off(X) :- node(X), not odd(1, X), not even(1, X).
        reach_count(X, N) :- groupby(odd(X, Y), [X], N = count()).
    """)
    views = ("odd", "even", "cut_off", "reach_count")
    assert rows(graph, "cut_off") == [(5,), (6,)]
    assert rows(graph, "reach_count") == [(1, 4), (2, 4), (3, 4), (5, 1)]
    for view in views:
        assert graph.verify(view)
    with graph.transaction() as change:
        change.delete("edge", [(3, 1), (3, 4)])
        change.insert("edge", [(4, 6)])
    assert sorted(set(refreshed(graph, *views))) == ["counting", "dred"]
    assert rows(graph, "cut_off") == [(1,), (5,)]


def test_rules_come_and_go(graph: vk.Warehouse) -> None:
    """Changed definitions are maintained: nothing is written anew, and views above follow. What only the rule
    that goes has read may have changed in the same batch."""
    graph.datalog("""
        reach(X, Y) :- edge(X, Y).
        reach(X, Y) :- reach(X, Z), edge(Z, Y).
        loop(X) :- reach(X, X).
    """)
    table(graph, "bridge", "a INT, b INT", [(4, 5), (6, 7)])
    before = graph._work.log.latest().relations["reach"].folder
    graph.add_rule("reach(X, Y) :- bridge(X, Y).")
    assert rows(graph, "reach") == sorted({*closure(CYCLE), (4, 5), (6, 7)})
    graph.add_rule("loop(X) :- bridge(X, _).")
    assert rows(graph, "loop") == [(1,), (2,), (3,), (4,), (5,), (6,)]
    graph.sql("DELETE FROM edge WHERE s = 3 AND t = 1")
    graph.sql("DELETE FROM bridge WHERE a = 6")
    graph.drop_rule("reach(X, Y) :- bridge(X, Y).")
    assert rows(graph, "reach") == closure([(1, 2), (2, 3), (3, 4), (5, 5)])
    assert rows(graph, "loop") == [(4,), (5,)]
    assert graph._work.log.latest().relations["reach"].folder == before
    assert [entry.report.get("strategy") for entry in graph.history("reach")[-3:]] == ["dred", "none", "dred"]
    graph.drop_rule("reach(X, Y) :- reach(X, Z), edge(Z, Y).")
    assert rows(graph, "reach") == [(1, 2), (2, 3), (3, 4), (5, 5)]
    with pytest.raises(errors.DependencyError, match="left without a rule"):
        graph.drop_rule("loop(X) :- reach(X, X). loop(X) :- bridge(X, _).")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p(X) :- edge(X, Y), not q(Y). q(X) :- edge(X, Y), not p(Y).", "unstratified negation"),
        ("p(X, Z) :- edge(X, Y).", "Z"),
        ("p(X) :- edge(X).", "edge has 2 arguments"),
        ("p(X) :- nowhere(X, Y).", "nowhere"),
        ("ok(X) :- edge(X, _). edge(X, Y) :- ok(X), ok(Y).", "edge"),
    ],
)
def test_a_wrong_program_leaves_nothing(graph: vk.Warehouse, text: str, message: str) -> None:
    version = graph.version
    with pytest.raises(errors.ViewkeeperError, match=message):
        graph.datalog(text)
    assert graph.version == version
    assert not graph._work.log.latest().catalog.views


def test_branches_of_a_union_come_and_go(graph: vk.Warehouse) -> None:
    """ALTER … AS maintains what it can, recursive or not."""
    table(graph, "more", "a INT, b INT", [(6, 7), (1, 2)])
    graph.create_view("both", "SELECT s, t FROM edge UNION ALL SELECT a, b FROM more WHERE a > 5")
    graph.create_view("path", CLOSURE + "SELECT x, y FROM path")
    folders = {name: graph._work.log.latest().relations[name].folder for name in ("both", "path")}
    graph.sql("INSERT INTO edge VALUES (4, 6)")
    graph.alter_view("both", "SELECT s, t FROM edge UNION ALL SELECT a, b FROM more")
    assert rows(graph, "both") == sorted([*CYCLE, (4, 6), (6, 7), (1, 2)])
    graph.alter_view("both", "SELECT s, t FROM edge")
    assert rows(graph, "both") == sorted([*CYCLE, (4, 6)])
    graph.sql(
        """ALTER MATERIALIZED VIEW path AS WITH RECURSIVE path(x, y) AS (SELECT s, t FROM edge UNION
           SELECT p.x, e.t FROM path AS p JOIN edge AS e ON p.y = e.s UNION SELECT a, b FROM more)
           SELECT x, y FROM path"""
    )
    assert graph.verify("path")
    assert (6, 7) in rows(graph, "path")
    assert {name: graph._work.log.latest().relations[name].folder for name in folders} == folders


def test_phases_are_explained(graph: vk.Warehouse) -> None:
    graph.datalog("reach(X, Y) :- edge(X, Y). reach(X, Y) :- reach(X, Z), edge(Z, Y).")
    told = graph.explain("reach")
    assert told.strategy == "dred"
    phases = [step.title.split(" of ")[0] for step in told.steps]
    assert phases == ["overdeleted", "rederived", "linked", "inserted"]
