"""The change feed of a relation between two versions: inserted, deleted and updated rows.

quass96 Figure 5 asks for ∇, μ and Δ with old and new values. Here they are the rows of one
DataFrame: `change` is `insert`, `delete` or `update`, and each column comes as `old_…` and `new_…`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from viewkeeper.algebra.build import minus, projected, restricted_to, union_all
from viewkeeper.algebra.counts import consolidated, weighted
from viewkeeper.algebra.expressions import Named, Scalar, column, literal, null_safe_match, same
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.relations import Expand, Filter, Form, Join, JoinKind, Project, Reference, Relation
from viewkeeper.algebra.schema import COUNT, is_hidden
from viewkeeper.spark.read import Reader, Source
from viewkeeper.spark.session import DataFrame
from viewkeeper.storage.relation import RelationState, layers_between

CHANGE = "change"


def change_feed(reader: Reader, old: RelationState, new: RelationState) -> DataFrame:
    """What became of `old`, one row per changed row; by key where there is one."""
    names = tuple(name for name in new.names if not is_hidden(name))
    source = signed_changes(reader, old, new)
    net = consolidated(weighted(restricted_to(Reference("changes", new.names, counted=True), names)))
    key = _visible_key(new, names)
    plan = _by_key(net, names, key) if key is not None else _by_copy(net, names)
    frame = reader.engine.plan(plan, {"changes": source.frame})
    return frame.toDF(CHANGE, *_pairs(tuple(map(shown, names))))


def signed_changes(reader: Reader, old: RelationState, new: RelationState) -> Source:
    """From the log where it is complete; else by comparing the two states. Of what a version that is only
    kept for another relation's sake would need, `vacuum` may have left none."""
    if old.folder == new.folder and new.complete_since <= old.newest:
        layers = layers_between(old, new)
        if reader.engine.are_there(new.folder, [file for layer in layers for file in layer.files]):
            return reader.changes(old, new, layers)
    before, after = reader.rows(old), reader.rows(new)
    plan = minus(Reference("after", new.names), Reference("before", new.names))
    frame = reader.engine.plan(weighted(plan), {"before": before.frame, "after": after.frame})
    return Source(frame, before.rows + after.rows, Form.CHANGES)


def _visible_key(state: RelationState, names: Sequence[str]) -> tuple[str, ...] | None:
    key = state.merge.key if state.merge else state.key or None
    return key if key is not None and set(key) <= set(names) else None


def _by_key(net: Relation, names: tuple[str, ...], key: tuple[str, ...]) -> Relation:
    """Deleted and inserted rows of one key are an update."""
    old = _side(net, names, exp.LT, "old")
    new = _side(net, names, exp.GT, "new")
    on = null_safe_match((f"old_{name}", f"new_{name}") for name in key)
    both = Join(old, new, JoinKind.FULL, on)
    cases = [_when("__old", "insert"), _when("__new", "delete")]
    change = exp.Case(ifs=cases, default=literal("update"))
    return projected(both, (Named(CHANGE, change), *same(_pairs(names))))


def _when(missing: str, word: str) -> exp.If:
    return exp.If(this=exp.Is(this=column(missing), expression=exp.null()), true=literal(word))


def _side(net: Relation, names: tuple[str, ...], sign: type[exp.Binary], prefix: str) -> Relation:
    rows = restricted_to(Filter(net, sign(this=column(COUNT), expression=literal(0))), names)
    outputs = [Named(f"{prefix}_{name}", column(name)) for name in names]
    return Project(rows, (*outputs, Named(f"__{prefix}", literal(1))))


def _by_copy(net: Relation, names: tuple[str, ...]) -> Relation:
    """Without a key, every copy that came or went."""
    gone = _copies(net, names, exp.LT, "delete", "old")
    came = _copies(net, names, exp.GT, "insert", "new")
    return union_all((came, gone), came.columns)


def _copies(
    net: Relation, names: tuple[str, ...], sign: type[exp.Binary], word: str, prefix: str
) -> Relation:
    chosen = Filter(net, sign(this=column(COUNT), expression=literal(0)))
    size = Named(COUNT, exp.Abs(this=column(COUNT)))
    rows = Expand(Project(chosen, (*same(names), size)))
    values: list[Named] = [Named(CHANGE, literal(word))]
    for pair in _pairs(names):
        side, name = pair.split("_", 1)
        values.append(Named(pair, column(name) if side == prefix else _nothing()))
    return Project(rows, tuple(values))


def _nothing() -> Scalar:
    return exp.null()


def _pairs(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{side}_{name}" for name in names for side in ("old", "new"))


__all__ = ["change_feed", "signed_changes"]
