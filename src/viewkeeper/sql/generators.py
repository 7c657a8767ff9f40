"""Generators: functions that make rows, in LATERAL VIEW, in FROM and in the select list."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.relations import Lateral, Values
from viewkeeper.sql.aggregate_calls import call_name
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.scope import Untranslatable

_NAMES = frozenset(
    """explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple
    variant_explode variant_explode_outer""".split()
)


def is_generator(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Explode, exp.Posexplode, exp.Inline)) or call_name(node) in _NAMES


def generate(node: exp.Expr, aliases: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the columns that a generator makes."""
    if aliases:
        return aliases
    name = call_name(node)
    if name in ("explode", "explode_outer"):
        return ("col",)
    if name in ("posexplode", "posexplode_outer"):
        return ("pos", "col")
    raise Untranslatable(f"{name} without names for its columns")


def table_function(context: Context, node: exp.Expr) -> Translated:
    """`FROM range(…)` and `FROM explode(…)`."""
    generator, names = _table_generator(node)
    columns = tuple(context.fresh(name) for name in names)
    return Translated(Lateral(Values((), ((),)), generator, columns), names, columns)


def _table_generator(node: exp.Expr) -> tuple[Scalar, tuple[str, ...]]:
    if call_name(node) == "range":
        return exp.Explode(this=_sequence(node)), ("id",)
    if is_generator(node) and node.find(exp.Column) is None:
        return node.copy(), generate(node, ())
    raise Untranslatable(f"the table function {call_name(node) or node.key}")


def _sequence(node: exp.Expr) -> Scalar:
    """range(end) and range(start, end): the numbers as an array, without the end itself."""
    bounds = [int(b.name) for b in node.expressions if isinstance(b, exp.Literal) and b.name.isdigit()]
    if len(bounds) != len(node.expressions) or len(bounds) not in (1, 2):
        raise Untranslatable("range with bounds that are not plain numbers")
    start, end = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    if start >= end:
        raise Untranslatable("an empty range")
    first, last = (exp.cast(exp.Literal.number(n), "bigint") for n in (start, end - 1))
    return exp.func("sequence", first, last, dialect="spark")
