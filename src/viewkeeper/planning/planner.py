"""Which strategy maintains a view through a batch: the first that does not refuse, by policy."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.errors import CannotMaintain, InvalidOption
from viewkeeper.maintenance.counting import Counting
from viewkeeper.maintenance.cubes import NOT_A_CUBE, SummaryDelta
from viewkeeper.maintenance.id_diffs import Definition
from viewkeeper.maintenance.id_diffs.strategy import TUPLE_DIFFS, IdDiffs
from viewkeeper.maintenance.recompute import Recompute
from viewkeeper.maintenance.recursive import NOT_RECURSIVE, Dred
from viewkeeper.maintenance.strategy import Batch, Strategy, View
from viewkeeper.report import Reason

RECOMPUTE = Recompute()
STRATEGIES: tuple[Strategy, ...] = (SummaryDelta(), Counting(), Dred())

FOR_OTHER_VIEWS = frozenset({NOT_RECURSIVE, NOT_A_CUBE})
"""Refusals that say nothing about a view, only that the strategy is meant for others."""

POLICIES = ("auto", "incremental", "strict", "full")


@dataclass(frozen=True)
class Choice:
    """The strategy taken, why, and why not the others."""

    strategy: Strategy
    reason: Reason
    rejected: tuple[tuple[str, Reason], ...] = ()


def checked_policy(policy: str) -> str:
    if policy not in POLICIES:
        raise InvalidOption(f"There is no policy {policy!r}.", f"Policies are {', '.join(POLICIES)}.")
    return policy


def choose(view: View, batch: Batch, policy: str) -> Choice:
    """The choice for one view and one batch."""
    if checked_policy(policy) == "full":
        return Choice(RECOMPUTE, Reason("policy-full", "The policy asks for recomputation."))
    rejected: list[tuple[str, Reason]] = []
    for strategy in candidates(view):
        refusal = strategy.refuse(view, batch)
        if refusal is None:
            return Choice(strategy, Reason("incremental", "Only the change is computed."), tuple(rejected))
        rejected.append((strategy.name, refusal))
    return _fall_back(view, policy, tuple(rejected))


def candidates(view: View) -> tuple[Strategy, ...]:
    """What may maintain a view: where it is stored by its IDs, ID-based diffs alone."""
    if view.by_ids is None:
        return STRATEGIES
    asked = IdDiffs(view.asked == TUPLE_DIFFS)
    return (asked,) if isinstance(view.by_ids, Definition) else (asked, *STRATEGIES)


def _fall_back(view: View, policy: str, rejected: tuple[tuple[str, Reason], ...]) -> Choice:
    telling = [reason for _, reason in rejected if reason.code not in FOR_OTHER_VIEWS]
    last = telling[-1] if telling else Reason("no-strategy", "No incremental strategy applies.")
    if policy == "strict":
        raise CannotMaintain(
            f"{view.name} cannot be maintained incrementally.",
            "\n".join(f"{name}: {reason}" for name, reason in rejected) or str(last),
            "Use the policy incremental or auto, or change the view.",
            view=view.name,
            code=last.code,
        )
    return Choice(RECOMPUTE, last, rejected)
