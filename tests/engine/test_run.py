"""What is put together on the driver, what it has Spark look up for that, and what is left to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlglot import exp

from tests.laws.held import held_rows
from viewkeeper.algebra.build import empty, filtered, named_like, union_all
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    equal,
    function,
    literal,
    null_safe_match,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    UnionAll,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.engine.local.run import run
from viewkeeper.engine.rows import Held
from viewkeeper.limits import LIMITS, Limits
from viewkeeper.planning.physical import Facts, Input, KnownTypes, lowered

pytestmark = pytest.mark.usefixtures("maintained")

Row = tuple[object, ...]
STORED = Scan("stored", (Bound("x", Column("x", "int")), Bound("y", Column("y", "int"))))


def table(rows: Sequence[Row], kind: str = "int") -> Held:
    return held_rows((Column("x", kind), Column("y", kind)), rows)


def step(name: str, number: int) -> Relation:
    return named_like(Reference(name, ("x", "y")), (f"from{number}", f"to{number}"))


def stored(number: int) -> Relation:
    return named_like(STORED, (f"from{number}", f"to{number}"))


def chain(*steps: Relation) -> Relation:
    """One relation after the other: each begins where the one before ends."""
    plan = steps[0]
    for number, each in enumerate(steps[1:], start=1):
        on = equal(column(f"to{number - 1}"), column(f"from{number}"))
        plan = Join(plan, each, JoinKind.INNER, on)
    return plan


class Spark:
    """Answers looks at one stored relation, and remembers them."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self.rows = rows
        self.looks: list[Relation] = []

    def look(self, plan: Relation) -> Any:
        self.looks.append(plan)
        return table(self.rows).table.rename_columns(list(plan.columns))


def found(
    plan: Relation, rows: dict[str, Held], spark: Spark | None = None, limits: Limits = LIMITS
) -> list[dict[str, object]] | None:
    inputs = {name: Input(held.rows, held=True) for name, held in rows.items()}
    types = KnownTypes(lambda leaf: rows[leaf.name].types if isinstance(leaf, Reference) else {})
    wanted = tuple((name, "int") for name in plan.columns)
    facts = Facts({**inputs, "stored": Input(read=100)}, types=types, limits=limits, near=0.0, wanted=wanted)
    physical = lowered(plan, facts)
    known = run(physical, rows, (spark or Spark()).look, limits) if physical.is_here else None
    return None if known is None else known.table.to_pylist()


def test_joins_of_what_the_driver_holds_are_put_together_there() -> None:
    rows = {"a": table([(1, 2), (1, 3)]), "b": table([(2, 5), (3, 5), (None, 7)])}
    plan = chain(step("a", 0), step("b", 1))
    ends = Distinct(Project(plan, (Named("x", column("from0")), Named("y", column("to1")))))
    spark = Spark()
    assert found(ends, rows, spark) == [{"x": 1, "y": 5}]
    assert spark.looks == []


def test_a_stored_relation_is_asked_for_the_keys_that_are_known() -> None:
    spark = Spark([(2, 9)])
    plan = chain(step("a", 0), stored(1))
    assert found(plan, {"a": table([(1, 2), (1, 3)])}, spark) == [
        {"from0": 1, "to0": 2, "from1": 2, "to1": 9}
    ]
    [look] = spark.looks
    assert isinstance(look, Filter)
    asked = look.condition.find(exp.In)
    assert asked is not None
    assert sorted(asked.expressions[0].name.split(", ")) == ["2", "3"]


def test_one_look_leads_to_the_next() -> None:
    spark = Spark([(2, 4), (4, 6)])
    rows = found(chain(step("a", 0), stored(1), stored(2)), {"a": table([(1, 2)])}, spark)
    assert rows == [{"from0": 1, "to0": 2, "from1": 2, "to1": 4, "from2": 4, "to2": 6}]
    assert len(spark.looks) == 2


def test_pieces_of_a_relation_are_asked_one_by_one() -> None:
    spark = Spark([(2, 9)])
    gone = named_like(Reference("gone", ("x", "y")), ("gx", "gy"))
    left = Join(STORED, gone, JoinKind.ANTI, null_safe_match([("x", "gx"), ("y", "gy")]))
    pieces = UnionAll((left, Reference("new", ("x", "y"))))
    plan = chain(step("a", 0), named_like(pieces, ("from1", "to1")))
    rows = {"a": table([(1, 2)]), "gone": table([(2, 9)]), "new": table([(2, 7), (3, 8)])}
    assert found(plan, rows, spark) == [{"from0": 1, "to0": 2, "from1": 2, "to1": 7}]
    assert len(spark.looks) == 1


def test_a_semi_join_asks_the_side_that_is_stored() -> None:
    mine = named_like(Reference("a", ("x", "y")), ("u", "v"))
    near = Join(STORED, mine, JoinKind.SEMI, null_safe_match([("x", "v")]))
    spark = Spark([(2, 9)])
    assert found(near, {"a": table([(1, 2)])}, spark) == [{"x": 2, "y": 9}]
    assert len(spark.looks) == 1


