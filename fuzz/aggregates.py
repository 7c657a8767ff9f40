"""Random aggregates and windows. Those whose answer depends on the order of rows are not among them."""

from __future__ import annotations

from random import Random

from fuzz.expressions import COMPARABLE, NUMBERS, Scope, bare, column, predicate, value
from fuzz.query import Expr

OF_NUMBERS = (
    "SUM", "SUM", "SUM", "AVG", "AVG", "STDDEV", "STDDEV_POP", "VAR_SAMP", "VAR_POP", "SKEWNESS", "KURTOSIS",
    "MEDIAN", "MEAN", "STD",
)  # fmt: skip
OF_PAIRS = (
    "COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_COUNT", "REGR_R2", "REGR_AVGX", "REGR_SXX",
    "REGR_INTERCEPT",
)  # fmt: skip
PERCENTILES = (
    "PERCENTILE({0}, 0.25)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {0})",
    "PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY {0} DESC)", "TRY_SUM({0})", "TRY_AVG({0})",
)  # fmt: skip
OF_INTEGERS = ("BIT_AND", "BIT_OR", "BIT_XOR")
OF_BOOLEANS = ("BOOL_AND", "BOOL_OR", "COUNT_IF", "EVERY", "SOME", "ANY")
OF_ANY = ("COUNT", "COUNT", "MIN", "MAX", "MIN", "MAX")
FLOATING = (
    "AVG",
    "MEAN",
    "STD",
    "VAR_",
    "SKEWNESS",
    "KURTOSIS",
    "COVAR",
    "CORR",
    "REGR",
    "SUM",
    "MEDIAN",
    "PERCENTILE",
)
"""Functions whose results may differ in the last digits by the order of rows."""


def random_aggregate(rng: Random, scope: Scope) -> Expr:
    """A call, some with DISTINCT, some with FILTER."""
    call = _call(rng, scope)
    if rng.random() < 0.12:
        return Expr("{0} FILTER (WHERE {1})", (call, predicate(rng, scope, 0)), call.family)
    return call


def _call(rng: Random, scope: Scope) -> Expr:
    roll = rng.random()
    distinct = "DISTINCT " if rng.random() < 0.15 else ""
    if roll < 0.15:
        return Expr("COUNT(*)", (), "integer")
    if roll < 0.18:
        form = rng.choice(("COUNT(DISTINCT {0}, {1})", "APPROX_COUNT_DISTINCT({0})", "COUNT(DISTINCT {0})"))
        return Expr(form, (value(rng, scope, 0, COMPARABLE), value(rng, scope, 0, COMPARABLE)), "integer")
    if roll < 0.2 and (text := column(rng, scope, ("string",))):
        return Expr("LISTAGG({0}, ',') WITHIN GROUP (ORDER BY {0})", (text.expr,), "string")
    if roll < 0.24 and column(rng, scope, NUMBERS):
        return Expr(rng.choice(PERCENTILES), (value(rng, scope, 0, NUMBERS),), "float")
    if roll < 0.6 and column(rng, scope, NUMBERS):
        function = rng.choice(OF_NUMBERS)
        arg = bare(rng, value(rng, scope, 1, NUMBERS))
        family = "integer" if function == "SUM" and arg.family == "integer" else "float"
        family = "decimal" if function in ("SUM", "AVG") and arg.family == "decimal" else family
        return Expr(f"{function}({distinct if function in ('SUM', 'AVG') else ''}{{0}})", (arg,), family)
    if roll < 0.66 and column(rng, scope, NUMBERS):
        pair = (value(rng, scope, 0, NUMBERS), value(rng, scope, 0, NUMBERS))
        return Expr(f"{rng.choice(OF_PAIRS)}({{0}}, {{1}})", pair, "float")
    if roll < 0.7 and (ref := column(rng, scope, ("integer",))):
        return Expr(f"{rng.choice(OF_INTEGERS)}({{0}})", (ref.expr,), "integer")
    if roll < 0.75:
        function = rng.choice(OF_BOOLEANS)
        family = "integer" if function == "COUNT_IF" else "boolean"
        return Expr(f"{function}({{0}})", (predicate(rng, scope, 0),), family)
    if roll < 0.8:
        arg = value(rng, scope, 0, COMPARABLE)
        return Expr("array_sort(COLLECT_SET({0}))", (arg,), "array")
    function = rng.choice(OF_ANY)
    arg = bare(rng, value(rng, scope, 1, COMPARABLE))
    family = "integer" if function == "COUNT" else arg.family
    return Expr(f"{function}({distinct}{{0}})", (arg,), family)


def random_window(rng: Random, scope: Scope) -> Expr:
    """A ranking or an aggregate over a window; orders name every column that can be compared."""
    refs = [ref for ref in scope if ref.family in COMPARABLE]
    if not refs:
        return Expr("COUNT(*) OVER ()", (), "integer")
    partition = rng.choice(refs).expr if rng.random() < 0.8 else None
    parts = "PARTITION BY {0}" if partition else ""
    order = rng.sample(refs, len(refs))
    by = ", ".join(ref.text + rng.choice(("", " DESC", " NULLS LAST")) for ref in order)
    args = (partition,) if partition else ()
    roll = rng.random()
    if roll < 0.35:
        function = rng.choice(("ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(2)"))
        few = ", ".join(ref.text for ref in order[:1])
        by = few if function in ("RANK()", "DENSE_RANK()") else by
        return Expr(f"{function} OVER ({parts} ORDER BY {by})", args, "integer")
    if roll < 0.5:
        shifted = rng.choice(order)
        function = rng.choice(("LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE"))
        return Expr(f"{function}({shifted.text}) OVER ({parts} ORDER BY {by})", args, shifted.family)
    numbers = [ref for ref in refs if ref.family in NUMBERS]
    function = rng.choice(("SUM", "AVG", "MIN", "MAX", "COUNT")) if numbers else rng.choice(("MIN", "COUNT"))
    over = rng.choice(numbers or refs)
    family = "integer" if function == "COUNT" else "float" if function == "AVG" else over.family
    frames = ("", f"ORDER BY {order[0].text}", f"ORDER BY {by} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING")
    return Expr(f"{function}({over.text}) OVER ({parts} {rng.choice(frames)})", args, family)
