"""The change feed of a relation between two versions as a DataFrame (`storage/feed.py` says of what form)."""

from __future__ import annotations

from viewkeeper.algebra.build import minus
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.relations import Form, Reference
from viewkeeper.spark.read import Reader, Source
from viewkeeper.spark.session import DataFrame
from viewkeeper.storage.feed import CHANGE, feed_columns, feed_of, logged
from viewkeeper.storage.relation import RelationState


def change_feed(reader: Reader, old: RelationState, new: RelationState) -> DataFrame:
    """What became of `old`, one row per changed row; by key where there is one."""
    source = signed_changes(reader, old, new)
    return reader.engine.plan(feed_of(new), {"changes": source.frame}).toDF(*feed_columns(new))


def signed_changes(reader: Reader, old: RelationState, new: RelationState) -> Source:
    """From the log where it is complete; else by comparing the two states. Of what a version that is only
    kept for another relation's sake would need, `vacuum` may have left none."""
    layers = logged(old, new)
    if layers is not None and reader.are_there(new, [f for layer in layers for f in layer.files]):
        return reader.changes(old, new, layers)
    before, after = reader.rows(old), reader.rows(new)
    plan = minus(Reference("after", new.names), Reference("before", new.names))
    frame = reader.engine.plan(weighted(plan), {"before": before.frame, "after": after.frame})
    return Source(frame, before.rows + after.rows, Form.CHANGES)


__all__ = ["CHANGE", "change_feed", "signed_changes"]
