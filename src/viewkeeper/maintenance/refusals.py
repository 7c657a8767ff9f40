"""Why the change of a view cannot be computed from the changes of what it reads."""

from __future__ import annotations

from viewkeeper.algebra.relations import (
    Fixpoint,
    Relation,
)
from viewkeeper.algebra.walk import nodes
from viewkeeper.maintenance.recursion.unfold import branches, union_branches
from viewkeeper.maintenance.strategy import Batch, Stratum, View
from viewkeeper.report import Reason


def refusal(view: View, batch: Batch) -> Reason | None:
    """Why a view cannot be maintained stratum by stratum through a batch."""
    return _text_inside(view) or replaced_input(batch) or redefined(view)


def _text_inside(view: View) -> Reason | None:
    """SQL that has no plan, and recursions that rounds cannot maintain, are for Spark itself to run."""
    for stratum in view.strata:
        if stratum.query is None:
            why = view.untranslatable or "its SQL has no plan"
            return Reason("untranslatable", f"The query cannot be written as a plan: {why}.")
        inner = [node for node in nodes(stratum.query) if isinstance(node, Fixpoint)]
        if any(node is not stratum.fixpoint for node in inner):
            why = "A UNION ALL recursion here is mutual, or reads itself more than once in a round."
            return Reason("not-linear", why)
    return None


def replaced_input(batch: Batch) -> Reason | None:
    """Where an input was written anew there is no log of its changes."""
    for name, change in batch.changes.items():
        if change.replaced:
            told = f"The changes of {name} are not known: {change.why}"
            unknown = f"{name} was written anew, so its changes are not known."
            return Reason("input-replaced", told if change.why else unknown)
    return None


def redefined(view: View) -> Reason | None:
    """A changed definition can be maintained where the same relations hold the same kind of rows."""
    if view.before is None:
        return None
    if _shape(view) != _shape(view.before):
        return Reason("redefined", "The new definition stores other relations than the old one.")
    for stratum, before in zip(view.strata, view.before.strata, strict=True):
        if stratum != before and not _rules(stratum) & _rules(before):
            return Reason("redefined", f"No branch of the old definition of {stratum.name} is left.")
    return None


def _rules(stratum: Stratum) -> frozenset[Relation]:
    """The branches of a stratum's union, of a recursion those of all its definitions."""
    if stratum.fixpoint is not None:
        return frozenset(rel for d in stratum.fixpoint.definitions for rel in branches(d.body))
    return frozenset() if stratum.query is None else frozenset(union_branches(stratum.query))


def _shape(view: View) -> list[object]:
    """What the strata store, apart from the rows."""
    return [(s.name, _columns(s), s.merge, s.key, s.relations, _is_set(s)) for s in view.strata]


def _columns(stratum: Stratum) -> tuple[str, ...]:
    if stratum.state is not None:
        return stratum.state.columns
    return () if stratum.query is None else stratum.query.columns


def _is_set(stratum: Stratum) -> bool:
    return stratum.fixpoint is not None and stratum.fixpoint.distinct
