"""docs/strategies: the worked examples are computed, and the pages name all reason codes, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from tests.datalog.programs import TABLES
from tests.datalog.views import Views
from tests.maintenance.id_diffs.devices import BEFORE, SCHEMAS
from tests.maintenance.id_diffs.stage import Stage
from tests.papers.example_database import Example
from tests.planning.test_support import codes_in
from tests.reference.relevance_together import relevance
from tests.reference.scripts import base_table_reads
from tools.support.page import refusals
from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.datalog.parse import parse_program
from viewkeeper.delta import delta
from viewkeeper.delta.summary_delta import summary_columns, summary_delta
from viewkeeper.maintenance.id_diffs import Apply, IdView, define
from viewkeeper.maintenance.program import program
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import render_expression

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "strategies"
SALES = [(10, 1, 5), (11, 2, 7), (12, 2, 7)]
SALES_CHANGED = {(12, 2, 7): -1, (13, 1, 2): 1}


def text(page: str) -> str:
    return (PAGES / f"{page}.md").read_text(encoding="utf-8")


def rows_under(page: str, *heads: str) -> list[list[str]]:
    """The rows of the table that has these columns."""
    lines = text(page).splitlines()
    start = lines.index(f"| {' | '.join(heads)} |")
    return [_cells(line) for line in takewhile(bool, lines[start + 2 :])]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("−", "-") for cell in line.strip("|").split("|")]


def written(rows: Iterable[tuple[Any, ...]]) -> list[list[str]]:
    return sorted(["NULL" if value is None else str(value) for value in row] for row in rows)


def example(page: str, schemas: Iterable[TableSchema]) -> Relation:
    """The view of a page."""
    [sql] = re.findall(r"```sql\n(.*?)```", text(page), re.DOTALL)
    relation = parse_view(sql, StaticCatalog(schemas)).relation
    assert relation is not None
    return relation


def retail() -> Example:
    db = Example(pos="saleID int, storeID int, qty int", stores="storeID int, city string")
    db.load("pos", SALES, SALES_CHANGED)
    db.load("stores", [(1, "Lyon"), (2, "Lille")], {(2, "Lille"): -1, (2, "Lens"): 1})
    return db


def schemas_of(db: Example) -> list[TableSchema]:
    return [TableSchema(name, columns) for name, columns in db.columns.items()]


def test_the_example_of_counting() -> None:
    db = retail()
    change = db.value(delta(example("counting", schemas_of(db)), frozenset({"pos", "stores"})))
    found = written((*row, f"{count:+}") for row, count in change.items())
    assert found == rows_under("counting", "city", "qty", "`__count`")


def test_the_example_of_summary_delta() -> None:
    db = retail()
    view = example("summary-delta", schemas_of(db))
    [stratum] = program("v", view)
    assert stratum.state is not None
    assert stratum.query is not None
    summary = summary_delta(stratum.state, delta(stratum.query, frozenset({"pos"})))
    columns = summary_columns(stratum.state)
    assert summary.columns == columns
    heads = (columns[0], *(f"`{name}`" for name in columns[1:]))
    assert written(db.rows(summary)) == rows_under("summary-delta", *heads)
    assert written(db.value(view)) == rows_under("summary-delta", *view.columns)


def test_the_example_of_dred() -> None:
    rules = "path(X, Y) :- link(X, Y). path(X, Y) :- path(X, Z), link(Z, Y)."

    def links(words: str) -> dict[tuple[Any, ...], int]:
        return {tuple("abcde".index(letter) for letter in word): 1 for word in words.split()}

    views = Views(parse_program(rules), {**{name: {} for name in TABLES}, "link": links("ab bd ac cd de")})
    before = views.rows["path"]
    views.change({"link": dict.fromkeys(links("bd"), -1)})
    phases = {phase: rows.split() for phase, rows, _ in rows_under("dred", "phase", "rows", "why")}
    [work] = views.work
    assert (work.overdeleted, work.rederived, work.inserted) == tuple(map(len, phases.values()))
    gone = set(phases["overdelete"]) - set(phases["rederive"])
    assert before.keys() - views.rows["path"].keys() == links(" ".join(gone)).keys()


@pytest.mark.parametrize(
    ("tuple_based", "ids", "tables_read"),
    [(False, ("pid",), set()), (True, ("did", "pid"), {"devices_parts", "devices"})],
    ids=["id-diffs", "tuple-diffs"],
)
def test_the_example_of_id_diffs(tuple_based: bool, ids: tuple[str, ...], tables_read: set[str]) -> None:
    view = example("id-diffs", SCHEMAS.values())
    definition = define("v", view, SCHEMAS, tuple_based=tuple_based)
    assert isinstance(definition, IdView)
    script = definition.script({"upd_parts"})
    stage = Stage(SCHEMAS.values())
    stage.load(BEFORE, {**BEFORE, "parts": [("P1", 11), ("P2", 20)]})
    stage.populate(script)
    stage.execute(script)
    [diff] = [step.diff for step in script.steps if isinstance(step, Apply)]
    found = stage.rows(diff.name, (*ids, "__pre_price", "price"))
    assert written(found.elements()) == rows_under("id-diffs", *ids, "price before", "price after")
    assert {scan.table for scan in base_table_reads(script)} == tables_read


def test_the_example_of_irrelevant_updates() -> None:
    db = Example(r="A int, B int", s="C int, D int")
    condition = render_expression(relevance(example("irrelevant-updates", schemas_of(db)), "r"))
    assert f"`{condition}`" in text("irrelevant-updates")
    for a, b, kept, _ in rows_under("irrelevant-updates", "A", "B", "kept", "why"):
        [(found,)] = db.con.execute(f"SELECT {condition} FROM (SELECT {a} AS A, {b} AS B)").fetchall()
        assert found == (kept == "yes")


def test_each_page_names_the_codes_that_its_strategy_gives() -> None:
    given: dict[str, set[str]] = {}
    for strategy, reason in refusals():
        given.setdefault(strategy.replace("tuple", "id"), set()).add(reason.code)
    named = {page: {row[0].strip("`") for row in rows_under(page, "code", "why")} for page in given}
    assert named == given


def test_the_index_names_the_other_reasons_of_a_report() -> None:
    source = ROOT / "src" / "viewkeeper"
    files = (*(source / "refresh").glob("*.py"), source / "planning" / "planner.py")
    named = {row[0].strip("`") for row in rows_under("README", "code", "strategy in the report", "when")}
    assert named == {code for file in files for code in codes_in(file)}
