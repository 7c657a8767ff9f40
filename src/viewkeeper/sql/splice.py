"""The user's own SQL text with the names of tables replaced, and nothing else touched.

SELECT pos.qty FROM pos  →  SELECT pos.qty FROM vkslot_pos_ AS pos
"""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from viewkeeper.errors import InvalidSQL
from viewkeeper.sql.dialect import ViewkeeperSpark
from viewkeeper.sql.select_parts import identifier


def tables_read(sql: str) -> tuple[str, ...]:
    """The names of the tables that a query reads, without its own CTEs, each once."""
    found: dict[str, None] = {}
    for table in _external_tables(_parsed(sql)):
        found.setdefault(table.name)
    return tuple(found)


def spliced(sql: str, replacement: Callable[[str], str]) -> str:
    """The text with each table's name replaced; a table without an alias keeps its name as one."""
    pieces: list[str] = []
    position = 0
    for table in sorted(_external_tables(_parsed(sql)), key=_start):
        name = table.name
        pieces.append(sql[position : _start(table)])
        pieces.append(replacement(name))
        if not table.alias:
            pieces.append(f" AS {identifier(name).sql('spark')}")
        position = _end(table) + 1
    pieces.append(sql[position:])
    return "".join(pieces)


def with_names(sql: str) -> str:
    """The query with a name for each of its columns that has none."""
    tree = _parsed(sql)
    if not isinstance(tree, exp.Select):
        return sql
    for number, item in enumerate(tree.expressions):
        if not isinstance(item, (exp.Alias, exp.Column, exp.Star)):
            item.replace(exp.alias_(item.copy(), f"c{number}"))
    return tree.sql(dialect="spark")


def _parsed(sql: str) -> exp.Expr:
    try:
        return sqlglot.parse_one(sql, dialect=ViewkeeperSpark)
    except SqlglotError as error:
        raise InvalidSQL("This SQL cannot be parsed.", str(error)) from error


def _external_tables(tree: exp.Expr) -> list[exp.Table]:
    return [
        table
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier) and not _is_cte(table)
    ]


def _is_cte(table: exp.Table) -> bool:
    """Whether a WITH clause around the table defines its name."""
    node: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_")
        if clause is not None and not table.db:
            names = [cte.alias.lower() for cte in _visible_ctes(clause, table)]
            if table.name.lower() in names:
                return True
        node = node.parent
    return False


def _visible_ctes(clause: exp.With, table: exp.Table) -> list[exp.CTE]:
    """The CTEs that the table may name: all, or inside a CTE only the earlier ones."""
    ctes = list(clause.expressions)
    if clause.args.get("recursive"):
        return ctes
    for number, cte in enumerate(ctes):
        if any(node is cte for node in _ancestors(table)):
            return ctes[:number]
    return ctes


def _ancestors(node: exp.Expr) -> list[exp.Expr]:
    found = []
    parent = node.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return found


def _start(table: exp.Table) -> int:
    return int(table.this.meta["start"])


def _end(table: exp.Table) -> int:
    return int(table.this.meta["end"])
