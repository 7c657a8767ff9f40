"""The parts that SQL text is put together from: names, columns, joins, and a SELECT under construction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.dialects import DuckDB, Spark

from viewkeeper.algebra.expressions import Scalar

_RESERVED = {
    word.lower()
    for dialect in (Spark, DuckDB)
    for word in dialect.tokenizer_class.KEYWORDS
    if word.isidentifier()
}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass
class SelectText:
    """A SELECT under construction: where rows come from, and what each output column is."""

    source: exp.Expr
    outputs: dict[str, Scalar]
    joins: list[exp.Join] = field(default_factory=list)
    where: list[Scalar] = field(default_factory=list)
    laterals: list[exp.Lateral] = field(default_factory=list)
    hints: dict[str, list[str]] = field(default_factory=dict)
    is_scattered: bool = False

    @property
    def is_single_source(self) -> bool:
        return not (self.joins or self.where or self.laterals)

    def is_simple(self, names: Iterable[str]) -> bool:
        return all(isinstance(self.outputs[n], (exp.Column, exp.Literal, exp.Boolean)) for n in names)


def identifier(name: str) -> exp.Identifier:
    """Quoted only where it must be, so that the text stays readable."""
    quoted = not _PLAIN.fullmatch(name) or name.lower() in _RESERVED
    return exp.to_identifier(name, quoted=quoted)


def qualified(alias: str, name: str) -> exp.Column:
    return exp.Column(this=identifier(name), table=identifier(alias))


def table(name: str, alias: str) -> exp.Expr:
    return exp.alias_(exp.Table(this=identifier(name)), identifier(alias), table=True, copy=False)


def aliased(expr: Scalar, name: str) -> exp.Expr:
    """The expression under a name; a column that has it already is left alone.

    Besides being shorter, this avoids aliases that Spark's optimizer removes wrongly: a window over
    a union whose columns are all `x AS x` fails its plan validation (Spark 4.3).
    """
    clean = tidy(expr)
    if isinstance(clean, exp.Column) and clean.name == name:
        return clean
    return exp.Alias(this=clean, alias=identifier(name))


def ordered(expr: Scalar) -> exp.Ordered:
    return exp.Ordered(this=tidy(expr), nulls_first=True)


def tidy(expr: Scalar) -> Scalar:
    """The expression with its identifiers quoted only where needed."""

    def plain(node: exp.Expr) -> exp.Expr:
        return identifier(node.name) if isinstance(node, exp.Identifier) else node

    return expr.copy().transform(plain, copy=False)


def join_clause(source: exp.Expr, side: str, kind: str, on: Scalar) -> exp.Join:
    clause = exp.Join(this=source, on=on)
    if side:
        clause.set("side", side)
    if kind:
        clause.set("kind", kind)
    return clause


def all_columns(block: SelectText) -> bool:
    return all(isinstance(expr, exp.Column) for expr in block.outputs.values())
