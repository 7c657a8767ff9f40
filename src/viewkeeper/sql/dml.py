"""INSERT, DELETE, UPDATE and MERGE from their syntax trees; expressions stay text."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.errors import InvalidSQL, Unsupported
from viewkeeper.sql.header import Header, qualified
from viewkeeper.sql.statements import Delete, Insert, Merge, MergeClause, Update


def text(node: exp.Expr) -> str:
    return node.sql(dialect="spark")


def _table(node: exp.Expr) -> tuple[str, str | None]:
    if not isinstance(node, exp.Table) or node.db:
        raise qualified(text(node))
    return node.name, node.alias or None


def insert(tree: exp.Insert, sql: str) -> Insert:
    if tree.args.get("overwrite"):
        raise Unsupported("INSERT OVERWRITE is not taken.", hint="DELETE the rows, then INSERT.")
    if tree.args.get("partition") or tree.args.get("where"):
        raise Unsupported("INSERT takes neither PARTITION nor REPLACE WHERE.", sql.strip()[:200])
    target = tree.this
    columns = tuple(c.name for c in target.expressions) if isinstance(target, exp.Schema) else ()
    table, _ = _table(target.this if isinstance(target, exp.Schema) else target)
    if tree.expression is None:
        raise InvalidSQL("INSERT has no rows.", sql.strip()[:200], "Add VALUES (…) or a query.")
    rows = len(tree.expression.expressions) if isinstance(tree.expression, exp.Values) else None
    return Insert(table, columns, _rows(tree, sql), bool(tree.args.get("by_name")), rows)


def _rows(tree: exp.Insert, sql: str) -> str:
    """The query that gives the rows: as it was written where that is possible."""
    query = tree.expression
    if isinstance(query, exp.Values):
        return text(query.transform(_default_as_null))
    if tree.args.get("with_"):
        query = query.copy()
        query.set("with_", tree.args["with_"].copy())
        return text(query)
    header = Header(sql)
    header.expect("INSERT", "INTO")
    header.take("TABLE")
    header.name()
    if header.word == "(" and isinstance(tree.this, exp.Schema):
        while header.word and not header.take(")"):
            header.position += 1
    header.take("BY", "NAME")
    return header.rest()


def _default_as_null(node: exp.Expr) -> exp.Expr:
    is_default = isinstance(node, (exp.Var, exp.Column)) and node.name.upper() == "DEFAULT"
    return exp.null() if is_default else node


def delete(tree: exp.Delete) -> Delete:
    table, alias = _table(tree.this)
    return Delete(table, _where(tree), alias)


def update(tree: exp.Update) -> Update:
    if tree.args.get("from_"):
        raise Unsupported("UPDATE takes no FROM.", hint="Use MERGE, or a subquery.")
    table, alias = _table(tree.this)
    return Update(table, _assignments(tree.expressions), _where(tree), alias)


def _where(tree: exp.Expr) -> str | None:
    clause = tree.args.get("where")
    return text(clause.this) if clause is not None else None


def _assignments(items: list[exp.Expr]) -> tuple[tuple[str, str], ...]:
    found = []
    for item in items:
        if not isinstance(item, exp.EQ) or not isinstance(item.this, exp.Column):
            raise InvalidSQL("SET takes assignments of the form column = expression.", text(item))
        found.append((item.this.name, text(_default_as_null(item.expression))))
    return tuple(found)


def merge(tree: exp.Merge) -> Merge:
    table, alias = _table(tree.this)
    source = tree.args["using"]
    source_alias = source.alias or (source.name if isinstance(source, exp.Table) else None)
    clauses = tuple(_clause(when) for when in tree.args["whens"].expressions)
    return Merge(table, alias, _unnamed(source), source_alias, text(tree.args["on"]), clauses)


def _unnamed(source: exp.Expr) -> str:
    """The source without its alias; names that the alias gives to columns stay."""
    if source.alias_column_names:
        return f"(SELECT * FROM {text(source)})"
    bare = source.copy()
    bare.set("alias", None)
    return text(bare)


def _clause(node: exp.When) -> MergeClause:
    when = "matched" if node.args.get("matched") else "not matched"
    if node.args.get("source"):
        when = "not matched by source"
    condition = node.args.get("condition")
    action, assignments = _action(node.args["then"])
    return MergeClause(when, None if condition is None else text(condition), action, assignments)


def _action(then: exp.Expr) -> tuple[str, tuple[tuple[str, str], ...]]:
    match then:
        case exp.Update():
            whole = any(isinstance(item, exp.Star) for item in then.expressions)
            return "update", () if whole else _assignments(then.expressions)
        case exp.Insert(this=exp.Star()):
            return "insert", ()
        case exp.Insert():
            return "insert", _inserted(then)
        case exp.Var() if then.name.upper() == "DELETE":
            return "delete", ()
        case _:
            raise InvalidSQL("MERGE takes UPDATE, INSERT and DELETE.", text(then))


def _inserted(then: exp.Insert) -> tuple[tuple[str, str], ...]:
    names = [item.name for item in then.this.expressions] if then.this is not None else []
    values = [text(_default_as_null(item)) for item in then.expression.expressions]
    if len(names) != len(values):
        raise InvalidSQL("INSERT lists other numbers of columns and values.", text(then))
    return tuple(zip(names, values, strict=True))
