"""Δ of one stratum, as its script reads it: by the delta rules, over the changes that are known by then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from viewkeeper.algebra.build import bound_columns, minus, named_like, union_all
from viewkeeper.algebra.expressions import Scalar, columns_of, rename_columns
from viewkeeper.algebra.facts import is_linear
from viewkeeper.algebra.relations import (
    Filter,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.walk import rewrite
from viewkeeper.delta.rules import delta
from viewkeeper.delta.states import old
from viewkeeper.delta.stored_answer import stored_answer
from viewkeeper.maintenance.recursion.unfold import union_branches
from viewkeeper.maintenance.steps import delta_name
from viewkeeper.maintenance.strategy import Batch, Progress, Stratum, bound
from viewkeeper.rewrite.fresh_keys import answered_by_changes
from viewkeeper.rewrite.join_order import small_first


def redefined_delta(before: Relation, query: Relation, work: Progress, batch: Batch) -> Relation:
    """Δ of a union some of whose branches came or went: what they derive, beside Δ of the others."""
    old_branches, new_branches = Counter(union_branches(before)), Counter(union_branches(query))
    kept, came, went = old_branches & new_branches, new_branches - old_branches, old_branches - new_branches
    change = stratum_delta(union_all(kept.elements(), query.columns), work.changed, batch, work.computed)
    derived = union_all(came.elements(), query.columns)
    gone = old(union_all(went.elements(), query.columns), work.changed)
    return union_all((change, bound(minus(derived, gone), batch.stored.counted)), query.columns)


def changed_rows(
    stratum: Stratum, query: Relation, changed: frozenset[str], batch: Batch, computed: frozenset[str]
) -> Relation:
    """Δ of a stratum; where its rows are the answers of groups, their old ones are read from it."""
    answer = stored_answer(query) if stratum.state is None and stratum.buffer is None else None
    if answer is None:
        return stratum_delta(query, changed, batch, computed)
    stored = Scan(stratum.name, bound_columns(query.columns), State.OLD)
    change = answer.delta(stored, delta(answer.core.child, changed, batch.fresh))
    return _read(change, batch, computed)


def stratum_delta(
    query: Relation, changed: frozenset[str], batch: Batch, computed: frozenset[str]
) -> Relation:
    """Δ of a stratum's query, reading the deltas of lower strata where they were computed.

    Where counts just multiply and add up, changes that cannot matter are left out here as well.
    """
    filters = batch.relevance if is_linear(query) else {}
    return _read(delta(query, changed, batch.fresh), batch, computed, filters)


def _read(
    change: Relation, batch: Batch, computed: frozenset[str], filters: Mapping[str, Scalar] | None = None
) -> Relation:
    """A delta as a script reads it: small tables first, and changes where they are known already."""
    change = answered_by_changes(change, batch.fresh)
    return referring(bound(small_first(change, batch.stored.sizes), batch.stored.counted), computed, filters)


def referring(
    change: Relation, computed: frozenset[str], filters: Mapping[str, Scalar] | None = None
) -> Relation:
    """A delta that reads the changes which the script has computed, and of others those that may matter."""
    filters = filters or {}

    def refer(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.at is not State.DELTA:
            return node
        if node.table in computed:
            stored = tuple(item.source.name for item in node.bound)
            return named_like(Reference(delta_name(node.table), stored, counted=True), node.columns)
        return _relevant(node, filters[node.table]) if node.table in filters else node

    return rewrite(change, refer)


def _relevant(scan: Scan, condition: Scalar) -> Relation:
    """The changes that may matter; the condition names stored columns."""
    names = {item.source.name: item.name for item in scan.bound}
    if not columns_of(condition) <= names.keys():
        return scan
    return Filter(scan, rename_columns(condition, names))
