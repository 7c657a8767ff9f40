"""Which conditions over a changed tuple can be evaluated as they stand.

A filter over changes sees rows that the view's own condition may never have been evaluated for. So it
must not fail where the view does not: additions may overflow and casts may refuse a value, but
comparisons of values of one kind, NULL tests, LIKE and a few functions always have a result.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.maintenance.relevance.domains import ValueKind, constant
from viewkeeper.maintenance.relevance.formulae import OPPOSITE, Variables

_COMPARISONS = (*OPPOSITE, exp.NullSafeEQ, exp.NullSafeNEQ)
_STRING_TESTS = (exp.Like, exp.ILike, exp.StartsWith, exp.EndsWith, exp.Contains)
_STRING_FUNCTIONS = (exp.Lower, exp.Upper)
_WRITTEN = (
    ValueKind.EXACT,
    ValueKind.FLOATING,
    ValueKind.DATE,
    ValueKind.TIMESTAMP,
    ValueKind.TIMESTAMP_NTZ,
)
_NUMERIC = (ValueKind.EXACT, ValueKind.FLOATING)


def is_evaluable(expr: Scalar, variables: Variables) -> bool:
    """Whether the condition has a truth value (TRUE, FALSE or NULL) for every tuple."""
    inner = expr.unnest()
    match inner:
        case exp.And() | exp.Or():
            return is_evaluable(inner.left, variables) and is_evaluable(inner.right, variables)
        case exp.Not():
            return is_evaluable(inner.this, variables)
        case exp.Boolean() | exp.Null():
            return True
        case exp.Is():
            is_null = isinstance(inner.expression, exp.Null) and has_value(inner.this, variables)
            return is_null or is_evaluable(inner.this, variables)
        case exp.Between():
            return comparable((inner.this, inner.args["low"], inner.args["high"]), variables)
        case exp.In():
            return _is_list(inner) and comparable((inner.this, *inner.expressions), variables)
        case exp.Column():
            return kind_of(inner, variables) is ValueKind.BOOLEAN
        case _ if isinstance(inner, _STRING_TESTS):
            return kind_of(inner.this, variables) is ValueKind.STRING and inner.expression.is_string
        case exp.Binary() if isinstance(inner, _COMPARISONS):
            return comparable((inner.left, inner.right), variables)
        case _:
            return False


def _is_list(expr: exp.In) -> bool:
    return bool(expr.expressions) and not any(expr.args.get(name) for name in ("query", "unnest", "field"))


def comparable(operands: tuple[Scalar, ...], variables: Variables) -> bool:
    """Whether SQL compares these without a cast that could refuse a value."""
    known = [kind_of(operand, variables) for operand in operands if not _is_null(operand)]
    kinds = {kind for kind in known if kind is not None}
    if not kinds or None in known:
        return _literals_fit(operands, variables)
    return len(kinds) == 1 or kinds <= set(_NUMERIC) or _literals_fit(operands, variables)


def _literals_fit(operands: tuple[Scalar, ...], variables: Variables) -> bool:
    """Dates and timestamps beside string literals that are such."""
    kinds = {kind_of(o, variables) for o in operands if not isinstance(o.unnest(), (exp.Literal, exp.Null))}
    kinds.discard(None)
    if len(kinds) != 1:
        return False
    kind = kinds.pop()
    assert kind is not None
    return all(
        _is_null(o) or kind_of(o, variables) is kind or constant(o, kind) is not None for o in operands
    )


def _is_null(expr: Scalar) -> bool:
    return isinstance(expr.unnest(), exp.Null)


def has_value(expr: Scalar, variables: Variables) -> bool:
    return isinstance(expr.unnest(), exp.Column) or kind_of(expr, variables) is not None


def kind_of(expr: Scalar, variables: Variables) -> ValueKind | None:
    """The kind of a column, a literal, or a function that never fails; None for anything else."""
    inner = expr.unnest()
    match inner:
        case exp.Column():
            domain = variables[inner.name].domain
            return domain.kind if domain else None
        case exp.Literal() if inner.is_string:
            return ValueKind.STRING
        case exp.Boolean():
            return ValueKind.BOOLEAN
        case exp.Length():
            return ValueKind.EXACT if kind_of(inner.this, variables) is ValueKind.STRING else None
        case _ if isinstance(inner, _STRING_FUNCTIONS):
            return ValueKind.STRING if kind_of(inner.this, variables) is ValueKind.STRING else None
        case exp.Year() | exp.Month() | exp.Day():
            return ValueKind.EXACT if _is_date(inner.this, variables) else None
        case _:
            return next((kind for kind in _WRITTEN if constant(inner, kind)), None)


def _is_date(expr: Scalar, variables: Variables) -> bool:
    inner = expr.this if isinstance(expr, exp.TsOrDsToDate) else expr
    return kind_of(inner, variables) is ValueKind.DATE
