"""Which views get their summary-deltas from one pass over the changes of their fact table.

Those that neither take their summary-delta from another nor hand it on, that go through the same changes of
one fact table, and whose dimensions are as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from viewkeeper import limits
from viewkeeper.algebra.expressions import Scalar
from viewkeeper.maintenance.aggregates import must_look
from viewkeeper.maintenance.lattice.one_pass import OnePass, one_pass
from viewkeeper.refresh.task import Task
from viewkeeper.spark.arrow import has_plain_types


def planned_passes(members: Iterable[Task]) -> dict[str, OnePass]:
    """The pass that each view gets its summary-delta from; views that are alone in theirs need none."""
    found: dict[str, OnePass] = {}
    for alike in _together([member for member in members if may_pass(member)]):
        for views in _few_enough(_by_one_value(alike)):
            if len(views) > 1:
                one = _pass_of(f"__pass__{len(found) + 1}", views)
                found |= {member.name: one for member in views}
    return found


def _by_one_value(views: Sequence[Task]) -> Sequence[Task]:
    """All views where nothing is summed up by value, else those with extremes of one argument at most whose
    sums may be summed up again: those of a DECIMAL would have another type, and lose digits when added."""
    if all(_has_constant_extremes(view) for view in views):
        return views
    return [view for view in views if len(_arguments(view)) < 2 and not _has_typed_sums(view)]


def _has_typed_sums(member: Task) -> bool:
    return any(part.type for part in member.summary.state.parts)


def _arguments(member: Task) -> set[Scalar | None]:
    return {part.argument for part in member.summary.state.extremes}


def _pass_of(name: str, views: Sequence[Task]) -> OnePass:
    constant = all(_has_constant_extremes(view) for view in views)
    looking = [view.name for view in views if _looks_up(view)]
    return one_pass(name, [view.summary for view in views], constant, looking)


def may_pass(member: Task) -> bool:
    """Whether only the fact table of a view has changed, the driver can write what is stored of it, and its
    extremes are of one argument: for more its rows would be summed up by value more than once."""
    cube, batch = member.summary.cube, member.batch
    of_facts = batch.changed == {cube.fact.name} and all(d.table != cube.fact.name for d in cube.dimensions)
    # Without keys there is a group even where no change counts in it, and a pass has no row for that.
    looks = not cube.all_keys and _looks_up(member)
    plain = has_plain_types(batch.stored.columns.get(member.name, ()))
    by_one_value = len(_arguments(member)) < 2 or _has_constant_extremes(member)
    return of_facts and plain and not looks and by_one_value


def _looks_up(member: Task) -> bool:
    return must_look(member.view.top, member.batch, member.batch.changed)


def _has_constant_extremes(member: Task) -> bool:
    """Whether all rows hold what is an extreme of some: they are insertions, and have one value of it."""
    summary, change = member.summary, member.batch.changes.get(member.summary.cube.fact.name)
    if change is None or not summary.state.extremes:
        return not summary.state.extremes
    return change.only_inserts and summary.extremes_of <= change.constants


def _together(members: Sequence[Task]) -> list[list[Task]]:
    """Views that last read the same state of the same fact table."""
    found: list[list[Task]] = []
    for member in members:
        alike = (views for views in found if _fact(views[0]) == _fact(member))
        views = next(alike, None)
        if views is None:
            found.append([member])
        else:
            views.append(member)
    return found


def _fact(member: Task) -> tuple[str, object]:
    name = member.summary.cube.fact.name
    return name, member.old[name]


def _few_enough(members: Sequence[Task]) -> Iterator[Sequence[Task]]:
    """As many views at a time as the driver can hold the groups of."""
    if not members:
        return
    fact = members[0].summary.cube.fact.name
    changed = max(member.batch.changes[fact].rows for member in members)
    most = max(1, limits.LIMITS.pass_fetched // max(1, changed))
    yield from (members[start : start + most] for start in range(0, len(members), most))
