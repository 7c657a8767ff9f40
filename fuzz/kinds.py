"""Which types tables can have today: a type that is refused is reported once, and not tried again."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession

import viewkeeper as vk
from fuzz.bags import bag_of
from fuzz.oracle import columns_of, session_of, table_text
from fuzz.schemas import Column, Table
from fuzz.statements import apply_change
from fuzz.values import KINDS, Kind

UNUSUAL = ("collated", "time", "months", "seconds", "map", "variant", "struct", "array")
"""Families that are tried before they are used; the others are known to work as columns."""


def taken_kinds(spark: SparkSession, path: Path, avoid: str = "") -> tuple[tuple[Kind, ...], list[str]]:
    """The types that can be stored, inserted and deleted, and for each of the others why not."""
    taken, refused = [], []
    wh = vk.open(str(path), spark=spark)
    for number, kind in enumerate(KINDS):
        if avoid and re.search(avoid, kind.type):
            continue
        why = _refusal(spark, wh, f"t{number}", kind) if kind.family in UNUSUAL else ""
        if why:
            refused.append(f"{kind.type} ({why})")
        else:
            taken.append(_without(kind, avoid) if avoid else kind)
    return tuple(taken), refused


def _without(kind: Kind, avoid: str) -> Kind:
    edges = tuple(text for text in kind.edges if not re.search(avoid, text))
    plain = tuple(text for text in kind.plain if not re.search(avoid, text))
    return Kind(kind.type, kind.family, plain, edges, kind.can_be_key)


def _refusal(spark: SparkSession, wh: vk.Warehouse, name: str, kind: Kind) -> str:
    table = Table(name, (Column("k", "int"), Column("a", kind.type)))
    rows = [(str(n), text) for n, text in enumerate((*kind.plain, "NULL"))]
    try:
        wanted = session_of(spark).sql(table_text(table, rows))
        rows_wanted = bag_of(wanted.collect())
        wh.sql(table.ddl)
        with wh.transaction() as t:
            apply_change(spark, t, table, {"kind": "insert", "rows": rows})
        got = wh.table(name)
        if columns_of(got.schema) != columns_of(wanted.schema):
            return f"stored as {columns_of(got.schema)[1][1]}"
        if bag_of(got.collect()) != rows_wanted:
            return "other values"
        with wh.transaction() as t:
            apply_change(spark, t, table, {"kind": "delete", "rows": rows[:1]})
    except Exception as error:
        return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:110]
    return ""
