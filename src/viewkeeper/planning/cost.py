"""What a Δ-script is expected to cost, before anything of it runs.

    seconds  =  actions · ACTION  +  operators · PLANNED  +  handled rows · ROW  +  written rows · WRITTEN

The constants are those of two cores (docs/decisions/0039 has what was measured); what a view really
costs, on the machine at hand, is learned by `calibration`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from math import exp
from typing import Any

from viewkeeper import limits
from viewkeeper.algebra.relations import Aggregate, Filter, Project, Reference, Relation, Scan, State
from viewkeeper.algebra.walk import base_tables, nodes
from viewkeeper.maintenance.aggregates import lost_name
from viewkeeper.maintenance.id_diffs.script import Apply
from viewkeeper.maintenance.numbered_parts import part_of
from viewkeeper.maintenance.steps import (
    AppendLayer,
    ApplyDiffs,
    Compute,
    EvaluateFixpoint,
    MaintainFixpoint,
    ReplaceMain,
    Script,
    Step,
)
from viewkeeper.maintenance.strategy import Batch, View
from viewkeeper.planning.cardinality import GROUPING, READ, Handled, Size, Sizes, handled
from viewkeeper.planning.lost_extremes import lost_groups

ACTION = 0.15
"""Seconds that a Spark action takes when it does next to nothing."""

PLANNED = 0.003
"""Seconds that Spark takes to plan one operator."""

PASSED = 0.01
"""Seconds that the driver takes to pass a diff on that is made of few changes alone."""

ROW = 6e-8
"""Seconds to read a row."""

WRITTEN = 4e-7
"""Seconds to write a row."""

ROUNDS = 6
"""How many rounds a recursion is thought to take; each is an action."""


@dataclass(frozen=True)
class Estimate:
    """What a refresh is expected to take."""

    rows_read: int
    rows_written: int
    actions: int
    seconds: float

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.rows_read + other.rows_read,
            self.rows_written + other.rows_written,
            self.actions + other.actions,
            self.seconds + other.seconds,
        )

    def times(self, factor: float) -> Estimate:
        """The same work on a machine that takes `factor` times as long for it."""
        return replace(self, seconds=self.seconds * factor)

    def in_part(self, chance: float) -> Estimate:
        """What is expected of work that is done only with a chance."""
        rows = round(self.rows_read * chance), round(self.rows_written * chance)
        return Estimate(*rows, round(self.actions * chance), self.seconds * chance)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.seconds:.2g} s, {self.actions} Spark action{'s' * (self.actions != 1)}, "
            f"{self.rows_read:,} rows read, {self.rows_written:,} written"
        )


NOTHING = Estimate(0, 0, 0, 0.0)


def estimate(script: Script, view: View, batch: Batch) -> Estimate:
    """The cost of a script for a batch; steps are met in order, and each adds its result's size.

    Whoever is told of the changes of a view looks up what ID-based diffs name, before and after.
    """
    sizes = sizes_of([batch])
    sizes.seen = batch.stored.groups
    stored = {**sizes.stored, **batch.stored.groups}
    sizes.groups = dict(_groups(view, stored))
    for stratum in view.strata:
        groups = stored.get(stratum.name, 1.0)
        lost = lost_groups(stratum, batch, groups, sizes.largest)
        sizes.expected[lost_name(stratum.name)] = Size(lost, groups)
    is_looked_up = batch.is_told and any(isinstance(step, ApplyDiffs) for step in script)
    others = _compared(sizes.stored.get(view.name, 0.0)) if is_looked_up else NOTHING
    return sum((_step(step, sizes) for step in script), others)


def sizes_of(batches: Iterable[Batch]) -> Sizes:
    """The sizes of what some views read, and of its changes."""
    stored: dict[str, float] = {}
    changes: dict[str, float] = {}
    keyed: frozenset[str] = frozenset()
    for batch in batches:
        stored |= batch.stored.sizes
        changes |= {name: float(change.rows) for name, change in batch.changes.items()}
        keyed |= batch.stored.keyed
    return Sizes(stored, changes, keyed=keyed)


def saved_by_sharing(plan: Relation, users: int, sizes: Sizes) -> float:
    """Seconds that are saved where a plan is computed and written once, and read by all its users."""
    found = handled(plan, sizes)
    rows = found.size.rows
    return (users - 1) * found.cost * ROW - ACTION - rows * WRITTEN - users * rows * ROW


def _groups(view: View, stored: Mapping[str, float]) -> Iterator[tuple[frozenset[str], float]]:
    """The columns by which the view's relations are grouped, with the number of groups that are stored."""
    for stratum in view.strata:
        rel = stratum.state.aggregate if stratum.state is not None else stratum.query
        while isinstance(rel, (Project, Filter)):
            rel = rel.child
        if isinstance(rel, Aggregate) and stored.get(stratum.name):
            yield frozenset(rel.key_names), stored[stratum.name]


