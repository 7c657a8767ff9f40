"""What expressions without columns come to, as Spark evaluates them; no action."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.errors import InvalidSQL
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.failures import FAILURES
from viewkeeper.sql.render import render_expression

_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


@dataclass
class Constants:
    """Constants beside columns of a type; each is asked for once."""

    engine: SparkEngine
    _known: dict[tuple[str, str], tuple[Any, bool] | None] = field(default_factory=dict)

    def beside(self, expr: Scalar, kind: str) -> tuple[Any, bool] | None:
        """A constant as a day or a whole number, and whether it is just that; None where it is neither."""
        text = render_expression(expr)
        if (text, kind) not in self._known:
            self._known[text, kind] = self._asked(text, kind)
        return self._known[text, kind]

    def _asked(self, text: str, kind: str) -> tuple[Any, bool] | None:
        is_date = kind == "date"
        try:
            cast = f"CAST(CAST({text} AS DATE) AS STRING)" if is_date else f"CAST({text} AS BIGINT)"
            [row] = self.engine.text(f"SELECT typeof({text}), {cast}", {}).collect()
        except (InvalidSQL, *FAILURES):
            return None
        own, value = row
        may_be = own in ("date", "timestamp", "timestamp_ntz") if is_date else own in _WHOLE
        return (value, own == "date" or own in _WHOLE) if may_be and value is not None else None
