"""CREATE TABLE: columns with Spark's types, keys, references, properties, clustering."""

from __future__ import annotations

import re

from sqlglot import exp

from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.errors import InvalidSQL, Unsupported
from viewkeeper.sql.header import Header, qualified
from viewkeeper.sql.statements import CreateTable, Follows
from viewkeeper.storage.column_types import not_held
from viewkeeper.storage.following.formats import CATALOG

_TYPES = {
    exp.DType.BOOLEAN: "boolean",
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "int",
    exp.DType.BIGINT: "bigint",
    exp.DType.FLOAT: "float",
    exp.DType.DOUBLE: "double",
    exp.DType.TEXT: "string",
    exp.DType.BINARY: "binary",
    exp.DType.VARBINARY: "binary",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp_ntz",
}

_SIZED = {exp.DType.VARCHAR: "varchar", exp.DType.CHAR: "char"}


def create_table(tree: exp.Create, sql: str) -> CreateTable:
    if tree.args.get("replace"):
        raise Unsupported("CREATE OR REPLACE TABLE is not taken.", hint="Drop the table first.")
    body = tree.this
    table = body.this if isinstance(body, exp.Schema) else body
    if table.db:
        raise qualified(table.sql())
    items = body.expressions if isinstance(body, exp.Schema) else []
    schema = _schema(table.name, [*items, *_parts(tree, exp.PrimaryKey)], _properties(tree))
    query = _query_text(sql) if tree.args.get("expression") is not None else None
    if follows := _follows(tree, query):
        return CreateTable(schema, bool(tree.args.get("exists")), follows=follows)
    if query is None and not schema.columns:
        raise InvalidSQL(f"The table {schema.name} has no columns.", hint="List them, or add AS SELECT ….")
    return CreateTable(schema, bool(tree.args.get("exists")), query, _clustering(tree, schema))


def _schema(name: str, items: list[exp.Expr], properties: tuple[tuple[str, str], ...]) -> TableSchema:
    flat: list[exp.Expr] = []
    for item in items:
        flat.extend(item.expressions if isinstance(item, exp.Constraint) else [item])
    definitions = [item for item in flat if isinstance(item, exp.ColumnDef)]
    inline = [d.name for d in definitions if _constraint(d, exp.PrimaryKeyColumnConstraint)]
    listed = [_names(item) for item in flat if isinstance(item, exp.PrimaryKey)]
    if len(listed) + bool(inline) > 1 or len(inline) > 1:
        raise InvalidSQL(f"The table {name} has more than one primary key.", hint="Write PRIMARY KEY (a, b).")
    key = listed[0] if listed else tuple(inline)
    columns = tuple(_column(definition, key) for definition in definitions)
    schema = TableSchema(name, columns, key, _references(name, flat), properties)
    _check(schema)
    return TableSchema(name, columns, _spelled(schema, key), schema.foreign_keys, properties)


def _column(definition: exp.ColumnDef, key: tuple[str, ...]) -> Column:
    name = definition.name
    if definition.kind is None:
        raise InvalidSQL(f"The column {name} has no type.", columns=(name,))
    if definition.find(exp.CollateColumnConstraint) or _not_held(definition.kind):
        raise not_held(name, _written(definition.kind) + _collation(definition))
    required = _constraint(definition, exp.NotNullColumnConstraint)
    in_key = name.lower() in {part.lower() for part in key}
    kind, declared = spark_type(definition.kind), declared_type(definition.kind)
    return Column(name, kind, not (required or in_key), declared if declared != kind else "")


def _constraint(definition: exp.ColumnDef, kind: type[exp.Expr]) -> bool:
    found = [c.args.get("kind") for c in definition.args.get("constraints") or ()]
    return any(isinstance(c, kind) and not c.args.get("allow_null") for c in found)


_NOT_HELD = (exp.DType.TIME, exp.DType.VARIANT, exp.DType.GEOMETRY, exp.DType.GEOGRAPHY, exp.DType.INTERVAL)


def _not_held(kind: exp.Expr) -> bool:
    """Whether a type is, or holds, one that Delta tables cannot hold."""
    parts = list(kind.find_all(exp.DataType))
    return any(
        part.this in _NOT_HELD or isinstance(part.this, exp.Interval) or part.args.get("collate")
        for part in parts
    )


def _written(kind: exp.Expr) -> str:
    """A type as its user wrote it: sqlglot knows no TIME of Spark."""

    def own(part: exp.Expr) -> exp.Expr:
        is_time = isinstance(part, exp.DataType) and part.this is exp.DType.TIME
        return exp.DataType(this=exp.DType.USERDEFINED, kind=part.sql()) if is_time else part

    return kind.transform(own).sql(dialect="databricks")


def _collation(definition: exp.ColumnDef) -> str:
    found = definition.find(exp.CollateColumnConstraint)
    return f" COLLATE {found.this.name}" if found else ""


def spark_type(kind: exp.Expr) -> str:
    """Spark's simple string of a type: `decimal(10,2)`, `array<struct<x:int>>`."""
    return _LENGTHS.sub("string", declared_type(kind))


_LENGTHS = re.compile(r"\b(var)?char\(\d+\)")