def _step(step: Step, sizes: Sizes) -> Estimate:
    match step:
        case Compute():
            if step.name in sizes.expected:
                return _expected_groups(step, sizes)
            found = handled(step.plan, sizes)
            sizes.results[step.name] = found.size
            acts = step.held or (step.counted and part_of(step.plan) is None)
            return _taken(found, found.size.rows if step.counted else 0, int(acts))
        case AppendLayer():
            if step.recomputed:
                return _recomputed_groups(step, sizes)
            found = handled(step.plan, sizes)
            if step.kept:
                sizes.results[step.kept] = found.size
            return _taken(found, found.size.rows, int(part_of(step.plan) is None))
        case ReplaceMain():
            found = _everything(sizes) if step.plan is None else handled(step.plan, sizes)
            written = sizes.stored.get(step.relation) or found.size.rows
            compared = _compared(written) if step.compared else NOTHING
            return _taken(found, written, 1) + compared
        case EvaluateFixpoint() | MaintainFixpoint():
            return _recursion(step, sizes)
        case ApplyDiffs():
            return _diffs(step, sizes)


def _compared(rows: float) -> Estimate:
    """Two states of a relation, read and held against each other; most of their rows are the same."""
    return _taken(Handled(Size(0, 0), 2 * rows, 2 * rows * (READ + GROUPING), 0), 0, 1)


def _expected_groups(step: Compute, sizes: Sizes) -> Estimate:
    """Which groups lost their extreme is looked up only where some did: then there is one at least."""
    expected = sizes.expected[step.name]
    sizes.results[step.name] = Size(max(1.0, expected.rows), expected.whole)
    return _taken(Handled(expected, 0, 0, 0), expected.rows, 1).in_part(_chance(expected.rows))


def _recomputed_groups(step: AppendLayer, sizes: Sizes) -> Estimate:
    """Groups that lost their extreme are computed from all their rows, where there are any such groups.

    Their rows are found by a join and then grouped by value: measured to take as long as reading them twice.
    """
    found = handled(step.plan, sizes)
    expected = sizes.expected[lost_name(step.relation)]
    part = Handled(found.size, found.read, 2 * found.cost, found.operators)
    return _taken(part, 0, 1).in_part(_chance(expected.rows))


def _chance(expected: float) -> float:
    """The chance that something happens at all which is expected to happen so often."""
    return 1 - exp(-expected)


def _taken(found: Handled, written: float, actions: int) -> Estimate:
    seconds = actions * ACTION + found.operators * PLANNED + found.cost * ROW + written * WRITTEN
    return Estimate(round(found.read), round(written), actions, seconds)


def _everything(sizes: Sizes) -> Handled:
    """A query that only Spark understands reads all inputs, and shuffles them for all that is known."""
    rows = sum(sizes.stored.values())
    return Handled(Size(rows, rows), rows, 10 * rows, 10)


def _recursion(step: EvaluateFixpoint | MaintainFixpoint, sizes: Sizes) -> Estimate:
    """Rounds that together handle what is derived: all, or what the changed part of the input derives."""
    inputs = [name for name in base_tables(step.fixpoint) if name in sizes.stored]
    stored = sum(sizes.stored.get(relation, 0) for _, relation in step.relations)
    whole = sum(sizes.stored[name] for name in inputs) + stored
    share = 1.0
    if isinstance(step, MaintainFixpoint):
        changed = sum(sizes.changes.get(name, 0) for name in inputs)
        share = min(1.0, 2 * changed / max(1.0, whole - stored))
    handled_rows = whole * share
    found = Handled(Size(stored * share, max(1.0, stored)), handled_rows, 10 * handled_rows, 20 * ROUNDS)
    return _taken(found, stored * share, ROUNDS)


def _is_of_changes(plan: Relation, results: Collection[str]) -> bool:
    """Whether a plan reads nothing but changes, and results that are made of them."""
    read = (node for node in nodes(plan) if isinstance(node, (Scan, Reference)))
    return all(node.at is State.DELTA if isinstance(node, Scan) else node.name in results for node in read)


def _diffs(step: ApplyDiffs, sizes: Sizes) -> Estimate:
    """Each diff that may have rows is computed, and appended where it is applied: small jobs, one each.

    The driver passes on what is made of few changes alone.
    """
    total = NOTHING
    passed: set[str] = set()
    for one in step.definition.script(step.possible).steps:
        if isinstance(one, Apply):
            found = sizes.result(one.diff.name)
            is_passed = one.diff.name in passed
            own = _taken(Handled(found, 0, 0, 0), found.rows, int(not is_passed))
            total += replace(own, seconds=own.seconds + PASSED) if is_passed else own
        else:
            plan = one.executable
            done = handled(plan, sizes)
            sizes.results[one.name] = done.size
            if done.size.rows <= limits.LIMITS.changes_held and _is_of_changes(plan, passed):
                passed.add(one.name)
                done = replace(done, operators=0)
            total += _taken(done, 0, 0)
    return total
