"""The tables as plain lists of rows, changed by the steps themselves: what Viewkeeper should hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fuzz.case import Case, Step
from fuzz.schemas import Row, Table
from fuzz.values import as_compared

Change = dict[str, Any]


class Model:
    """Rows of texts by table."""

    def __init__(self, tables: Iterable[Table], rows: Mapping[str, Iterable[Row]]) -> None:
        self.tables = {table.name: table for table in tables}
        self.rows: dict[str, list[Row]] = {name: list(rows.get(name, ())) for name in self.tables}

    @staticmethod
    def of(case: Case) -> Model:
        return Model(case.tables, case.rows)

    def copy(self) -> Model:
        return Model(self.tables.values(), self.rows)

    def apply(self, step: Step) -> None:
        """The effect of a step on the tables; most have none."""
        match step["do"]:
            case "transaction":
                for change in step["changes"]:
                    self._change(change)
            case "sql":
                self._statement(step)
            case "recreate":
                self.rows[step["table"]] = [tuple(row) for row in step["rows"]]

    def _change(self, change: Change) -> None:
        rows = self.rows[change["table"]]
        given = [tuple(row) for row in change["rows"]]
        match change["kind"]:
            case "insert":
                rows += given
            case "delete":
                for row in given:
                    rows.remove(row)
            case "update":
                self._update(self.tables[change["table"]], change["columns"], given)

    def _update(self, table: Table, columns: list[str], given: list[Row]) -> None:
        """Rows found by key get the values given for some columns."""
        rows = self.rows[table.name]
        width = len(table.key)
        for values in given:
            at = next(n for n, row in enumerate(rows) if table.key_of(row) == values[:width])
            rows[at] = _with(table, rows[at], dict(zip(columns, values)))

    def _statement(self, step: Step) -> None:
        table = self.tables[step["table"]]
        rows = self.rows[table.name]
        match step["statement"]:
            case "delete":
                self.rows[table.name] = [row for row in rows if not meets(table, row, step["where"])]
            case "update":
                self.rows[table.name] = [
                    _with(table, row, step["set"]) if meets(table, row, step["where"]) else row
                    for row in rows
                ]
            case "merge":
                self._merge(table, [tuple(row) for row in step["rows"]])
            case "insert":
                self.rows[table.name] = rows + [tuple(row) for row in step["rows"]]

    def _merge(self, table: Table, given: list[Row]) -> None:
        """MERGE by key: rows of known keys are replaced, others are inserted."""
        new = {table.key_of(row): row for row in given}
        kept = [new.pop(table.key_of(row), row) for row in self.rows[table.name]]
        self.rows[table.name] = kept + list(new.values())


def meets(table: Table, row: Row, where: list[str]) -> bool:
    """Whether a row has the value that a condition `column = value` or `column IS NULL` asks for."""
    column, value = where
    return as_compared(row[table.position(column)]) == as_compared(value)


def _with(table: Table, row: Row, values: Mapping[str, str]) -> Row:
    return tuple(values.get(name, value) for name, value in zip(table.names, row))
