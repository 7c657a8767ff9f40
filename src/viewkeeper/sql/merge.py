"""MERGE as two queries.

For each row the first WHEN of its kind whose condition holds applies: clause i has the condition
`cᵢ AND NOT (c₁ OR … OR cᵢ₋₁)`, with NULL as false. The rows of all clauses are united.
"""

from __future__ import annotations

from viewkeeper.algebra.schema import TableSchema
from viewkeeper.sql.select_parts import identifier
from viewkeeper.sql.statements import Merge, MergeClause


def merge_queries(merge: Merge, schema: TableSchema) -> tuple[str | None, str | None]:
    """The rows that the statement deletes, and those that it inserts."""
    deletes: list[str] = []
    inserts: list[str] = []
    for clause, condition in _exclusive(merge.clauses):
        source = _from(merge, schema, clause, condition)
        if clause.when != "not matched":
            deletes.append(f"SELECT {_old(merge, schema)} {source}")
        if clause.action != "delete":
            inserts.append(f"SELECT {_new(merge, schema, clause)} {source}")
    return " UNION ALL ".join(deletes) or None, " UNION ALL ".join(inserts) or None


def _exclusive(clauses: tuple[MergeClause, ...]) -> list[tuple[MergeClause, str]]:
    """Each clause with the condition under which it is the first of its kind."""
    result = []
    before: dict[str, list[str]] = {}
    for clause in clauses:
        earlier = before.setdefault(clause.when, [])
        parts = [f"({clause.condition})"] if clause.condition else []
        parts += [f"NOT coalesce({other}, FALSE)" for other in earlier]
        result.append((clause, " AND ".join(parts) or "TRUE"))
        earlier.append(clause.condition or "TRUE")
    return result


def _from(merge: Merge, schema: TableSchema, clause: MergeClause, condition: str) -> str:
    target = f"{_quoted(schema.name)} AS {_target(merge, schema)}"
    source = merge.source + (f" AS {_quoted(merge.source_alias)}" if merge.source_alias else "")
    joins = {
        "matched": f"{target} JOIN {source}",
        "not matched": f"{source} LEFT ANTI JOIN {target}",
        "not matched by source": f"{target} LEFT ANTI JOIN {source}",
    }
    return f"FROM {joins[clause.when]} ON {merge.on} WHERE {condition}"


def _target(merge: Merge, schema: TableSchema) -> str:
    return _quoted(merge.alias or schema.name)


def _old(merge: Merge, schema: TableSchema) -> str:
    return ", ".join(f"{_target(merge, schema)}.{_quoted(c.name)}" for c in schema.columns)


def _new(merge: Merge, schema: TableSchema, clause: MergeClause) -> str:
    """The values of a row to insert, or of an updated row."""
    given = {name.lower(): value for name, value in clause.assignments}
    if not given:
        prefix = f"{_quoted(merge.source_alias)}." if merge.source_alias else ""
        given = {c.name.lower(): prefix + _quoted(c.name) for c in schema.columns}
    items = []
    for c in schema.columns:
        old = f"{_target(merge, schema)}.{_quoted(c.name)}"
        default = f"CAST(NULL AS {c.type})" if clause.action == "insert" else old
        items.append(f"{given.get(c.name.lower(), default)} AS {_quoted(c.name)}")
    return ", ".join(items)


def _quoted(name: str) -> str:
    return identifier(name).sql(dialect="spark")
