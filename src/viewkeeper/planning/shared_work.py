"""Deltas that the views of one refresh have in common, each computed once.

    by_customer:  γ(Δlineitem ⋈ orders)             common_1 = Δlineitem ⋈ orders
    by_day:       γ(Δlineitem ⋈ orders ⋈ days)  →   by_customer: γ(common_1);  by_day: γ(common_1 ⋈ days)

Views that begin at the same state of the same tables can share any part of their scripts that reads a change
and nothing of their own. What saves most is taken first; then all is looked through again, the common parts
with it: they may have parts in common, and may be parts of larger ones. A part that takes less to compute
again than to write down is left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.canonical import canonical
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.prune import needed_columns, pruned
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    TopK,
    Window,
)
from viewkeeper.algebra.walk import children, nodes, rewrite, scans
from viewkeeper.maintenance.steps import AppendLayer, Compute, Script, Step

WORTH = 0.0
"""Seconds that must be saved, beside what writing the common part takes."""

Saved = Callable[[Relation, int], float]
"""Seconds that are saved where a plan that so many use is computed once."""


@dataclass(frozen=True)
class SharedWork:
    """The common parts, inputs first, who uses each, and the scripts over them."""

    scripts: Mapping[str, Script] = field(default_factory=dict)
    parts: tuple[Compute, ...] = ()
    users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def parts_of(self, view: str) -> tuple[Compute, ...]:
        """What a view's script needs before it runs, inputs first."""
        wanted: set[str] = set()
        plans = [plan for step in self.scripts.get(view, ()) for plan in _plans(step)]
        for part in reversed(self.parts):
            if any(part.name in _references(plan) for plan in plans):
                wanted.add(part.name)
                plans.append(part.plan)
        return tuple(part for part in self.parts if part.name in wanted)

    def sharers(self, view: str) -> dict[str, list[str]]:
        """The parts that a view's script uses, with the other views that do."""
        return {part.name: [v for v in self.users[part.name] if v != view] for part in self.parts_of(view)}


StepT = TypeVar("StepT", bound=Step)

Pasts = Mapping[str, Mapping[str, int]]
"""Of each view, a number for the state of each table that it last read."""


def shared_work(
    scripts: Mapping[str, Script],
    saved: Saved,
    keyed: frozenset[str] = frozenset(),
    pasts: Pasts | None = None,
) -> SharedWork:
    """The scripts of some views, over what they have in common.

    Changes of `keyed` relations must be looked up in what is stored of them: they are worth sharing too.
    Without `pasts` all views begin at the same state.
    """
    work = SharedWork(dict(scripts))
    while (found := _best(work, saved, keyed, pasts or {})) is not None:
        work = _with_part(work, found)
    return _pruned(work) if work.parts else work


@dataclass(frozen=True)
class _Common:
    """A plan as it occurs in several scripts: as the first writes it, and the columns of each one's own."""

    plan: Relation
    owners: tuple[str, ...]
    occurrences: Mapping[Relation, tuple[str, ...]]


def _best(work: SharedWork, saved: Saved, keyed: frozenset[str], pasts: Pasts) -> _Common | None:
    """The common part that saves most; of equal ones the largest."""
    found = [
        (saved(one.plan, len(one.owners)), sum(1 for _ in nodes(one.plan)), one)
        for alike in _alike(work, keyed, pasts)
        if _may_save(alike, saved)
        for one in _common(alike)
    ]
    worth = [each for each in found if each[0] > WORTH]
    return max(worth, key=lambda each: each[:2])[2] if worth else None


Alike = list[tuple[str, Relation]]
"""Plans that read the same, each with whose it is."""


def _alike(work: SharedWork, keyed: frozenset[str], pasts: Pasts) -> Iterable[Alike]:
    """Plans of different views that might be the same: they are of one kind and read the same states."""
    owned: list[tuple[str, Step]]
    owned = [(view, step) for view, script in work.scripts.items() for step in script]
    owned += [(part.name, part) for part in work.parts]
    groups: dict[object, Alike] = defaultdict(list)
    for owner, step in owned:
        past = pasts.get(work.users.get(owner, (owner,))[0], {})
        for plan in _plans(step):
            for node in _shareable(plan, keyed, work.users.keys()):
                groups[_reads(node, past)].append((owner, node))
    return [group for group in groups.values() if len({owner for owner, _ in group}) > 1]


def _reads(node: Relation, past: Mapping[str, int]) -> object:
    read = sorted((scan.table, scan.at.value, past.get(scan.table, 0)) for scan in scans(node))
    return type(node), len(node.columns), tuple(read)


def _may_save(alike: Alike, saved: Saved) -> bool:
    """Whether it would pay if all of them were the same: few are looked at more closely."""
    owners = len({owner for owner, _ in alike})
    return any(saved(node, owners) > WORTH for _, node in alike)


def _common(alike: Alike) -> Iterator[_Common]:
    same: dict[Relation, list[tuple[str, Relation, tuple[str, ...]]]] = defaultdict(list)
    for owner, node in alike:
        form = canonical(node)
        same[form.plan].append((owner, node, form.columns))
    for members in same.values():
        owners = tuple(dict.fromkeys(owner for owner, _, _ in members))
        if len(owners) > 1:
            _, first, columns = members[0]
            own_names = dict(zip(columns, first.columns, strict=True))
            occurrences = {node: tuple(own_names[name] for name in form) for _, node, form in members}
            yield _Common(first, owners, occurrences)


