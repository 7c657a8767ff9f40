"""What a user may hand in as rows, turned into a DataFrame that fits a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column
from viewkeeper.catalog.names import shown_columns
from viewkeeper.engine.rows import Held
from viewkeeper.errors import InvalidChange, MissingFile, WrongType
from viewkeeper.spark.arrow import arrow_table
from viewkeeper.spark.char_types import fitted_text, fitted_value
from viewkeeper.spark.failures import translated
from viewkeeper.spark.frames import columns_of, ddl, empty_frame, quoted
from viewkeeper.spark.session import settings

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz")


def to_frame(spark: SparkSession, data: Any, columns: Sequence[Column] | None = None) -> DataFrame:
    """A DataFrame of a DataFrame, Arrow table, pandas frame, list of rows or dicts, or file path."""
    if _is_frame(data):
        return data  # type: ignore[no-any-return]
    with settings(spark):
        try:
            if isinstance(data, (str, Path)):
                return _from_path(spark, str(data))
            if isinstance(data, pa.Table):
                return spark.createDataFrame(data.combine_chunks())
            if type(data).__module__.startswith("pandas"):
                return spark.createDataFrame(data)
            if isinstance(data, Iterable):
                return _from_rows(spark, list(data), None if columns is None else shown_columns(columns))
        except PySparkException as error:
            raise translated(error) from error
    raise InvalidChange(
        f"Rows cannot be read from a {type(data).__name__}.",
        hint="Give a DataFrame, an Arrow table, a pandas frame, or a list of tuples or dicts.",
    )


def _is_frame(data: Any) -> bool:
    """Classic and Connect DataFrames have different classes and one surface."""
    return hasattr(data, "sparkSession") and hasattr(data, "schema")


def _from_path(spark: SparkSession, path: str) -> DataFrame:
    if "://" not in path and not Path(path).exists():
        raise MissingFile(f"There is no file {path}.", hint="Give the path of a CSV or Parquet file.")
    if path.lower().endswith((".csv", ".csv.gz")):
        return spark.read.option("header", True).option("inferSchema", True).csv(path)
    return spark.read.parquet(path)


def _from_rows(spark: SparkSession, rows: list[Any], columns: Sequence[Column] | None) -> DataFrame:
    if columns is None and rows and isinstance(rows[0], Mapping):
        return spark.createDataFrame(pa.Table.from_pylist(rows))
    if columns is None:
        return spark.createDataFrame(rows)
    given, typed = _typed_rows(rows, columns)
    if not typed:
        return empty_frame(spark, given)
    table = _as_arrow(spark, typed, given)
    return spark.createDataFrame(typed, ddl(given)) if table is None else spark.createDataFrame(table)


def listed_rows(
    spark: SparkSession, rows: list[Any], columns: Sequence[Column], table: str, padded: bool = False
) -> Held | None:
    """Rows given as a list, with the columns of a table that they are given with; None where only Spark knows
    a column's type. `padded`: with all columns, NULL where a row has none."""
    own = {shown(column.name): column for column in columns}
    given, typed = _typed_rows(rows, shown_columns(columns))
    if padded:
        places = {column.name: place for place, column in enumerate(given)}
        typed = [tuple(row[places[n]] if n in places else None for n in own) for row in typed]
    wanted = tuple(own.values()) if padded else tuple(own[column.name] for column in given)
    fit = [tuple(_fitted_text(v, c, table) for v, c in zip(row, wanted, strict=True)) for row in typed]
    arrow = _as_arrow(spark, fit, wanted)
    return None if arrow is None else Held(arrow, wanted)


def has_one_zero(rows: pa.Table) -> bool:
    """Whether no row can equal another one than itself: 0.0 equals −0.0."""
    floats = (values for values in rows.columns if pa.types.is_floating(values.type))
    return not any(pc.any(pc.equal(values, 0)).as_py() for values in floats)


def _fitted_text(value: Any, column: Column, table: str) -> Any:
    return fitted_text(value, column, table) if column.declared and column.type == "string" else value


def _typed_rows(rows: list[Any], columns: Sequence[Column]) -> tuple[Sequence[Column], list[tuple[Any, ...]]]:
    if rows and isinstance(rows[0], Mapping):
        columns, rows = _from_dicts(rows, columns)
    return columns, [_typed_row(row, columns) for row in rows]


def _as_arrow(
    spark: SparkSession, rows: Sequence[tuple[Any, ...]], columns: Sequence[Column]
) -> pa.Table | None:
    try:
        return arrow_table(rows, columns, spark.conf.get("spark.sql.session.timeZone") or "UTC")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        names = ", ".join(f"{c.name} {c.type}" for c in columns)
        raise WrongType("A value does not fit its column.", f"{error}\nColumns: {names}.") from error


