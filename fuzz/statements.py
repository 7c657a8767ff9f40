"""Changes as Viewkeeper takes them: rows of a DataFrame, Python's rows, or a statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from fuzz.case import Step
from fuzz.model import Change
from fuzz.oracle import table_text
from fuzz.schemas import Table
from fuzz.values import NULL


def apply_change(
    spark: SparkSession, transaction: Any, table: Table, change: Change, as_list: bool = False
) -> None:
    """One change in an open transaction."""
    columns = change.get("columns", table.names)
    shape = replace(table, columns=tuple(table.columns[table.position(name)] for name in columns))
    frame = spark.sql(table_text(shape, [tuple(row) for row in change["rows"]]))
    rows: Any = [tuple(row) for row in frame.collect()] if as_list else frame
    if as_list and change["kind"] == "update":
        rows = [dict(zip(columns, row)) for row in rows]
    getattr(transaction, change["kind"])(table.name, rows)


def statement_text(table: Table, step: Step) -> str:
    """The SQL of a step."""
    match step["statement"]:
        case "insert":
            return f"INSERT INTO {table.name} {table_text(table, step['rows'])}"
        case "delete":
            return f"DELETE FROM {table.name} WHERE {_condition(step['where'])}"
        case "update":
            column, value = next(iter(step["set"].items()))
            return f"UPDATE {table.name} SET {column} = {value} WHERE {_condition(step['where'])}"
        case _:
            on = " AND ".join(f"t.{name} = s.{name}" for name in table.key)
            sets = ", ".join(f"{name} = s.{name}" for name in table.names if name not in table.key)
            all_columns = ", ".join(f"s.{name}" for name in table.names)
            return (
                f"MERGE INTO {table.name} t USING ({table_text(table, step['rows'])}) s ON {on}"
                f" WHEN MATCHED THEN UPDATE SET {sets}"
                f" WHEN NOT MATCHED THEN INSERT ({', '.join(table.names)}) VALUES ({all_columns})"
            )


def _condition(where: list[str]) -> str:
    column, value = where
    return f"{column} IS NULL" if value == NULL else f"{column} = {value}"
