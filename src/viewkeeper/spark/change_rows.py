"""Rows that tell of changes, as users have them, in one form: columns of the table, order, and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sqlglot import exp, parse_one

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.merge.change_order import DELETED, order_columns
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.errors import InvalidOption, UnknownColumn, WrongType
from viewkeeper.spark import debezium
from viewkeeper.spark.failures import FAILURES, translated
from viewkeeper.spark.frames import columns_of, quoted
from viewkeeper.spark.inputs import fitted

DEBEZIUM = "debezium"
ENVELOPES = (DEBEZIUM,)


@dataclass(frozen=True)
class Reading:
    """How rows tell of changes: by which columns they are ordered, which are deletions, what wraps them.

    `retention`: for how many seconds the memory keeps a deletion; None: for ever.
    """

    order: tuple[str, ...] = ()
    delete: str | None = None
    envelope: str | None = None
    retention: int | None = None

    def __post_init__(self) -> None:
        if self.envelope is not None and self.envelope not in ENVELOPES:
            raise InvalidOption(
                f"envelope cannot be {self.envelope!r}.", f"It is one of {', '.join(ENVELOPES)}, or None."
            )
        if self.envelope is not None and self.delete is not None:
            what = (
                f"delete cannot be given: the envelope of {self.envelope} says which changes are deletions."
            )
            raise InvalidOption(what, hint="Leave it out.")

    def is_held_by(self, schema: TableSchema) -> bool:
        """Whether the rows of a table tell the order of the change that wrote them."""
        known = {shown(name).lower() for name in schema.names}
        return self.envelope is None and all(name.lower() in known for name in self.order)

    def rows(self, frame: DataFrame, schema: TableSchema) -> DataFrame:
        """The changes with the columns of the table that they give, `__order_…`, `__deleted`, and `__wrong`
        where some may be malformed."""
        try:
            if self.envelope == DEBEZIUM:
                return debezium.changes(frame, schema, self.order)
            return _plain(frame, schema, self.order, self.delete)
        except FAILURES as error:
            raise translated(error) from error


def _plain(frame: DataFrame, schema: TableSchema, order: Sequence[str], delete: str | None) -> DataFrame:
    given = {column.name.lower(): column for column in columns_of(frame)}
    _must_have(given, [shown(name) for name in schema.key], schema, "key")
    _must_have(given, order, schema, "order")
    known = {shown(column.name).lower(): column for column in schema.columns}
    asked = {name.lower() for name in order} | _columns_in(delete)
    if extra := [column.name for name, column in given.items() if name not in known and name not in asked]:
        raise WrongType(
            f"{schema.name} has no column {', '.join(extra)}.",
            f"It has {', '.join(map(shown, schema.names))}; others serve `order` or `delete`.",
            "Drop the column from the changes.",
            table=schema.name,
            columns=extra,
        )
    own = [column for name, column in known.items() if name in given]
    ranks = [known.get(name.lower(), given[name.lower()]) for name in order]
    hidden = order_columns(len(order))
    wanted = [
        *own,
        *(Column(name, rank.type) for name, rank in zip(hidden, ranks, strict=True)),
        Column(DELETED, "boolean"),
    ]
    is_deletion = F.lit(False) if delete is None else F.coalesce(F.expr(delete), F.lit(False))
    chosen = frame.select(
        *(F.col(quoted(given[shown(column.name).lower()].name)) for column in own),
        *(F.col(quoted(name)).alias(inner) for name, inner in zip(order, hidden, strict=True)),
        is_deletion.alias(DELETED),
    )
    return fitted(chosen, wanted, schema.name)


def _must_have(given: dict[str, Column], names: Sequence[str], schema: TableSchema, what: str) -> None:
    if missing := [name for name in names if name.lower() not in given]:
        raise UnknownColumn(
            f"The changes of {schema.name} lack {', '.join(missing)}, of their {what}.",
            f"They have {', '.join(column.name for column in given.values())}.",
            table=schema.name,
            columns=missing,
        )


def _columns_in(condition: str | None) -> set[str]:
    if condition is None:
        return set()
    tree = parse_one(condition, dialect="spark")
    return {column.name.lower() for column in tree.find_all(exp.Column)}
