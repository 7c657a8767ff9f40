"""The four passes, and every rule table, as text in `golden/*.txt`.

`VIEWKEEPER_GOLDEN=update pytest tests/maintenance/id_diffs` rewrites the files; read the difference before
committing.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import exp

from tests.maintenance.id_diffs.devices import SCHEMAS, table, v_prime
from tests.reference.scripts import show
from tests.reference.show_ids import show_ids, show_rules
from viewkeeper.algebra.expressions import Named, column, equal, literal, null_safe_match, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.maintenance.id_diffs import IdView, define
from viewkeeper.maintenance.id_diffs.compose import compose
from viewkeeper.maintenance.id_diffs.instantiate import RuleDag, instantiate
from viewkeeper.maintenance.id_diffs.minimize import minimize

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("VIEWKEEPER_GOLDEN") == "update"

R = table("r", ("i",), i="int", a="int", b="int")
S = table("s", ("j",), j="int", c="int")
TABLES = {"r": R, "s": S}


def scan(name: str) -> Scan:
    return Scan(name, tuple(Bound(c.name, c) for c in TABLES[name].columns))


def grouped(call: exp.Expr) -> Relation:
    joined = Join(scan("r"), scan("s"), JoinKind.INNER, equal(column("b"), column("j")))
    return Aggregate(joined, same(("a",)), (Named("x", call),))


C = column("c")
RULES: dict[str, Relation] = {
    "table_04_product": Join(scan("r"), scan("s"), JoinKind.INNER, exp.true()),
    "table_05_union": UnionAll((Project(scan("r"), same(("i", "a"))), Project(scan("s"), same(("j", "c"))))),
    "table_06_selection": Filter(scan("r"), exp.GT(this=column("a"), expression=literal(1))),
    "table_07_general_aggregation": grouped(exp.Max(this=C)),
    "table_08_projection": Project(
        Join(scan("r"), scan("s"), JoinKind.INNER, equal(column("b"), column("j"))),
        (*same(("i",)), Named("p", exp.Add(this=column("a"), expression=literal(1))),
         Named("q", exp.Mul(this=column("a"), expression=column("c")))),
    ),
    "table_09_sum": grouped(exp.Sum(this=C)),
    "table_10_join_by_an_id": Join(scan("r"), scan("s"), JoinKind.INNER, equal(column("b"), column("j"))),
    "table_10_join": Join(scan("r"), scan("s"), JoinKind.INNER, equal(column("b"), column("c"))),
    "table_11_count": grouped(exp.Count(this=C, big_int=True)),
    "table_12_avg": grouped(exp.Avg(this=C)),
    "table_13_antisemijoin": Join(scan("r"), scan("s"), JoinKind.ANTI, equal(column("b"), column("c"))),
    "table_13_antisemijoin_by_ids": Join(scan("r"), scan("s"), JoinKind.ANTI, equal(column("i"), C)),
    "table_13_semijoin": Join(scan("r"), scan("s"), JoinKind.SEMI, null_safe_match([("b", "c")])),
}  # fmt: skip


def defined(plan: Relation, schemas: dict = TABLES) -> IdView:
    found = define("v", plan, schemas)
    assert isinstance(found, IdView)
    return found


def is_written_down(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if UPDATE:
        path.write_text(text + "\n")
    assert text + "\n" == path.read_text()


def without_logs(dag: RuleDag) -> RuleDag:
    """What every view has in common is shown by the passes."""
    return replace(dag, rules=tuple(rule for rule in dag.rules if rule.subview not in TABLES))


@pytest.mark.parametrize("name", RULES)
def test_the_rules_of_an_operator(name: str) -> None:
    whole = defined(RULES[name])
    rules = show_rules(without_logs(instantiate(whole.top, TABLES, whole.caches, gather=False)))
    is_written_down(name, f"{show_ids(whole.top)}\n\n{rules}")


def test_pass_1_ids() -> None:
    is_written_down("pass_1_ids", show_ids(defined(v_prime(), SCHEMAS).top))


def test_pass_2_rules() -> None:
    whole = defined(v_prime(), SCHEMAS)
    is_written_down("pass_2_rules", show_rules(instantiate(whole.top, SCHEMAS, whole.caches, {"upd_parts"})))


def test_pass_3_composition_and_pass_4_minimization() -> None:
    whole = defined(v_prime(), SCHEMAS)
    dag = instantiate(whole.top, SCHEMAS, whole.caches)
    script = compose(dag, "v", whole.visible, whole.caches)
    is_written_down("pass_3_composition", show(script))
    is_written_down("pass_4_minimization", show(minimize(script)))
