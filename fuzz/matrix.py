"""Operator × type × change: every type of Spark in every place, on a warehouse of its own.

    python -m fuzz.matrix > docs/types.md            all types
    python -m fuzz.matrix --types double,date        some

A cell says what happened to the view through an insertion, a deletion and an update: it was *maintained*,
it was *recomputed*, or Spark itself *refuses* the text. **WRONG** is a failure.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import strftime

from pyspark.sql import SparkSession

from fuzz.case import Case, View
from fuzz.model import Model
from fuzz.oracle import RAISED, session_of, show_tables
from fuzz.run import Player
from fuzz.schemas import Column, Row, Table
from fuzz.session import choosing, started
from fuzz.values import KINDS, Kind, as_compared

OPERATORS = {
    "passed through": "SELECT k, v FROM m",
    "group key": "SELECT v, COUNT(*) AS n FROM m GROUP BY v",
    "join key": "SELECT m.k, n.w FROM m JOIN n ON m.v = n.v",
    "outer join key": "SELECT m.k, n.w, n.v FROM m FULL JOIN n ON m.v <=> n.v",
    "semi-join key": "SELECT k FROM m WHERE v IN (SELECT v FROM n)",
    "anti-join key": "SELECT k FROM m WHERE NOT EXISTS (SELECT 1 FROM n WHERE n.v = m.v)",
    "SUM": "SELECT g, SUM(v) AS s FROM m GROUP BY g",
    "AVG": "SELECT g, AVG(v) AS s FROM m GROUP BY g",
    "MIN and MAX": "SELECT g, MIN(v) AS lo, MAX(v) AS hi FROM m GROUP BY g",
    "COUNT DISTINCT": "SELECT g, COUNT(DISTINCT v) AS s FROM m GROUP BY g",
    "DISTINCT": "SELECT DISTINCT v FROM m",
    "UNION": "SELECT v FROM m UNION SELECT v FROM n",
    "EXCEPT ALL": "SELECT v FROM m EXCEPT ALL SELECT v FROM n",
    "INTERSECT": "SELECT v FROM m INTERSECT SELECT v FROM n",
    "window partition": "SELECT k, COUNT(*) OVER (PARTITION BY v) AS c FROM m",
    "window order": "SELECT k, RANK() OVER (PARTITION BY g ORDER BY v) AS r FROM m",
    "ORDER BY LIMIT": "SELECT v, k FROM m ORDER BY v, k LIMIT 3",
    "primary key": "SELECT v, w FROM p",
    "primary key, id-diffs": "SELECT v, w, g FROM p JOIN m USING (v)",
}


@dataclass
class Place:
    """What became of one type in every place."""

    kind: Kind
    cells: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def case_of(kind: Kind) -> Case:
    """Three tables with the type as a value, as a partner and as a key; one change of each sort."""
    column = Column("v", kind.type)
    m = Table("m", (Column("k", "int", (), False), Column("g", "int"), column), ("k",))
    n = Table("n", (column, Column("w", "int")))
    p = Table("p", (Column("v", kind.type, (), False), Column("w", "int")), ("v",))
    tables = (m, n, p) if kind.can_be_key else (m, n)
    values = [*kind.plain, *kind.edges]
    keys = list(dict.fromkeys(map(as_compared, values)))
    m_rows = [(str(i), str(i % 3), v) for i, v in enumerate([*values, *values[:3], "NULL", "NULL"])]
    n_rows: list[Row] = [(v, str(i)) for i, v in enumerate([*values[::2], values[0], "NULL"])]
    rows = {"m": tuple(m_rows), "n": tuple(n_rows), "p": tuple((v, "1") for v in keys[:-1])}
    steps = (
        _step("insert", "m", [("100", "0", values[-1]), ("101", "1", "NULL"), ("102", "2", values[0])]),
        _step("insert", "n", [(values[-1], "7")]),
        *([_step("insert", "p", [(keys[-1], "2")])] if kind.can_be_key else []),
        _refresh(),
        _step("delete", "m", m_rows[:2]),
        _step("delete", "n", n_rows[:1]),
        *([_step("delete", "p", [(keys[0], "1")])] if kind.can_be_key else []),
        _refresh(),
        {"do": "transaction", "changes": [_update("m", ["k", "v"], [("2", values[0]), ("100", "NULL")])]},
        *(
            [{"do": "transaction", "changes": [_update("p", ["v", "w"], [(keys[1], "9")])]}]
            if kind.can_be_key
            else []
        ),
        _refresh(),
    )
    rows = {name: found for name, found in rows.items() if name in {t.name for t in tables}}
    return Case(0, tables, rows, (), steps)


def _step(kind: str, table: str, rows: list[Row]) -> dict[str, object]:
    return {"do": "transaction", "changes": [{"kind": kind, "table": table, "rows": rows}]}


def _update(table: str, columns: list[str], rows: list[Row]) -> dict[str, object]:
    return {"kind": "update", "table": table, "columns": columns, "rows": rows}


def _refresh() -> dict[str, object]:
    return {"do": "refresh", "views": [], "policy": "incremental"}


def played(spark: SparkSession, kind: Kind, operators: Mapping[str, str]) -> Place:
    """Plays the case of a type with every operator that Spark takes for it."""
    column, case = Place(kind), case_of(kind)
    session = session_of(spark)
    try:
        show_tables(session, Model.of(case))
    except RAISED as error:
        column.cells = dict.fromkeys(operators, f"refused: {_code(error)}")
        return column
    views = []
    for number, (operator, text) in enumerate(operators.items()):
        try:
            session.sql(text).collect()
            strategy = "id-diffs" if "id-diffs" in operator else "auto"
            views.append((operator, View(f"v{number}", text, strategy)))
        except RAISED as error:
            column.cells[operator] = f"refused: {_code(error)}"
    _record(spark, column, case, views)
    return column


def _record(spark: SparkSession, column: Place, case: Case, views: list[tuple[str, View]]) -> None:
    whole = replace(case, views=tuple(view for _, view in views))
    with tempfile.TemporaryDirectory(prefix="viewkeeper-matrix-") as folder:
        player = Player(spark, whole, Path(folder) / "w")
        outcome = player.play()
    refused = [f for f in outcome.failures if f.kind == "crash" and f.step < 0]
    if refused:
        why = f"no table: {refused[0].told['error'].split(':')[0]}"
        column.cells |= {operator: why for operator, _ in views}
        return
    failed = {failure.view: failure for failure in outcome.failures}
    changed = next((f for f in outcome.failures if f.kind in ("change", "crash")), None)
    for operator, view in views:
        if view.name in failed or changed:
            failure = failed.get(view.name, changed)
            column.cells[operator] = f"**{failure.kind.upper()}**"
            column.wrong.append(f"{column.kind.type}, {operator}: {failure.kind} {failure.told}")
        elif view.name not in {alive.name for alive in player.alive}:
            column.cells[operator] = "refused here"
        else:
            later = player.strategies[view.name][1:]
            column.cells[operator] = "recomputed" if "recompute" in later else "maintained"


def _code(error: Exception) -> str:
    found = re.search(r"\[([A-Z_]+)", str(error))
    return f"`{found.group(1)}`" if found else type(error).__name__


HEAD = """# Every type in every place

