"""The running example of katsis15: devices, their parts, and the views V and V' (Figures 1, 2 and 5)."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, column, equal, literal, same
from viewkeeper.algebra.relations import Aggregate, Bound, Filter, Join, JoinKind, Project, Relation, Scan
from viewkeeper.algebra.schema import Column, TableSchema


def table(name: str, key: tuple[str, ...], **types: str) -> TableSchema:
    columns = tuple(Column(column, kind, nullable=column not in key) for column, kind in types.items())
    return TableSchema(name, columns, key)


SCHEMAS = {
    schema.name: schema
    for schema in (
        table("devices", ("did",), did="string", category="string"),
        table("parts", ("pid",), pid="string", price="int"),
        table("devices_parts", ("did", "pid"), did="string", pid="string"),
    )
}
BEFORE = {
    "devices": [("D1", "phone"), ("D2", "phone"), ("D3", "tablet")],
    "devices_parts": [("D1", "P1"), ("D2", "P1"), ("D1", "P2")],
    "parts": [("P1", 10), ("P2", 20)],
}


def scan(name: str, **names: str) -> Scan:
    return Scan(name, tuple(Bound(names.get(c.name, c.name), c) for c in SCHEMAS[name].columns))


def phones() -> Relation:
    """parts ⋈ devices_parts ⋈ σ_category='phone' devices"""
    parts, both = scan("parts"), scan("devices_parts", did="dp_did", pid="dp_pid")
    named = Join(parts, both, JoinKind.INNER, equal(column("pid"), column("dp_pid")))
    chosen = Filter(scan("devices"), equal(column("category"), literal("phone")))
    return Join(named, chosen, JoinKind.INNER, equal(column("dp_did"), column("did")))


def v() -> Relation:
    return Project(phones(), same(("did", "pid", "price")))


def v_prime(call: type[exp.AggFunc] = exp.Sum) -> Relation:
    return Aggregate(phones(), same(("did",)), (Named("cost", call(this=column("price"))),))
