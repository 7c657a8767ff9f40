"""The refresh function: mumick97 section 4.2 (Figure 8) and its optimizations (section 4.3).

A summary table is stored as a main relation and layers that merge with it by key. So refresh mostly
reads nothing of the summary: it appends the summary-delta as a layer (ADD counts and sums, MIN minima,
MAX maxima; a group dies when COUNT(*) is 0). Only a MIN or MAX that may have lost its value must be
looked at. With t the stored group, δ its summary-delta, `min` of what was inserted and `lost` of what
was deleted:

    threatened      δ.lost ≤ least(t.min, δ.min)
    weakly minimal  δ.lost ≤ t.min and not δ.min ≤ δ.lost        (section 4.3: deleted rows were there)

A threatened group leaves the layer and is written whole into an overriding layer: recomputed where
COUNT(e) stays above 0, else with NULL as its extreme (Figure 8) or, where COUNT(*) is 0, as gone. That
also keeps a group which dies and is born again from inheriting the extremes of its former life.

A sum of floating-point numbers cannot take back a NaN or an infinity: where a summary-delta has one, the
group is threatened as well.

    insert-only     nothing is threatened: the layer is the summary-delta, blindly appended
    keys known new  the layer's groups are not in the summary: no merge is needed, now or later
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from viewkeeper.algebra.build import (
    filtered,
    joined,
    projected,
    renamed,
    restricted_to,
    union_all,
)
from viewkeeper.algebra.counts import is_counted, plain, weighted
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    columns_of,
    function,
    literal,
    not_,
    null_safe_match,
    or_,
    same,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Consolidate,
    Join,
    JoinKind,
    Reference,
    Relation,
    Scan,
)
from viewkeeper.algebra.walk import rewrite
from viewkeeper.delta.parts import PartKind
from viewkeeper.maintenance.lattice.cube_view import CubeView, column_of, source
from viewkeeper.maintenance.lattice.derives import derives
from viewkeeper.maintenance.lattice.edge import edge_delta
from viewkeeper.maintenance.summary_delta.prepare import (
    ONE,
    SIGN,
    BatchFacts,
    aggregate_sources,
    aggregated,
    alive,
    prepare_deletions,
    prepare_insertions,
    summary_delta,
)
from viewkeeper.maintenance.summary_delta.state import (
    StateColumn,
    counter,
    extremes,
    state_columns,
    stored_columns,
)
from viewkeeper.report import Reason
from viewkeeper.rewrite.restrict import restrict_by

_OLD = "__t"
"""Prefix of the stored group's columns where they stand beside those of its summary-delta."""


@dataclass(frozen=True)
class RefreshLayers:
    """What refresh appends: a merging layer, and perhaps one that overrides whole groups.

    `threatened` is the part of the summary-delta whose extremes were lost, beside the stored groups;
    `recomputed` are the keys whose state must come from the base tables (or from a parent).
    """

    layer: Relation
    threatened: Relation | None = None
    recomputed: Relation | None = None
    override: Relation | None = None
    known_new: bool = False


def refresh(
    view: CubeView,
    summary_delta: Relation,
    changes: BatchFacts,
    stored: Relation,
    new_state: Callable[[Relation], Relation] | None = None,
    *,
    weakly_minimal: bool = False,
    known_new: bool = False,
) -> RefreshLayers:
    """Figure 8 for layered storage.

    `stored` is the summary's merged state before the changes. `new_state` gives the state after them of the
    groups with given keys: from the base tables (`groups_state`, the default) or from a refreshed parent.
    """
    layer = restricted_to(summary_delta, stored_columns(view))
    fragile = (*extremes(view), *floating_sums(view))
    if changes.insert_only or not fragile:
        return RefreshLayers(layer, known_new=known_new and changes.insert_only)
    suspects = filtered(summary_delta, or_(*(_suspect(state) for state in fragile)))
    beside = _beside_stored(view, suspects, stored)
    threatened = filtered(beside, or_(*(_threatened(state, weakly_minimal) for state in fragile)))
    recomputable = or_(*(_recomputable(view, state, weakly_minimal, len(fragile) == 1) for state in fragile))
    recomputed = restricted_to(filtered(threatened, recomputable), view.key_names)
    settled = _settled(view, filtered(threatened, not_(exp.paren(recomputable))))
    anew = groups_state(view, recomputed) if new_state is None else new_state(recomputed)
    override = union_all((restricted_to(anew, stored_columns(view)), settled), stored_columns(view))
    rest = _without(view, layer, restricted_to(threatened, view.key_names))
    return RefreshLayers(rest, threatened, recomputed, override)