def _shareable(plan: Relation, keyed: frozenset[str], parts: Collection[str]) -> Iterator[Relation]:
    """The nodes that compute something from a change, and nothing from results of their own script."""
    changed: set[Relation] = set()
    barred: set[Relation] = set()
    computing: set[Relation] = set()
    for node in nodes(plan):
        below = children(node)
        is_part = isinstance(node, Reference) and node.name in parts
        if (isinstance(node, Reference) and not is_part) or any(child in barred for child in below):
            barred.add(node)
        if is_part or _is_change(node) or any(child in changed for child in below):
            changed.add(node)
        if _computes(node, keyed) or any(child in computing for child in below):
            computing.add(node)
        if node in changed and node in computing and node not in barred:
            yield node


def _is_change(node: Relation) -> bool:
    return isinstance(node, Scan) and node.at is State.DELTA


def _computes(node: Relation, keyed: frozenset[str]) -> bool:
    """Whether a node does more than to pass on rows of one file after the other."""
    if isinstance(node, Scan):
        return node.at is State.DELTA and node.table in keyed
    return isinstance(node, (Aggregate, Distinct, Window, TopK)) or len(children(node)) > 1


def _with_part(work: SharedWork, common: _Common) -> SharedWork:
    """The scripts, and the parts found before, over a new part."""
    name = f"__common__{len(work.parts) + 1}"
    users = tuple(dict.fromkeys(view for owner in common.owners for view in work.users.get(owner, (owner,))))
    part = Compute(name, common.plan, f"for {', '.join(users)}", counted=True, shared=True)

    def refer(node: Relation) -> Relation:
        columns = common.occurrences.get(node)
        if columns is None:
            return node
        reference = Reference(name, common.plan.columns)
        if columns == reference.columns == node.columns:
            return reference
        named = zip(node.columns, columns, strict=True)
        return Project(reference, tuple(Named(own, column(shared)) for own, shared in named))

    done = _mapped(work, lambda plan: rewrite(plan, refer), common.owners)
    return SharedWork(done.scripts, _inputs_first((part, *done.parts)), {**work.users, name: users})


def _inputs_first(parts: tuple[Compute, ...]) -> tuple[Compute, ...]:
    plans = {part.name: part for part in parts}
    found: dict[str, Compute] = {}

    def place(part: Compute) -> None:
        for name in sorted(_references(part.plan) & plans.keys()):
            place(plans[name])
        found.setdefault(part.name, part)

    for part in parts:
        place(part)
    return tuple(found.values())


def _pruned(work: SharedWork) -> SharedWork:
    """The same with parts that hold only columns which someone uses."""
    scripts = _mapped(work, pruned).scripts
    work = replace(work, scripts=scripts)
    for part in reversed(work.parts):
        wanted = _wanted(work, part.name)
        work = _narrowed(work, part.name, tuple(name for name in part.plan.columns if name in wanted))
    return work


def _wanted(work: SharedWork, name: str) -> set[str]:
    """The columns of a part that scripts, and parts that come after it, use."""
    plans = [plan for script in work.scripts.values() for step in script for plan in _plans(step)]
    plans += [part.plan for part in work.parts]
    needed = (needed_columns(plan).items() for plan in plans if name in _references(plan))
    return {
        column
        for found in needed
        for node, columns in found
        if isinstance(node, Reference) and node.name == name
        for column in columns
    }


def _narrowed(work: SharedWork, name: str, columns: tuple[str, ...]) -> SharedWork:
    """The same with fewer columns of one part."""

    def refer(node: Relation) -> Relation:
        is_it = isinstance(node, Reference) and node.name == name
        return Reference(name, columns) if is_it else node

    done = _mapped(work, lambda plan: rewrite(plan, refer))
    parts = (
        replace(part, plan=pruned(restricted_to(part.plan, columns))) if part.name == name else part
        for part in done.parts
    )
    return replace(done, parts=tuple(parts))


def _mapped(
    work: SharedWork, change: Callable[[Relation], Relation], owners: Collection[str] | None = None
) -> SharedWork:
    """The same with the plans of all views and parts changed, or of these."""

    def over(owner: str, step: StepT) -> StepT:
        if not isinstance(step, (Compute, AppendLayer)) or (owners is not None and owner not in owners):
            return step
        return replace(step, plan=change(step.plan))

    scripts = {view: tuple(over(view, step) for step in script) for view, script in work.scripts.items()}
    return replace(work, scripts=scripts, parts=tuple(over(part.name, part) for part in work.parts))


def _plans(step: Step) -> tuple[Relation, ...]:
    return (step.plan,) if isinstance(step, (Compute, AppendLayer)) else ()


def _references(plan: Relation) -> set[str]:
    return {node.name for node in nodes(plan) if isinstance(node, Reference)}


def references_of(script: Script) -> set[str]:
    """The results that the plans of a script mention."""
    return {name for step in script for plan in _plans(step) for name in _references(plan)}
