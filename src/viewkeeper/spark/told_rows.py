"""Rows of states and of changes as Arrow tables, told by Spark: where they cannot be told without it."""

from __future__ import annotations

import pyarrow as pa

from viewkeeper.algebra.schema import COUNT
from viewkeeper.spark.feed import signed_changes
from viewkeeper.spark.read import Reader
from viewkeeper.storage.relation import RelationState


def rows_told(reader: Reader, state: RelationState) -> pa.Table:
    """The rows of a state, with all stored columns."""
    return reader.rows(state).frame.select(*state.names).toArrow()


def signed_told(reader: Reader, old: RelationState, new: RelationState) -> pa.Table:
    """The rows that came and went between two states, with counts."""
    return signed_changes(reader, old, new).frame.select(*new.names, COUNT).toArrow()
