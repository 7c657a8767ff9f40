"""What a sum is kept in, by the type that Spark gives to what is summed up."""

from __future__ import annotations

import pytest
from sqlglot import exp

from viewkeeper.algebra.relations import Aggregate
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import nodes
from viewkeeper.maintenance.typed_calls import types_of, with_types
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

KEPT = {
    "float": "DOUBLE",
    "string": "DOUBLE",
    "timestamp": "DOUBLE",
    "bigint": "BIGINT",
    "decimal(8,2)": "DECIMAL(8, 2)",
    "int": "",
}


@pytest.mark.parametrize("kind", KEPT)
def test_sums_are_kept_in_the_type_that_spark_adds_up_in(kind: str) -> None:
    catalog = StaticCatalog([TableSchema("t", (Column("v", kind),))])
    plan = parse_view("SELECT AVG(v) AS a FROM t", catalog).relation
    assert plan is not None
    types = types_of(plan, lambda _, arguments: ("",) * len(arguments))
    sums = [node for node in nodes(with_types(plan, types)) if isinstance(node, Aggregate)]
    argument = sums[0].aggregates[0].expr.find(exp.Avg).this
    assert (argument.to.sql("spark") if isinstance(argument, exp.Cast) else "") == KEPT[kind]
