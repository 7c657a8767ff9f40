"""Changes in Debezium's envelopes: JSON with a row before and after, what happened, and where in the source.

    {"op": "u", "before": {…}, "after": {…}, "source": {"lsn": 17, …}, "ts_ms": …}

with or without `{"schema": …, "payload": …}` around it, in a column `value` as Kafka has it. A NULL there is
the tombstone that follows a deletion, for Kafka's own compaction, and tells nothing. What cannot be read is
told by `__wrong`, and is an error: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.merge.change_order import DELETED, order_columns
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.errors import InvalidOption, UnknownColumn
from viewkeeper.spark.frames import quoted
from viewkeeper.spark.inputs import fitted

WRONG = "__wrong"
"""Why a change cannot be read; NULL where it can."""

SOURCE = {
    "ts_ms": "bigint",
    "ts_us": "bigint",
    "ts_ns": "bigint",
    "lsn": "bigint",
    "txId": "bigint",
    "file": "string",
    "pos": "bigint",
    "row": "bigint",
    "scn": "decimal(38,0)",
    "commit_lsn": "string",
    "change_lsn": "string",
    "event_serial_no": "bigint",
}
"""The positions that connectors give; those that are texts sort as they are, as their makers say."""

_FIELDS = {"op": "string", "before": "string", "after": "string", "ts_ms": "bigint"}
_UNAVAILABLE = "__debezium_unavailable_value"
_CORRUPT = "__corrupt"
_TEXTS = ("date", "timestamp", "timestamp_ntz")
_NUMBER = r"^-?[0-9]+$"


def changes(frame: DataFrame, schema: TableSchema, order: Sequence[str]) -> DataFrame:
    """The changes with all columns of the table, their order, whether they delete, and what is wrong."""
    if "value" not in frame.columns:
        raise UnknownColumn(
            f"The changes of {schema.name} lack the column value, which holds Debezium's envelopes.",
            f"They have {', '.join(frame.columns)}.",
            table=schema.name,
            columns=["value"],
        )
    ranks = [_rank(name) for name in order]
    told = frame.where("value IS NOT NULL").select(
        F.col("value").cast("string").alias("text"),
        (F.col("key").cast("string") if "key" in frame.columns else F.lit(None).cast("string")).alias("key"),
    )
    read = told.withColumn("told", F.from_json("text", _envelope())).select(
        "text",
        *(F.coalesce(f"told.payload.{name}", f"told.{name}").alias(name) for name in (*_FIELDS, "source")),
        _key_of().alias("of_key"),
    )
    read = read.where("op IS NULL OR op <> 'm'")
    image = F.when(F.col("op") == "d", F.coalesce("before", "of_key")).otherwise(F.col("after"))
    parsed = read.withColumn("image", image).withColumn(
        "row", F.from_json("image", _row(schema), {"columnNameOfCorruptRecord": _CORRUPT})
    )
    hidden = order_columns(len(order))
    wanted = [
        *schema.columns,
        *(Column(inner, kind) for inner, (_, kind) in zip(hidden, ranks, strict=True)),
        Column(DELETED, "boolean"),
        Column(WRONG, "string"),
    ]
    chosen = parsed.select(
        *(_value(column).alias(shown(column.name)) for column in schema.columns),
        *(F.col(path).alias(inner) for inner, (path, _) in zip(hidden, ranks, strict=True)),
        (F.col("op") == "d").alias(DELETED),
        _wrong(schema).alias(WRONG),
    )
    return fitted(chosen, wanted, schema.name)


def _rank(name: str) -> tuple[str, str]:
    """Where in the envelope an order is, and its type."""
    if name == "ts_ms":
        return name, "bigint"
    field = name.removeprefix("source.")
    if field == name or field not in SOURCE:
        raise InvalidOption(
            f"Debezium's changes cannot be ordered by {name}.",
            f"Known: ts_ms, {', '.join(f'source.{known}' for known in SOURCE)}.",
            "Take the position that the connector gives, such as source.lsn, or source.file and source.pos.",
        )
    return name, SOURCE[field]


def _envelope() -> str:
    source = ", ".join(f"{name}: {kind}" for name, kind in SOURCE.items())
    fields = ", ".join(f"{name}: {kind}" for name, kind in _FIELDS.items())
    inner = f"{fields}, source: STRUCT<{source}>"
    return f"STRUCT<{inner}, payload: STRUCT<{inner}>>"


def _key_of() -> Expression:
    """The key of the message, as the text of an object: a deletion may have no row before."""
    wrapped = F.get_json_object("key", "$.payload")
    return F.coalesce(wrapped, F.col("key"))


def _row(schema: TableSchema) -> str:
    fields = ", ".join(f"{quoted(shown(c.name))} {_read_as(c)}" for c in schema.columns)
    return f"{fields}, {_CORRUPT} STRING"


def _read_as(column: Column) -> str:
    """Times are read as texts: Spark would take their numbers for seconds, which Debezium's never are."""
    return "string" if column.type in _TEXTS else column.type


def _value(column: Column) -> Expression:
    value = F.col(f"row.{quoted(shown(column.name))}")
    if column.type not in _TEXTS:
        return value
    text = value.try_cast(column.type)
    if column.type != "date":
        return F.when(value.rlike(_NUMBER), F.lit(None)).otherwise(text).cast(column.type)
    days = F.date_from_unix_date(value.try_cast("int"))
    return F.when(value.rlike(_NUMBER), days).otherwise(text)


def _wrong(schema: TableSchema) -> Expression:
    """The first reason why a change cannot be read, with its text."""
    times = [F.col(f"row.{quoted(shown(c.name))}").isNotNull() & _value(c).isNull() for c in _times(schema)]
    reasons = [
        (F.col("op").isNull(), "no envelope with an op"),
        (F.col("op") == "t", "the source was truncated: load the table anew"),
        (~F.col("op").isin("c", "r", "u", "d"), "an unknown op"),
        (F.col("image").isNull(), "no row"),
        (F.col("image").contains(_UNAVAILABLE), "a value that the source did not send"),
        ((F.col("op") != "d") & _lacks_columns(schema), "no value for some column of the table"),
        (F.col("row").isNull() | F.col(f"row.{_CORRUPT}").isNotNull(), "a value that does not fit"),
        *((is_wrong, "a time that is a number, or no time") for is_wrong in times),
    ]
    told = F.lit(None).cast("string")
    for is_wrong, reason in reversed(reasons):
        told = F.when(is_wrong, F.concat(F.lit(f"{reason}: "), F.substring("text", 1, 500))).otherwise(told)
    return told


def _lacks_columns(schema: TableSchema) -> Expression:
    """Debezium tells all columns, NULLs too: what is not there has another name, or is not the source's."""
    wanted = F.array(*(F.lit(shown(column.name)) for column in schema.columns))
    return F.size(F.array_except(wanted, F.json_object_keys("image"))) > 0


def _times(schema: TableSchema) -> list[Column]:
    return [column for column in schema.columns if column.type in _TEXTS]
