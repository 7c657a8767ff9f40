"""Random expressions over the columns in scope, by family of types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from fuzz.query import Expr, Item, Named, Query, Select
from fuzz.values import BY_TYPE, KINDS, family_of

NUMBERS = ("integer", "decimal", "float")
COMPARABLE = ("integer", "decimal", "float", "string", "collated", "binary", "date", "timestamp", "timestamp_ntz", "time", "months", "seconds", "boolean", "array", "struct")  # fmt: skip


@dataclass(frozen=True)
class Ref:
    """A column in scope, as it is written there."""

    text: str
    family: str
    type: str = ""

    @property
    def expr(self) -> Expr:
        return Expr(self.text, (), self.family)


Scope = Sequence[Ref]

NESTED = ("array", "struct", "map")
"""Families whose types do not go together: an array of numbers is not one of strings."""

UNARY = {
    "integer": (("-{0}", "integer"), ("abs({0})", "integer"), ("{0} % 3", "integer"), ("CAST({0} AS BIGINT)", "integer"), ("{0} + 1", "integer"), ("CAST({0} AS DECIMAL(20,2))", "decimal"), ("CAST({0} AS STRING)", "string"), ("CAST({0} AS DOUBLE)", "float"), ("{0} / 4", "float")),
    "decimal": (("-{0}", "decimal"), ("round({0}, 1)", "decimal"), ("{0} + 1", "decimal"), ("{0} / 3", "decimal"), ("CAST({0} AS DOUBLE)", "float"), ("{0} * 0.5", "decimal"), ("floor({0})", "decimal")),
    "float": (("-{0}", "float"), ("{0} / 2", "float"), ("abs({0})", "float"), ("isnan({0})", "boolean"), ("nanvl({0}, 0)", "float")),
    "string": (("upper({0})", "string"), ("length({0})", "integer"), ("trim({0})", "string"), ("concat({0}, '-')", "string"), ("substr({0}, 1, 1)", "string"), ("{0} || r'\\d'", "string"), ("md5({0})", "string")),
    "collated": (("upper({0})", "collated"), ("length({0})", "integer"), ("concat({0}, 'x')", "collated")),
    "binary": (("hex({0})", "string"), ("length({0})", "integer")),
    "date": (("date_add({0}, 1)", "date"), ("year({0})", "integer"), ("trunc({0}, 'MM')", "date"), ("CAST({0} AS TIMESTAMP)", "timestamp"), ("CAST({0} AS STRING)", "string")),
    "timestamp": (("date_trunc('DAY', {0})", "timestamp"), ("hour({0})", "integer"), ("CAST({0} AS DATE)", "date"), ("{0} + INTERVAL '1' HOUR", "timestamp"), ("CAST({0} AS STRING)", "string"), ("CAST({0} AS TIMESTAMP_NTZ)", "timestamp_ntz")),
    "timestamp_ntz": (("hour({0})", "integer"), ("CAST({0} AS DATE)", "date"), ("{0} + INTERVAL '1' DAY", "timestamp_ntz")),
    "time": (("hour({0})", "integer"), ("minute({0})", "integer")),
    "months": (("-{0}", "months"), ("{0} * 2", "months")),
    "seconds": (("-{0}", "seconds"), ("{0} * 2", "seconds")),
    "boolean": (("NOT {0}", "boolean"), ("CAST({0} AS INT)", "integer")),
    "array": (("size({0})", "integer"), ("array_distinct({0})", "array"), ("reverse({0})", "array")),
    "struct": (("{0}.p", "integer"), ("{0}.q", "string")),
    "map": (("{0}['a']", "integer"), ("size({0})", "integer"), ("array_sort(map_keys({0}))", "array")),
    "variant": (("CAST({0} AS STRING)", "string"), ("variant_get({0}, '$.a', 'int')", "integer")),
}  # fmt: skip

BINARY = {
    "integer": ("{0} + {1}", "{0} - {1}", "{0} * {1}", "greatest({0}, {1})", "try_divide({0}, {1})"),
    "decimal": ("{0} + {1}", "{0} - {1}", "{0} * {1}", "least({0}, {1})", "try_divide({0}, {1})"),
    "float": ("{0} + {1}", "{0} - {1}", "{0} * {1}", "greatest({0}, {1})"),
    "string": ("concat({0}, {1})", "coalesce({0}, {1})"),
    "date": ("greatest({0}, {1})",),
}

ANYWHERE = (
    "coalesce({0}, {1})", "CASE WHEN {2} THEN {0} ELSE {1} END", "CASE WHEN {2} THEN {0} END",
    "nullif({0}, {1})", "if({2}, {0}, {1})",
)  # fmt: skip


def constant(rng: Random, ref: Ref) -> Expr:
    """A value of the type of a column, or of its family."""
    kinds = [BY_TYPE[ref.type]] if ref.type in BY_TYPE else [k for k in KINDS if k.family == ref.family]
    kinds = kinds[:1] if ref.family in NESTED else kinds
    if not kinds:
        return Expr("NULL", (), ref.family)
    kind = rng.choice(kinds)
    text = rng.choice(kind.plain)
    return Expr(
        f"CAST({text} AS {kind.type})" if ref.family in ("struct", "collated") else text, (), ref.family
    )


def column(rng: Random, scope: Scope, families: Sequence[str] = ()) -> Ref | None:
    fitting = [ref for ref in scope if not families or ref.family in families]
    return rng.choice(fitting) if fitting else None


def value(rng: Random, scope: Scope, depth: int, families: Sequence[str] = ()) -> Expr:
    """An expression of one of the families; of any where none is asked for, or can be had."""
    ref = column(rng, scope, families) or rng.choice(list(scope))
    if depth > 0 and rng.random() < 0.05 and (not families or "boolean" in families):
        return Expr("({0})", (predicate(rng, scope, 0),), "boolean")
    if depth <= 0 or rng.random() < 0.5:
        return ref.expr
    roll = rng.random()
    if roll < 0.35:
        return _unary(rng, scope, ref, families)
    if roll < 0.7 and ref.family in BINARY:
        other = column(rng, scope, (ref.family,))
        right = (
            constant(rng, ref)
            if other is None or rng.random() < 0.4
            else value(rng, scope, depth - 1, (ref.family,))
        )
        return Expr(f"({rng.choice(BINARY[ref.family])})", (ref.expr, right), ref.family)
    form = rng.choice(ANYWHERE)
    right = constant(rng, ref) if rng.random() < 0.5 else value(rng, scope, depth - 1, (ref.family,))
    args: tuple[Expr, ...] = (ref.expr, right)
    return Expr(f"({form})", (*args, predicate(rng, scope, 0)) if "{2}" in form else args, ref.family)


def bare(rng: Random, expr: Expr) -> Expr:
    """An expression that stands alone: now and then without the parentheses around it."""
    inner = expr.text[1:-1]
    alone = expr.text == f"({inner})" and "(" not in inner
    return replace(expr, text=inner) if alone and rng.random() < 0.5 else expr


def _unary(rng: Random, scope: Scope, ref: Ref, families: Sequence[str]) -> Expr:
    forms = [form for form in UNARY.get(ref.family, ()) if not families or form[1] in families]
    if not forms:
        return ref.expr
    text, family = rng.choice(forms)
    return Expr(f"({text})" if " " in text and not text.endswith(")") else text, (ref.expr,), family)


def predicate(rng: Random, scope: Scope, depth: int = 1) -> Expr:
    """A condition on rows: comparisons, tests for NULL, lists, and what is made of them."""
    ref = column(rng, scope, COMPARABLE)
    if ref is None or rng.random() < 0.12:
        ref = ref or rng.choice(list(scope))
        return Expr(rng.choice(("{0} IS NULL", "{0} IS NOT NULL")), (ref.expr,), "boolean")
    roll = rng.random()
    if depth and roll < 0.25:
        form = rng.choice(("({0} AND {1})", "({0} OR {1})", "({0} OR {1})"))
        return Expr(form, (predicate(rng, scope, 0), predicate(rng, scope, depth - 1)), "boolean")
    if depth and roll < 0.32:
        return Expr("NOT ({0})", (predicate(rng, scope, depth - 1),), "boolean")
    if roll < 0.45:
        form = rng.choice(("{0} IN ({1}, {2})", "{0} NOT IN ({1}, {2})", "{0} BETWEEN {1} AND {2}"))
        return Expr(form, (ref.expr, constant(rng, ref), constant(rng, ref)), "boolean")
    if ref.family == "string" and roll < 0.52:
        return Expr(
            rng.choice(("{0} LIKE 'a%'", "{0} RLIKE r'^[a-c]$'", "{0} LIKE '%b'")), (ref.expr,), "boolean"
        )
    operator = rng.choice(("=", "=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM"))
    left = value(rng, scope, depth, (ref.family,))
    right = constant(rng, ref) if rng.random() < 0.6 else value(rng, scope, depth, (ref.family,))
    return Expr(f"{{0}} {operator} {{1}}", (left, right), "boolean")


def equality(rng: Random, left: Scope, right: Scope) -> Expr:
    """A condition of a join: mostly an equality of columns of one family, or of two kinds of numbers."""
    pairs = [(a, b) for a in left for b in right if a.family == b.family and a.family in COMPARABLE]
    pairs = [pair for pair in pairs for _ in range(4 if pair[0].type == pair[1].type else 1)]
    if not pairs or rng.random() < 0.15:
        pairs = [(a, b) for a in left for b in right if a.family in NUMBERS and b.family in NUMBERS] or pairs
    if not pairs:
        return predicate(rng, [*left, *right], 0)
    a, b = rng.choice(pairs)
    operator = rng.choice(("=", "=", "=", "=", "<=>", "<", ">="))
    return Expr(f"{{0}} {operator} {{1}}", (a.expr, b.expr), "boolean")


__all__ = [
    "Item",
    "Named",
    "Query",
    "Ref",
    "Scope",
    "Select",
    "bare",
    "column",
    "constant",
    "equality",
    "family_of",
    "predicate",
    "value",
]