def test_what_has_no_rows_needs_no_look_whatever_the_rest_is() -> None:
    rows = {"a": table([(1, 2)]), "b": table([(3, 4)]), "none": table([])}
    columns = ("from0", "to0", "from1", "to1")
    apart = chain(step("a", 0), step("b", 1))
    divided = Project(step("none", 0), (Named("half", exp.Div(this=column("from0"), expression=literal(2))),))
    spark = Spark([(2, 9)])
    assert found(apart, rows, spark) == []
    assert found(divided, rows, spark) == []
    assert found(Distinct(union_all((apart, chain(step("b", 0), step("a", 1))), columns)), rows, spark) == []
    assert found(chain(step("none", 0), stored(1)), rows, spark) == []
    assert found(empty(("x",)), {}, spark) == []
    assert spark.looks == []


@pytest.mark.parametrize(
    "plan",
    [
        STORED,
        Reference("unknown", ("x", "y")),
        Scan("stored", STORED.bound, State.DELTA),
        Project(chain(step("a", 0), stored(1)), (Named("s", function("sqrt", column("to1"))),)),
        Join(step("a", 0), stored(1), JoinKind.INNER, exp.LT(this=column("to0"), expression=column("from1"))),
        Join(step("a", 0), stored(1), JoinKind.FULL, equal(column("to0"), column("from1"))),
    ],
    ids=["all of it", "a result in files", "changes", "values that are computed", "by <", "a full join"],
)
def test_what_is_left_to_spark_costs_no_look(plan: Relation) -> None:
    spark = Spark([(2, 9)])
    assert found(plan, {"a": table([(1, 2)])}, spark) is None
    assert spark.looks == []


def test_many_keys_are_not_written_down() -> None:
    spark, one = Spark([(2, 9)]), Limits(in_list=1)
    assert found(chain(step("a", 0), stored(1)), {"a": table([(1, 2), (1, 3)])}, spark, one) is None
    assert spark.looks == []


def test_joins_of_many_rows_are_left_to_spark() -> None:
    three = Limits(driver_join=3)
    rows = {"a": table([(1, 2), (3, 2)]), "b": table([(2, 4), (2, 6)])}
    assert found(chain(step("a", 0), step("b", 1)), rows, limits=three) is None
    assert found(chain(step("a", 0), step("a", 1)), rows, limits=three) == []


def test_values_that_spark_compares_otherwise_are_left_to_it() -> None:
    zero = {"a": table([(0.0, -0.0)], "double"), "b": table([(0.0, 0.0)], "double")}
    assert found(chain(step("a", 0), step("b", 1)), zero) is None
    mixed = {"a": table([(1, 2)]), "b": table([(2, 3)], "bigint")}
    assert found(chain(step("a", 0), step("b", 1)), mixed) is None


def test_null_equals_null_where_that_is_asked() -> None:
    nulls = {"a": table([(None, 1), (0, 2)]), "b": table([(None, 2)])}
    for match, kept in ((null_safe_match([("from0", "from1")]), [(None, 1)]), (EQUAL, [])):
        rows = found(Join(step("a", 0), step("b", 1), JoinKind.SEMI, match), nulls)
        assert rows == [{"from0": x, "to0": y} for x, y in kept]


EQUAL = equal(column("from0"), column("from1"))


def test_a_column_may_be_compared_twice() -> None:
    rows = {"a": table([(1, 1), (1, 2)]), "b": table([(1, 5)])}
    twice = conjunction((EQUAL, equal(column("to0"), column("from1"))))
    assert found(Join(step("a", 0), step("b", 1), JoinKind.SEMI, twice), rows) == [{"from0": 1, "to0": 1}]
    assert found(Join(step("b", 1), step("a", 0), JoinKind.SEMI, twice), rows) == [{"from1": 1, "to1": 5}]


def test_sums_that_do_not_fit_are_left_to_spark() -> None:
    most = {"a": table([(1, 2**63 - 1), (1, 1)], "bigint")}
    total = Aggregate(
        Reference("a", ("x", "y")), (Named("x", column("x")),), (Named("s", function("sum", column("y"))),)
    )
    assert found(total, most) is None
    assert found(total, {"a": table([(1, 2**63 - 1), (1, -1)], "bigint")}) == [{"x": 1, "s": 2**63 - 2}]
    more = Project(
        Reference("a", ("x", "y")), (Named("s", exp.Add(this=column("y"), expression=literal(1))),)
    )
    assert found(more, most) is None


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (exp.LT(this=column("x"), expression=literal(2)), [1]),
        (exp.GT(this=column("x"), expression=literal(1)), [2]),
        (exp.Is(this=column("x"), expression=exp.null()), [None]),
        (exp.not_(exp.Is(this=column("x"), expression=exp.null())), [1, 2]),
    ],
)
def test_signs_and_nulls_are_tested(condition: Scalar, kept: list[int | None]) -> None:
    rows = {"a": table([(1, 0), (2, 0), (None, 0)])}
    left = found(filtered(Reference("a", ("x", "y")), condition), rows)
    assert left is not None
    assert [row["x"] for row in left] == kept
