"""The counting algorithm: gupta93 Algorithm 4.1 over the strata of a view.

    for each stratum, in order:   Δ(P) by the delta rules;   P ← P ⊎ Δ(P)

The delta of a stratum reads the deltas of the strata below it. Where a stratum eliminates
duplicates or aggregates, its delta is the change of what stands above it can see (statement 2):
nothing flows on when that did not change, and the steps above are left out.
"""

from __future__ import annotations

from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import Scalar, columns_of, rename_columns
from viewkeeper.algebra.facts import is_linear
from viewkeeper.algebra.relations import (
    Consolidate,
    Filter,
    Fixpoint,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.walk import base_tables, nodes, rewrite
from viewkeeper.delta.minimal import minimal
from viewkeeper.delta.rules import delta
from viewkeeper.maintenance.aggregates import append_aggregate
from viewkeeper.maintenance.program import visible_columns
from viewkeeper.maintenance.strategy import Batch, Stratum, View, bound
from viewkeeper.planning.steps import AppendLayer, Compute, Script, Step
from viewkeeper.report import Reason
from viewkeeper.storage.changes import net_effect


class Counting:
    """Signed counts, one delta rule per changed input."""

    name = "counting"

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        return no_plan(view) or replaced_input(batch)

    def state(self, view: View) -> tuple[Stratum, ...]:
        return view.strata[:-1]

    def plan(self, view: View, batch: Batch) -> Script:
        steps: list[Step] = []
        changed, computed = batch.changed, frozenset[str]()
        for stratum in view.strata:
            assert stratum.query is not None
            inputs = changed & set(base_tables(stratum.query))
            if not inputs:
                continue
            only_from = _only_from(inputs, computed)
            change = stratum_delta(stratum.query, changed, batch, computed)
            if stratum.state is None:
                plan = net_effect(minimal(change))
                steps.append(AppendLayer(stratum.name, plan, note="Δ", only_from=only_from))
            else:
                steps += append_aggregate(stratum, change, changed, batch, only_from)
            if stratum is not view.top:
                steps.append(_visible_change(stratum, only_from))
                computed |= {stratum.name}
            changed |= {stratum.name}
        return tuple(steps)


def stratum_delta(
    query: Relation, changed: frozenset[str], batch: Batch, computed: frozenset[str]
) -> Relation:
    """Δ of a stratum's query, reading the deltas of lower strata where they were computed.

    Where counts just multiply and add up, changes that cannot matter are left out here as well.
    """
    filters = batch.relevance if is_linear(query) else {}

    def refer(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.at is not State.DELTA:
            return node
        if node.table in computed:
            return Reference(delta_name(node.table), node.columns, counted=True)
        return _relevant(node, filters[node.table]) if node.table in filters else node

    return rewrite(bound(delta(query, changed), batch.counted), refer)


def _relevant(scan: Scan, condition: Scalar) -> Relation:
    """The changes that may matter; the condition names stored columns."""
    names = {item.source.name: item.name for item in scan.bound}
    if not columns_of(condition) <= names.keys():
        return scan
    return Filter(scan, rename_columns(condition, names))


def delta_name(stratum: str) -> str:
    return f"{stratum}__delta"


def _only_from(inputs: frozenset[str], computed: frozenset[str]) -> tuple[str, ...]:
    """The results that everything depends on; none when a base table changed as well."""
    return tuple(sorted(delta_name(name) for name in inputs)) if inputs <= computed else ()


def _visible_change(stratum: Stratum, only_from: tuple[str, ...]) -> Compute:
    """What the strata above see of a stratum's change, net."""
    assert stratum.state is not None
    scan = Scan(stratum.name, visible_columns(stratum.state.aggregate), State.DELTA)
    plan = weighted(Consolidate(scan))
    return Compute(delta_name(stratum.name), plan, f"Δ({stratum.name})", counted=True, only_from=only_from)


def no_plan(view: View) -> Reason | None:
    """A view whose SQL the algebra does not express, or that recurses, has no delta."""
    for stratum in view.strata:
        if stratum.query is None:
            why = view.untranslatable or "its SQL has no plan"
            return Reason("untranslatable", f"The query cannot be written as a plan: {why}.")
        if any(isinstance(node, Fixpoint) for node in nodes(stratum.query)):
            return Reason("recursive", "The view is recursive.")
    return None


def replaced_input(batch: Batch) -> Reason | None:
    """Where an input was written anew there is no log of its changes."""
    for name, change in batch.changes.items():
        if change.replaced:
            return Reason("input-replaced", f"{name} was written anew, so its changes are not known.")
    return None