def _beside_stored(view: CubeView, summary_delta: Relation, stored: Relation) -> Relation:
    """The summary-delta join: each group of the summary-delta beside its stored group, if there is one."""
    names = {name: f"{_OLD}{name}" for name in stored.columns}
    on = null_safe_match((name, names[name]) for name in view.key_names)
    kept = restricted_to(stored, stored_columns(view))
    return joined(summary_delta, renamed(kept, names), JoinKind.LEFT, on)


def _suspect(state: StateColumn) -> Scalar:
    """What the summary-delta alone tells: only these groups are looked up."""
    if not state.is_extreme:
        return _not_finite(state)
    return not_(exp.Is(this=column(state.lost), expression=exp.null()))


def _not_finite(total: StateColumn) -> Scalar:
    """NaN − NaN and ∞ − ∞ are NaN."""
    return function("isnan", exp.Sub(this=column(total.name), expression=column(total.name)))


def _threatened(extreme: StateColumn, weakly_minimal: bool) -> Scalar:
    """Whether a deleted value may have been the extreme; never NULL."""
    if not extreme.is_extreme:
        return exp.paren(_not_finite(extreme))
    lost, gained, stored = column(extreme.lost), column(extreme.name), column(f"{_OLD}{extreme.name}")
    if weakly_minimal:
        reaches = _reaches(extreme, lost, stored)
        replaced = _reaches(extreme, gained, lost)
        return and_(exp.paren(reaches), not_(exp.paren(replaced)))
    return exp.paren(_reaches(extreme, lost, _nearer(extreme, stored, gained)))


def _nearer(extreme: StateColumn, stored: Scalar, gained: Scalar) -> Scalar:
    """The extreme of two values; the other one where one is NULL."""
    either = (function("coalesce", stored, gained), function("coalesce", gained, stored))
    return function("least" if extreme.kind is PartKind.MIN else "greatest", *either)


def _reaches(extreme: StateColumn, value: Scalar, bound: Scalar) -> Scalar:
    """`value` is at or beyond `bound`; false where either is NULL."""
    comparison = exp.LTE if extreme.kind is PartKind.MIN else exp.GTE
    return function("coalesce", comparison(this=value.copy(), expression=bound.copy()), exp.false())


def _recomputable(view: CubeView, state: StateColumn, weakly_minimal: bool, is_only: bool) -> Scalar:
    """Figure 8's test: the value is threatened (as one must be) and t.COUNT(e) + δ.COUNT(e) > 0."""
    left = exp.GT(this=_sum(counter(view, state.argument)), expression=literal(0))
    if is_only:
        return left
    return exp.paren(and_(_threatened(state, weakly_minimal), left))


def _sum(state: StateColumn) -> Scalar:
    stored = function("coalesce", column(f"{_OLD}{state.name}"), literal(0))
    return exp.paren(exp.Add(this=stored, expression=column(state.name)))


def _settled(view: CubeView, threatened: Relation) -> Relation:
    """Threatened groups that need no recomputation: counts and sums add up, lost extremes are NULL."""
    outputs = [*same(view.key_names), *(Named(s.name, _settled_value(view, s)) for s in state_columns(view))]
    return projected(threatened, outputs)


def _settled_value(view: CubeView, state: StateColumn) -> Scalar:
    some = exp.GT(this=_sum(counter(view, state.argument)), expression=literal(0))
    if state.kind is PartKind.SUM:
        return exp.Case(ifs=[exp.If(this=some, true=_sum(state).unnest())], default=literal(0))
    if not state.is_extreme:
        return _sum(state).unnest()
    value = _nearer(state, column(f"{_OLD}{state.name}"), column(state.name))
    return exp.Case(ifs=[exp.If(this=some, true=value)])


def _without(view: CubeView, layer: Relation, keys: Relation) -> Relation:
    names = {name: f"{_OLD}{name}" for name in view.key_names}
    on = null_safe_match((name, names[name]) for name in view.key_names)
    return Join(layer, renamed(keys, names), JoinKind.ANTI, on)


def merged(view: CubeView, stored: Relation, layer: Relation) -> Relation:
    """The summary-delta join as readers and compaction do it: stored state ⊕ a merging layer.

    Groups whose COUNT(*) became 0 are still there: `alive` leaves them out, once, after all layers.
    """
    both = union_all((stored, layer), stored_columns(view))
    totals = tuple(Named(state.name, state.total(column(state.name))) for state in state_columns(view))
    return Aggregate(both, same(view.key_names), totals)


