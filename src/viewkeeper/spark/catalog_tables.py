"""Tables of the session's catalog: which format they have, and where they are."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from viewkeeper.errors import NotFound, Unsupported
from viewkeeper.spark.failures import FAILURES

_DETAILS = "# Detailed Table Information"


def located(spark: SparkSession, name: str) -> tuple[str, str]:
    """The format and the address of a table, as its catalog tells them; it is followed there."""
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except FAILURES as error:
        raise NotFound(
            f"The session's catalog has no table {name}.",
            str(error).strip().splitlines()[0],
            "Name it as in a query: catalog.schema.table.",
            table=name,
        ) from error
    return place_told(name, [(row["col_name"], row["data_type"]) for row in rows])


def place_told(name: str, told: list[tuple[str, str]]) -> tuple[str, str]:
    """The same from what DESCRIBE tells; before the details it tells columns, which may have any name."""
    names = [title for title, _ in told]
    details = dict(told[names.index(_DETAILS) :]) if _DETAILS in names else {}
    if "Location" not in details or "Provider" not in details:
        raise Unsupported(
            f"{name} cannot be followed by its name.",
            "Its catalog tells neither its format nor its place, as those of files have them.",
            "Follow the files that it has, with their format and address.",
        )
    return details["Provider"].lower(), _address(details["Location"])


def _address(location: str) -> str:
    parts = urlsplit(location)
    if parts.scheme == "file":
        return unquote(parts.path)
    return location.replace("s3a://", "s3://", 1)
