"""The ranges in which a condition leaves columns: by them files are left unread.

a >= 3 AND a < 9 AND b = 'x'    →    a in [3, 9], b in ['x', 'x']
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, conjuncts

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
}
_END = "\U0010ffff" * 8
"""Above all texts that a file's ranges tell of."""

_LARGEST = 10**40


def ranges_of(condition: Scalar) -> dict[str, tuple[Any, Any]]:
    """Least and greatest value of columns that are compared with constants."""
    found: dict[str, tuple[Any, Any]] = {}
    for part in conjuncts(condition):
        for name, low, high in _ends(part):
            known = found.get(name)
            if known is None:
                found[name] = (low, high)
            elif type(known[0]) is type(low):
                found[name] = (max(known[0], low), min(known[1], high))
    return found


def _ends(part: Scalar) -> list[tuple[str, Any, Any]]:
    match part:
        case exp.Between(this=exp.Column() as of):
            return _between(of, _constant(part.args["low"]), _constant(part.args["high"]))
        case exp.In(this=exp.Column() as of, expressions=[_, *_] as members):
            values: list[Any] = [_constant(one) for one in members]
            if len({type(value) for value in values}) > 1 or None in values:
                return []
            return _between(of, min(values), max(values))
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _comparison(type(part), part.this.unnest(), part.expression.unnest())
        case _:
            return []


def _comparison(kind: type[exp.Expr], left: Scalar, right: Scalar) -> list[tuple[str, Any, Any]]:
    if isinstance(right, exp.Column):
        kind, left, right = _FLIPPED[kind], right, left
    value = _constant(right)
    if not isinstance(left, exp.Column) or value is None:
        return []
    least, most = ("", _END) if isinstance(value, str) else (-_LARGEST, _LARGEST)
    low = least if kind in (exp.LT, exp.LTE) else value
    high = most if kind in (exp.GT, exp.GTE) else value
    return _between(left, low, high)


def _between(of: exp.Column, low: Any, high: Any) -> list[tuple[str, Any, Any]]:
    is_known = low is not None and type(low) is type(high)
    return [(of.name, low, high)] if is_known else []


def _constant(expr: Scalar) -> int | str | None:
    """A constant as ranges have it: a whole number, a text, or a date as text."""
    found = expr.unnest()
    if isinstance(found, exp.Cast) and found.to.is_type("date"):
        found = found.this
    is_whole = isinstance(found, exp.Neg | exp.Literal) and not found.is_string and found.is_int
    if is_whole:
        return int(found.to_py())
    return found.name if isinstance(found, exp.Literal) and found.is_string else None