def overridden(view: CubeView, stored: Relation, override: Relation) -> Relation:
    """Stored state with whole groups replaced."""
    rows, keys = restricted_to(stored, stored_columns(view)), restricted_to(override, view.key_names)
    kept = _without(view, rows, keys)
    return union_all((kept, override), stored_columns(view))


def is_weakly_minimal(view: CubeView, changes: BatchFacts) -> bool:
    """Whether the deletions of a directly computed summary-delta were all there (section 4.3).

    True where one relation of the FROM clause changed; the terms of several may delete what another
    term inserted.
    """
    occurrences = (view.fact.name, *(dimension.table for dimension in view.dimensions))
    return sum(table in changes.changed for table in occurrences) <= 1


def keys_known_new(
    view: CubeView, summary: Mapping[str, tuple[Any, Any]], delta: Mapping[str, tuple[Any, Any]]
) -> bool:
    """Whether statistics (least and greatest value per column) prove that all groups are new.

    One group-by column without NULLs in the delta whose ranges do not meet is enough.
    """
    return any(
        name in summary and name in delta and _apart(summary[name], delta[name]) for name in view.key_names
    )


def _apart(stored: tuple[Any, Any], new: tuple[Any, Any]) -> bool:
    if None in (*stored, *new):
        return False
    return bool(new[0] > stored[1] or new[1] < stored[0])


__all__ = [
    "RefreshLayers",
    "is_weakly_minimal",
    "keys_known_new",
    "merged",
    "overridden",
    "refresh",
]


def groups_state(view: CubeView, groups: Relation) -> Relation:
    """The state of some groups from the base tables, of which only their rows are read.

    The groups are a plan with explicit counts, so that they are put in after those of the source are.
    """
    pairs = tuple((key.expr, key.name) for key in view.all_keys)
    if not pairs:
        return joined(full_state(view), groups, JoinKind.SEMI, exp.true())
    place = Reference(f"groups_of_{view.name}", view.key_names)
    state = _state(view, restrict_by(source(view), place, pairs))
    return rewrite(state, lambda node: groups if node == place else node)


def full_state(view: CubeView) -> Relation:
    """The view's state computed from its base tables: everything is an insertion.

    Extremes need net rows where the tables are stored as signed logs; sums do not.
    """
    return _state(view, source(view))


def _state(view: CubeView, everything: Relation) -> Relation:
    if extremes(view):
        everything = rewrite(everything, _net)
    if is_counted(everything):
        rows, count = weighted(everything), SIGN
    else:
        rows, count = plain(everything), ONE
    outputs = (*view.all_keys, *aggregate_sources(view, may_delete=False, count=count))
    return alive(view, aggregated(view, projected(rows, outputs), may_delete=False))


def _net(node: Relation) -> Relation:
    return Consolidate(node) if isinstance(node, Scan) and node.counted else node


def floating_sums(view: CubeView) -> tuple[StateColumn, ...]:
    """Sums in floating point: a NaN or an infinity in them cannot be taken back."""
    return tuple(s for s in state_columns(view) if s.kind is PartKind.SUM and _is_floating(view, s.argument))


def _is_floating(view: CubeView, argument: Scalar | None) -> bool:
    if argument is None:
        return False
    casts = (cast.to.this for cast in argument.find_all(exp.Cast))
    types = (found.type.lower() for name in columns_of(argument) if (found := column_of(view, name)))
    return any(kind in exp.DataType.FLOAT_TYPES for kind in casts) or any(
        kind in ("float", "double", "real") for kind in types
    )


def prepare_both(view: CubeView, changes: BatchFacts) -> Relation:
    """Figure 6: prepare-changes as the union of prepare-insertions and prepare-deletions."""
    sides = (prepare_insertions(view, changes), prepare_deletions(view, changes))
    return union_all(sides, sides[0].columns)


def preaggregated_delta(view: CubeView, first: CubeView, changes: BatchFacts) -> Relation:
    """The summary-delta by way of the first aggregation; equal to `summary_delta`."""
    edge = derives(view, first)
    assert not isinstance(edge, Reason), edge.sentence
    return edge_delta(edge, summary_delta(first, changes), changes)


def batch(*changed: str, insert_only: bool = False) -> BatchFacts:
    return BatchFacts(frozenset(changed), insert_only)
