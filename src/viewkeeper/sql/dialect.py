"""The dialect that users' text is read in: Spark's, with functions kept by name that sqlglot would change.

sqlglot reads `log10(x)` as LOG(10, x), which differs in the last digit, and `to_char(x, f)` so that its
format is lost; of `percentile(x, p, n)` it loses how often each value counts. A call that is read under its
own name is written as it was. It also takes the two quotes of `'it''s'` for the end of a text and the start
of another, where Spark reads one quote.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.parsers.spark import SparkParser

_BY_NAME = frozenset(
    """LOG10 TO_CHAR TO_VARCHAR TO_TIMESTAMP TO_UNIX_TIMESTAMP UNIX_DATE TO_UTC_TIMESTAMP FROM_UTC_TIMESTAMP
    TIMESTAMP SPACE PARSE_JSON VARIANT_GET TRY_VARIANT_GET TRY_PARSE_JSON""".split()
)


def _percentile(arguments: list[exp.Expr]) -> exp.Expr:
    if len(arguments) == 2:
        return exp.Quantile(this=arguments[0], quantile=arguments[1])
    return exp.Anonymous(this="percentile", expressions=arguments)


class _SparkParser(SparkParser):
    FUNCTIONS: ClassVar = {
        **{name: build for name, build in SparkParser.FUNCTIONS.items() if name not in _BY_NAME},
        "PERCENTILE": _percentile,
    }
    FUNCTION_PARSERS: ClassVar = {n: p for n, p in SparkParser.FUNCTION_PARSERS.items() if n != "PERCENTILE"}


class ViewkeeperSpark(Spark):  # type: ignore[misc]
    """Spark SQL as users write it."""

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        STRING_ESCAPES: ClassVar = [*Spark.Tokenizer.STRING_ESCAPES, *Spark.Tokenizer.QUOTES]

    Parser = _SparkParser
