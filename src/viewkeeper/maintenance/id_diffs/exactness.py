"""Which sums are exact: those of integers and decimals, whatever was added and taken back before."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar

_EXACT = ("tinyint", "smallint", "int", "integer", "bigint", "decimal", "numeric", "hugeint", "exact")
_ARITHMETIC = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul,
    exp.Case, exp.If, exp.Coalesce, exp.Boolean, exp.Predicate, exp.Connector, exp.Not, exp.Cast,
    exp.DataType,
)  # fmt: skip


def is_exact(expr: Scalar, types: Mapping[str, str]) -> bool:
    """Whether a number is made of exact ones by exact arithmetic, or made exact; `types` are of columns."""
    if isinstance(expr, exp.Cast):
        return _is_exact_node(expr, types)
    return all(_is_exact_node(node, types) for node in expr.walk())


def exact_type(expr: Scalar, types: Mapping[str, str]) -> str:
    """The type of an expression as far as sums need it: a column's own, "exact", or unknown."""
    if isinstance(expr, exp.Column):
        return types.get(expr.name, "")
    return "exact" if is_exact(expr, types) else ""


def _is_exact_node(node: Scalar, types: Mapping[str, str]) -> bool:
    if node.find_ancestor(exp.Predicate) is not None:
        return True
    if isinstance(node, exp.Column):
        return types.get(node.name, "").startswith(_EXACT)
    if isinstance(node, exp.Cast):
        return node.to.sql("spark").lower().startswith(_EXACT)
    if isinstance(node, exp.Literal):
        return node.is_string or "e" not in node.name.lower()
    return isinstance(node, _ARITHMETIC)
