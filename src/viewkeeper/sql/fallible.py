"""Whether the conditions of a query can fail for a row: `CAST(s AS INT) > 0`, `a * b < 9`, `s = 5`.

Spark moves conditions down to where rows are read. A table with deletions that are not folded yet is read
with rows that are gone, and a condition may fit every row but these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from viewkeeper.algebra.schema import Column
from viewkeeper.sql.parse import parse_one

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Bracket, exp.Interval)
_HARMLESS = (exp.AggFunc, exp.Connector, exp.Case, exp.If, exp.Coalesce, exp.Exists)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between)
_CONDITIONS = (exp.Where, exp.Having, exp.Qualify, exp.Join)


def may_fail(sql: str, columns: Iterable[Column]) -> bool:
    """Whether a condition of a query over these columns is more than a comparison of values of one kind."""
    tree, kinds = parse_one(sql), {column.name.lower(): column.type for column in columns}
    return any(_is_fallible(node, kinds) for part in _moved(tree) for node in part.walk())


def _moved(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What may be moved down: conditions, and with them whatever an inner query computes."""
    conditions = list(tree.find_all(*_CONDITIONS))
    if conditions and len(list(tree.find_all(exp.Query))) > 1:
        yield tree
    else:
        yield from conditions


def _is_fallible(node: exp.Expr, kinds: dict[str, str]) -> bool:
    if isinstance(node, _COMPARISONS):
        sides = [side.unnest() for side in node.iter_expressions() if not _fits_any(side.unnest())]
        return len({_is_text(side, kinds) for side in sides}) > 1
    is_computed = isinstance(node, (*_ARITHMETIC, exp.Func))
    return is_computed and not isinstance(node, _HARMLESS) and node.find(exp.Column) is not None


def _fits_any(side: exp.Expr) -> bool:
    """What is evaluated once, as a value of the other side's type; what is no value of a row, too."""
    is_constant = isinstance(side, exp.Null) or (isinstance(side, exp.Literal) and side.is_string)
    return is_constant or isinstance(side, exp.Query | exp.Subquery | exp.AggFunc)


def _is_text(side: exp.Expr, kinds: dict[str, str]) -> bool | None:
    """Whether a side of a comparison is a text; None where only Spark knows."""
    if isinstance(side, exp.Column):
        kind = kinds.get(side.name.lower())
        return None if kind is None else kind == "string"
    return False if isinstance(side, exp.Literal | exp.Boolean | exp.Cast) else None
