"""The rows that lists of keys name: looked up once for a transaction, by one action for each table.

    near(T) = σ_key∈K(T)        K: all keys in the transaction's lists for T

What is deleted and updated by key, and whether a key would occur twice, is about these rows alone. With them
and the lists the driver has all inputs of such plans (`planning/physical/place.py`), and writes their result.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from viewkeeper.algebra.build import matching
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import conjunction
from viewkeeper.algebra.relations import Distinct, Filter, Reference, Relation
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.engine.local.run import keys_of
from viewkeeper.engine.rows import Held
from viewkeeper.planning.physical.agreement import agrees_with_spark
from viewkeeper.planning.physical.in_lists import is_among
from viewkeeper.planning.physical.keys import Keys
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import counted
from viewkeeper.spark.read import Reader
from viewkeeper.storage.footers import Among, json_range
from viewkeeper.storage.relation import RelationState


def rows_of_few_keys(
    engine: SparkEngine, state: RelationState, schema: TableSchema, lists: Iterable[pa.Table]
) -> Held | None:
    """A table's signed rows that have one of the keys in some lists. None where these are many or cannot be
    written down, or where the driver does not tell rows apart as Spark does."""
    types = {column.name: column.type for column in schema.columns}
    if not agrees_with_spark(Distinct(Reference("state", schema.names)), lambda leaf: types):
        return None
    columns = tuple(schema.column(name) for name in schema.key)
    keys = Held(pa.concat_tables([rows.select(list(schema.key)) for rows in lists]), columns)
    known = {name: one for name in schema.key if (one := keys_of(keys, name, engine.limits)) is not None}
    if len(known) < len(schema.key):
        return None
    source = Reader(engine).bag(state, {name: _among(one) for name, one in known.items()})
    among = conjunction(is_among(name, one) for name, one in known.items())
    named: Relation = Filter(Reference("state", schema.names, source.counted), among)
    if len(known) > 1:
        named = matching(named, Reference("keys", schema.key))
    found = engine.fetched(engine.plan(weighted(named), {"state": source.frame, "keys": keys}))
    return Held(found, counted(schema.columns))


def _among(keys: Keys) -> Among:
    """Keys as the ranges of files have them; texts too long for these tell no files apart."""
    found = [json_range(value, value) for value in keys.values]
    return Among(() if None in found else tuple(pair[0] for pair in found if pair is not None))