def declared_type(kind: exp.Expr) -> str:
    """The same with `char(4)` and `varchar(3)`, which Spark checks when rows are written."""
    if not isinstance(kind, exp.DataType):
        raise InvalidSQL(f"The type {kind.sql(dialect='spark')} is not known.")
    if kind.this in (exp.DType.DECIMAL,):
        sizes = [part.name for part in kind.expressions] or ["10"]
        return f"decimal({sizes[0]},{sizes[1] if len(sizes) > 1 else 0})"
    if kind.this in (exp.DType.ARRAY, exp.DType.LIST) and kind.expressions:
        return f"array<{declared_type(kind.expressions[0])}>"
    if kind.this is exp.DType.MAP and len(kind.expressions) == 2:
        return f"map<{','.join(declared_type(part) for part in kind.expressions)}>"
    if kind.this is exp.DType.STRUCT:
        fields = [f"{field.name}:{declared_type(field.args['kind'])}" for field in kind.expressions]
        return f"struct<{','.join(fields)}>"
    if kind.this in _SIZED:
        return f"{_SIZED[kind.this]}({_size(kind)})"
    if kind.this not in _TYPES:
        raise InvalidSQL(f"The type {kind.sql(dialect='spark')} is not known.", "Types are Spark SQL's.")
    return _TYPES[kind.this]


def _size(kind: exp.DataType) -> str:
    if not kind.expressions:
        name = _SIZED[kind.this].upper()
        raise InvalidSQL(f"The type {name} has no length.", hint=f"Write {name}(10), or STRING.")
    return str(kind.expressions[0].name)


def _names(item: exp.Expr) -> tuple[str, ...]:
    return tuple(part.name for part in item.expressions)


def _references(name: str, items: list[exp.Expr]) -> tuple[ForeignKey, ...]:
    found = [_foreign_key(item) for item in items if isinstance(item, exp.ForeignKey)]
    for definition in items:
        for constraint in definition.args.get("constraints") or ():
            kind = constraint.args.get("kind")
            if isinstance(kind, exp.Reference):
                found.append(_reference((definition.name,), kind))
    return tuple(found)


def _foreign_key(item: exp.ForeignKey) -> ForeignKey:
    return _reference(_names(item), item.args["reference"])


def _reference(columns: tuple[str, ...], reference: exp.Expr) -> ForeignKey:
    target = reference.this
    table = target.this if isinstance(target, exp.Schema) else target
    referenced = _names(target) if isinstance(target, exp.Schema) else ()
    return ForeignKey(columns, table.name, referenced or columns)


def _check(schema: TableSchema) -> None:
    seen: set[str] = set()
    for name in schema.names:
        if name.lower() in seen:
            raise InvalidSQL(f"The table {schema.name} has two columns named {name}.", columns=(name,))
        seen.add(name.lower())
    if not schema.columns:
        return
    for used in (schema.key, *(reference.columns for reference in schema.foreign_keys)):
        for name in used:
            if name.lower() not in seen:
                raise InvalidSQL(
                    f"A key of {schema.name} names the column {name}, which it does not have.",
                    columns=(name,),
                )


def _spelled(schema: TableSchema, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(schema.column(name).name for name in names) if schema.columns else names


def _properties(tree: exp.Create) -> tuple[tuple[str, str], ...]:
    properties = tree.args.get("properties")
    items = properties.expressions if properties else []
    return tuple((i.name, i.args["value"].name) for i in items if type(i) is exp.Property)


def _parts(tree: exp.Create, kind: type[exp.Expr]) -> list[exp.Expr]:
    properties = tree.args.get("properties")
    return [item for item in (properties.expressions if properties else []) if isinstance(item, kind)]


def _follows(tree: exp.Create, query: str | None) -> Follows | None:
    """The table of others that is meant, where a location says so, or the catalog is to say where it is."""
    locations = _parts(tree, exp.LocationProperty)
    formats = [item.this.name for item in _parts(tree, exp.FileFormatProperty)]
    by_name = [name.lower() for name in formats] == [CATALOG]
    if not locations and not by_name:
        return None
    if not formats or query is not None:
        raise Unsupported(
            "A table at a LOCATION is one that others own, which can be followed.",
            "It has no query." if query is not None else "Its format is not given.",
            "Write CREATE TABLE name USING delta LOCATION '…'.",
        )
    pairs = [part for item in _parts(tree, exp.OptionsProperty) for part in item.expressions]
    options = {part.name: part.args["value"].name for part in pairs}
    place = options.pop("table", "") if by_name else locations[0].this.name
    return Follows(formats[0].lower(), place, tuple(options.items()), _is_enforced(tree))


def _is_enforced(tree: exp.Create) -> bool:
    """Whether keys are to be checked: all of them, or none."""
    kinds = (exp.PrimaryKey, exp.PrimaryKeyColumnConstraint, exp.Reference)
    marks = {"NOT ENFORCED" in _options(key) for key in tree.find_all(*kinds)}
    if len(marks) > 1:
        raise Unsupported(
            "Some keys of a followed table are ENFORCED, and others NOT.",
            hint="Either all are checked or none: write the same for each.",
        )
    return marks != {True}


def _options(key: exp.Expr) -> list[str]:
    return [str(option).upper() for option in key.args.get("options") or ()]


def _clustering(tree: exp.Create, schema: TableSchema) -> tuple[str, ...]:
    properties = tree.args.get("properties")
    for item in properties.expressions if properties else []:
        if isinstance(item, exp.ClusterProperty):
            return _spelled(schema, _known(schema, tuple(part.name for part in item.expressions)))
    return ()


def _known(schema: TableSchema, names: tuple[str, ...]) -> tuple[str, ...]:
    known = {name.lower() for name in schema.names}
    for name in names:
        if schema.columns and name.lower() not in known:
            raise InvalidSQL(f"CLUSTER BY names the column {name}, which {schema.name} does not have.")
    return names


def _query_text(sql: str) -> str:
    """The query after AS, as it was written."""
    header = Header(sql)
    depth = 0
    while header.word:
        depth += {"(": 1, ")": -1}.get(header.word, 0)
        if depth == 0 and header.take("AS"):
            return header.rest()
        header.position += 1
    raise header.wrong("AS")
