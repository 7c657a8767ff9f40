"""What a table or view is: its columns, and of a followed table what it follows."""

from __future__ import annotations

import pyarrow as pa

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column
from viewkeeper.ddl.following import is_enforced, is_followed
from viewkeeper.spark.session import DataFrame
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.following.known import recorded
from viewkeeper.workspace import Workspace

COLUMNS = ("col_name", "data_type", "comment")


def described(work: Workspace, name: str) -> DataFrame:
    """One row per column, as DESCRIBE has them in Spark, then what else is known."""
    rows = _rows(work.log.latest(), name)
    table = pa.table([pa.array(values, pa.string()) for values in zip(*rows, strict=True)], names=COLUMNS)
    return work.engine.local(table, tuple(Column(name, "string") for name in COLUMNS))


def _rows(entry: Entry, name: str) -> list[tuple[str, str, str]]:
    schema = entry.catalog.schema(name)
    found = [(shown(c.name), c.declared or c.type, "" if c.nullable else "NOT NULL") for c in schema.visible]
    keys = [("# Key", "", ""), *((shown(column), "", "") for column in schema.key)]
    found += keys if schema.key else []
    if schema.name in entry.catalog.tables and is_followed(schema):
        known = recorded(entry.relations[schema.name])
        found += [
            ("# Followed table", "", ""),
            ("Format", known.format, ""),
            ("Location", known.address, ""),
            ("Version", str(known.version), ""),
            ("Identity", known.identity, ""),
            ("Keys", "ENFORCED" if is_enforced(schema) else "NOT ENFORCED", ""),
        ]
    return found