*Made by `python -m fuzz.matrix` (`make matrix`): each cell is a view over tables with a column of the type,
taken through insertions, deletions and updates on Spark and compared with Spark's answer to the same text.*

- **maintained**: kept by a strategy through all of them; **recomputed**: computed anew at least once.
- **refused**: Spark rejects the text, with its code. **no table**: a table cannot have such a column.

The values are those at home in the type and those at its edges, NULL, and duplicates.
"""


def page(columns: Iterable[Place], operators: Sequence[str]) -> Iterator[str]:
    """The lines of the page, each as soon as its type was played."""
    yield HEAD
    yield "| type | " + " | ".join(operators) + " |"
    yield "| --- |" + " --- |" * len(operators)
    for column in columns:
        cells = " | ".join(column.cells.get(operator, "") for operator in operators)
        yield f"| `{column.kind.type}` | {cells} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz.matrix")
    parser.add_argument("--types", default="", help="some types, separated by `;`")
    parser.add_argument("--jobs", type=int, default=2, help="types that are played side by side")
    options = parser.parse_args()
    chosen = [text for text in options.types.split(";") if text]
    spark, wrong = started(), []

    def one(kind: Kind) -> Place:
        place = played(spark, kind, OPERATORS)
        print(f"{strftime('%H:%M:%S')} {kind.type}", file=sys.stderr, flush=True)
        for line in place.wrong:
            print(line[:600], file=sys.stderr, flush=True)
        wrong.extend(place.wrong)
        return place

    with choosing("maintain"), ThreadPoolExecutor(options.jobs) as pool:
        kinds = [kind for kind in KINDS if not chosen or kind.type in chosen]
        for line in page(pool.map(one, kinds), list(OPERATORS)):
            print(line, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
