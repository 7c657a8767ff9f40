"""Which strategy maintains a view through a batch: every one is asked, and the cheapest taken, by policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from viewkeeper import limits
from viewkeeper.errors import CannotMaintain, InvalidOption
from viewkeeper.maintenance.id_diffs import IdView
from viewkeeper.maintenance.id_diffs.strategy import ID_DIFFS, TUPLE_DIFFS, IdDiffs
from viewkeeper.maintenance.incremental import Incremental
from viewkeeper.maintenance.names import of_view
from viewkeeper.maintenance.recompute import Recompute
from viewkeeper.maintenance.steps import Script, told_to_readers
from viewkeeper.maintenance.strategy import Batch, Strategy, View
from viewkeeper.planning.calibration import Calibration
from viewkeeper.planning.cost import Estimate, estimate
from viewkeeper.report import Reason

UNKNOWN = Calibration()
RECOMPUTE = Recompute()

POLICIES = ("auto", "incremental", "strict", "full")


MARGIN = 0.95
NOISE = 0.05
"""Recomputation is chosen where it is expected to take this part of the time, less so many seconds. It breaks
the chain of changes that views above live on, and smaller differences are within a busy machine's noise."""


@dataclass(frozen=True)
class Alternative:
    """A strategy that could maintain the view: its script, its cost by the model, and as corrected by
    what the view has cost before."""

    strategy: Strategy
    script: Script
    model: Estimate
    expected: Estimate


@dataclass(frozen=True)
class Choice:
    """The strategy taken and why, the others that could do it with their costs, and why not the rest."""

    strategy: Strategy
    reason: Reason
    rejected: tuple[tuple[str, Reason], ...] = ()
    alternatives: tuple[Alternative, ...] = ()

    @property
    def taken(self) -> Alternative:
        return next(one for one in self.alternatives if one.strategy is self.strategy)


def checked_policy(policy: str) -> str:
    if policy not in POLICIES:
        raise InvalidOption(f"There is no policy {policy!r}.", f"Policies are {', '.join(POLICIES)}.")
    return policy


def choose(view: View, batch: Batch, policy: str, known: Calibration = UNKNOWN) -> Choice:
    """The choice for one view and one batch."""
    if checked_policy(policy) == "full":
        reason = Reason("policy-full", "The policy asks for recomputation.")
        return Choice(RECOMPUTE, reason, (), _alternatives((RECOMPUTE,), view, batch, known))
    able, rejected = _able(view, batch)
    if not able and policy == "strict":
        raise _cannot_maintain(view, rejected)
    *accepted, again = _alternatives((*able, RECOMPUTE), view, batch, known)
    if not accepted:
        return Choice(RECOMPUTE, rejected[-1][1], rejected, (again,))
    best = min(accepted, key=lambda one: one.expected.seconds)
    if policy == view.asked == "auto" and _should_recompute(again, best, batch):
        best, reason = (
            again,
            Reason("cheaper", f"So much changed that recomputing costs less than {best.strategy.name}."),
        )
    else:
        reason = Reason("incremental", "Only the change is computed.")
    return Choice(best.strategy, reason, rejected, (*accepted, again))


def _alternatives(
    strategies: Iterable[Strategy], view: View, batch: Batch, known: Calibration
) -> tuple[Alternative, ...]:
    """Each strategy with its script and cost."""
    found = []
    for strategy in strategies:
        script = strategy.plan(view, batch)
        if batch.is_read:
            script = told_to_readers(script, view.name)
        model = estimate(script, view, batch)
        found.append(Alternative(strategy, script, model, known.corrected(strategy.name, model)))
    return tuple(found)


def _should_recompute(again: Alternative, best: Alternative, batch: Batch) -> bool:
    share, many = limits.LIMITS.changed_share, limits.LIMITS.much_changed
    sizes = batch.stored.sizes
    if any(change.rows >= max(many, share * sizes.get(name, 0)) for name, change in batch.changes.items()):
        learned = again.expected.seconds < best.expected.seconds
        return learned or again.model.seconds < best.model.seconds
    return _is_clearly_less(again.expected, best.expected)


def _is_clearly_less(this: Estimate, other: Estimate) -> bool:
    return this.seconds < MARGIN * other.seconds - NOISE


def candidates(view: View) -> tuple[Strategy, ...]:
    """What may maintain a view: ID-based diffs where it is stored with its IDs, and the strata in turn unless
    its user wants all layers to be ID-based diffs."""
    by_strata, by_ids = Incremental(of_view(view)), IdDiffs(view.asked == TUPLE_DIFFS)
    is_asked, has_ids = view.asked in (ID_DIFFS, TUPLE_DIFFS), isinstance(view.by_ids, IdView)
    if is_asked and has_ids:
        return (by_ids,)
    return (by_ids, by_strata) if is_asked or has_ids else (by_strata,)


def require_strategy(view: View, batch: Batch) -> None:
    """Fails with every strategy's reason where none can maintain the view through the batch."""
    able, rejected = _able(view, batch)
    if not able:
        raise _cannot_maintain(view, rejected)


def _cannot_maintain(view: View, rejected: tuple[tuple[str, Reason], ...]) -> CannotMaintain:
    last = rejected[-1][1]
    return CannotMaintain(
        f"{view.name} cannot be maintained incrementally.",
        "\n".join(f"{name}: {reason}" for name, reason in rejected),
        "Use the policy incremental or auto, or change the view.",
        view=view.name,
        code=last.code,
    )


def _able(view: View, batch: Batch) -> tuple[list[Strategy], tuple[tuple[str, Reason], ...]]:
    """The strategies that can maintain the view through the batch, and why the others cannot."""
    refusals = [(strategy, strategy.refuse(view, batch)) for strategy in candidates(view)]
    able = [strategy for strategy, reason in refusals if reason is None]
    return able, tuple((strategy.name, reason) for strategy, reason in refusals if reason is not None)