def _from_dicts(
    rows: list[Mapping[str, Any]], columns: Sequence[Column]
) -> tuple[Sequence[Column], list[tuple[Any, ...]]]:
    """Rows by column name; the columns are those that the first row has."""
    known = {column.name.lower(): column for column in columns}
    names = list(rows[0])
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise WrongType(
            f"Unknown columns: {', '.join(unknown)}.",
            f"The table has {', '.join(c.name for c in columns)}.",
            columns=unknown,
        )
    for row in rows:
        if set(row) != set(names):
            raise WrongType("Rows have different columns.", f"{list(row)} and {names}", rows=[row])
    chosen = [known[name.lower()] for name in names]
    return chosen, [tuple(row[name] for name in names) for row in rows]


def _typed_row(row: Any, columns: Sequence[Column]) -> tuple[Any, ...]:
    values = tuple(row) if isinstance(row, (tuple, list)) else (row,)
    if len(values) != len(columns):
        raise WrongType(
            f"A row has {len(values)} values, the table {len(columns)} columns.",
            f"Columns: {', '.join(c.name for c in columns)}.",
            rows=[row],
        )
    return tuple(_typed(value, column, row) for value, column in zip(values, columns, strict=True))


def _typed(value: Any, column: Column, row: Any) -> Any:
    """A Python value as Spark wants it for this type; text is read as numbers, dates and times."""
    convert = _converter(column.type)
    if value is None or convert is None:
        return value
    try:
        return convert(value)
    except (ValueError, TypeError, InvalidOperation, OverflowError) as error:
        raise WrongType(
            f"{value!r} is no {column.type} for the column {column.name}.",
            hint="Give a value of the column's type.",
            columns=[column.name],
            rows=[row],
        ) from error


def _converter(kind: str) -> Callable[[Any], Any] | None:
    if kind.startswith("decimal"):
        return _decimal
    return {
        "date": _date,
        "timestamp": _timestamp,
        "timestamp_ntz": _timestamp,
        "double": _float,
        "float": _float,
        "tinyint": _integer(8),
        "smallint": _integer(16),
        "int": _integer(32),
        "bigint": _integer(64),
        "string": _string,
        "boolean": _boolean,
    }.get(kind)


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise TypeError
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _date(value: Any) -> date:
    if isinstance(value, datetime):
        raise TypeError
    return value if isinstance(value, date) else date.fromisoformat(value)


def _timestamp(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _float(value: Any) -> float:
    if isinstance(value, (bool, str)) and str(value).lower() not in (
        "nan",
        "inf",
        "-inf",
        "infinity",
        "-infinity",
    ):
        raise TypeError
    return float(value)


def _integer(bits: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError
        number = int(value)
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise OverflowError
        return number

    return convert


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool) and type(value).__name__ != "bool_":
        raise TypeError
    return bool(value)


def fitted(frame: DataFrame, columns: Sequence[Column], table: str) -> DataFrame:
    """A user's frame with exactly these columns in order, by name, cast where the types agree in kind."""
    own = {column.name.lower(): column for column in columns_of(frame)}
    unknown = [name for name in own if name not in {shown(c.name).lower() for c in columns}]
    if unknown:
        raise WrongType(
            f"{table} has no column {', '.join(unknown)}.",
            f"It has {', '.join(c.name for c in columns)}.",
            table=table,
            columns=unknown,
        )
    return frame.select(*[_fitted_column(own.get(shown(c.name).lower()), c, table) for c in columns])


def _fitted_column(given: Column | None, wanted: Column, table: str) -> Any:
    if given is None:
        return F.lit(None).cast(wanted.type).alias(wanted.name)
    if not _agree(given.type, wanted.type):
        raise WrongType(
            f"The column {wanted.name} of {table} is {wanted.type}, the rows have {given.type}.",
            hint="Cast the column before handing it in.",
            table=table,
            columns=[wanted.name],
        )
    value = F.col(quoted(given.name))
    value = value if given.type == wanted.type else value.cast(wanted.type)
    return (fitted_value(value, wanted, table) if wanted.declared else value).alias(wanted.name)


def _agree(given: str, wanted: str) -> bool:
    """Whether an ANSI cast between the types either keeps the value or fails."""
    if given == wanted or given == "void":
        return True
    if _kind(given) in _NUMBERS and _kind(wanted) in _NUMBERS:
        return True
    if given in _TIMES and wanted in _TIMES:
        return given == "date" or wanted != "date"
    if given.startswith(("array", "map", "struct")):
        return _kind(given) == _kind(wanted)
    return {given.split("(")[0], wanted.split("(")[0]} <= {"string", "varchar", "char"}


def _kind(text: str) -> str:
    return text.split("(")[0].split("<")[0]


__all__ = ["fitted", "has_one_zero", "listed_rows", "to_frame"]
