"""The change feed of a relation between two versions, as algebra: inserted, deleted and updated rows.

quass96 Figure 5 asks for ∇, μ and Δ with old and new values. Here they are the rows of one relation: `change`
is `insert`, `delete` or `update`, and each column comes as `old_…` and `new_…`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from viewkeeper.algebra.build import projected, restricted_to, union_all
from viewkeeper.algebra.counts import consolidated, weighted
from viewkeeper.algebra.expressions import Named, Scalar, column, literal, null_safe_match, same
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.relations import Expand, Filter, Join, JoinKind, Project, Reference, Relation
from viewkeeper.algebra.schema import COUNT, is_hidden
from viewkeeper.storage.relation import Layer, RelationState, layers_between

CHANGE = "change"


def feed_of(state: RelationState) -> Relation:
    """The feed of a relation, from its signed rows under the name `changes`."""
    names = tuple(name for name in state.names if not is_hidden(name))
    net = consolidated(weighted(restricted_to(Reference("changes", state.names, counted=True), names)))
    key = visible_key(state, names)
    return _by_key(net, names, key) if key is not None else _by_copy(net, names)


def feed_columns(state: RelationState) -> tuple[str, ...]:
    """What users call the columns of the feed."""
    return (CHANGE, *_pairs(tuple(shown(name) for name in state.names if not is_hidden(name))))


def logged(old: RelationState, new: RelationState) -> tuple[Layer, ...] | None:
    """The layers that lead from one state to the other; None where the log no longer tells."""
    if old.folder != new.folder or new.complete_since > old.newest:
        return None
    return layers_between(old, new)


def visible_key(state: RelationState, names: Sequence[str]) -> tuple[str, ...] | None:
    """The key by which users tell the rows of a relation apart, where there is one."""
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


__all__ = ["CHANGE", "feed_columns", "feed_of", "logged", "visible_key"]
