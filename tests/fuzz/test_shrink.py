"""Failures are made small without Spark being asked: the cases here fail by a rule of their own."""

from __future__ import annotations

from fuzz.bags import bag_of, same
from fuzz.case import Case, View
from fuzz.model import Model
from fuzz.outcome import Failure
from fuzz.query import Expr, Item, Join, Named, Select, SetOp, smaller
from fuzz.schemas import Column, Table
from fuzz.shrink import shrunk

TABLE = Table("t0", (Column("k", "int"), Column("a", "int"), Column("b", "string")))
SELECT = Select(
    (Item(Expr("r1.a"), "x1"), Item(Expr("r2.b"), "x2")),
    Join("INNER", Named("t0", "r1"), Named("t0", "r2"), (Expr("r1.k = r2.k"),)),
    where=(Expr("r1.a > 0"), Expr("r2.b = 'a'")),
)


def insert(*rows: tuple[str, ...]) -> dict[str, object]:
    return {"do": "transaction", "changes": [{"kind": "insert", "table": "t0", "rows": list(rows)}]}


def test_a_case_shrinks_to_what_makes_it_fail() -> None:
    steps = (insert(("1", "1", "'a'"), ("2", "13", "'b'")), {"do": "compact"}, insert(("3", "1", "'c'")))
    views = tuple(View(f"v{n}", str(SELECT), "id-diffs", query=SELECT) for n in range(3))
    case = Case(1, (TABLE,), {"t0": (("5", "5", "'e'"),)}, views, steps)

    def fails(found: Case) -> bool:
        model = Model.of(found)
        for step in found.steps:
            model.apply(step)
        return any("13" in row for row in model.rows["t0"]) and any("r1.a" in v.text for v in found.views)

    small = shrunk(case, Failure("wrong", "v1", 2, {}), fails, 10)
    assert small.rows == {"t0": ()}
    assert [step["changes"] for step in small.steps] == [
        [{"kind": "insert", "table": "t0", "rows": [["13"]]}]
    ]
    assert [(view.text, view.strategy) for view in small.views] == [("SELECT r1.a AS x1 FROM t0 r1", "auto")]


def test_smaller_queries_lose_one_part_each() -> None:
    union = SetOp("UNION", SELECT, SELECT)
    texts = {str(query) for query in smaller(union)}
    assert str(SELECT) in texts
    assert all(len(text) < len(str(union)) for text in texts)


def test_bags_tell_zeros_and_digits_apart() -> None:
    assert bag_of([(0.0,)]) != bag_of([(-0.0,)])
    assert bag_of([(float("nan"),)]) == bag_of([(float("nan"),)])
    assert same(bag_of([(0.1 + 0.2, 1)]), bag_of([(0.3, 1)]), 1e-9)
    assert not same(bag_of([(0.1 + 0.2, 1)]), bag_of([(0.3, 2)]), 1e-9)
    assert not same(bag_of([(1,), (1,)]), bag_of([(1,)]), 1e-9)
