"""Advice for a warehouse: what it stores, what it is asked, and which summaries that is worth.

queries ─▶ candidates ─▶ groups counted, upkeep estimated ─▶ greedy choice ─▶ statements
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from viewkeeper.advise.advice import Advice
from viewkeeper.advise.candidates import Proposal, only_with, proposals, with_measures
from viewkeeper.advise.greedy import AskedQuery, Candidate, Pick, greedy
from viewkeeper.advise.groups import counted_groups, countings, upkeep, usual_changes
from viewkeeper.advise.known import Known, fixed, known_of
from viewkeeper.advise.told import told
from viewkeeper.advise.workload import LoggedQuery, QueryLog, Workload, given
from viewkeeper.algebra.counts import plain
from viewkeeper.errors import InvalidOption
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.strategy import bound
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.spark.execute import Execution
from viewkeeper.workspace import Workspace


def advise(
    work: Workspace,
    workload: Workload | None = None,
    budget: int | None = None,
    most: int | None = None,
    refreshes: float = 1.0,
) -> Advice:
    """Which summaries are worth their space and upkeep, for the queries given or those that were logged."""
    _check({"budget": budget, "most": most, "refreshes": refreshes})
    known = known_of(work, work.log.latest(), _queries(work, workload))
    offered = _named(proposals(known.forms, known.own, fixed(known)))
    _count(known, [one.cube for one in offered if one.view is None])
    known.upkeep |= {one.cube.name: _upkeep(known, one.cube) for one in offered}
    picks = _picks(known, offered, budget, most, refreshes)
    return told(known, _after(known, offered, [pick.name for pick in picks]), budget)


def _check(given_numbers: dict[str, float | None]) -> None:
    for name, value in given_numbers.items():
        if value is not None and value < 0:
            raise InvalidOption(
                f"{name} cannot be {value:g}.",
                "It is a number of things.",
                "Leave it out, or give one from 0 on.",
            )


def _queries(work: Workspace, workload: Workload | None) -> tuple[LoggedQuery, ...]:
    found = QueryLog(work.log.folder).queries() if workload is None else given(workload)
    if not found:
        raise InvalidOption(
            "There are no queries to give advice for.",
            "The workload is empty." if workload is not None else "The warehouse has logged none.",
            "Give a workload, or open the warehouse with log_queries=True and ask again later.",
        )
    return found


def _named(found: Iterable[Proposal]) -> list[Proposal]:
    """What exists under its own name, what does not under one that only serves here."""
    return [
        replace(one, cube=one.cube.renamed(one.view or f"candidate {number}"))
        for number, one in enumerate(found)
    ]


def _count(known: Known, cubes: Sequence[CubeView]) -> None:
    """Adds about how many groups candidates would have: one Spark action for each fact table."""
    pending = frozenset(n for n, state in known.draft.relations.items() if state.has_pending_deletes)
    known.rows |= {cube.name: 1 for cube in cubes if not cube.all_keys}
    for together in countings(cube for cube in cubes if cube.all_keys):
        plan = plain(bound(counted_groups(together), pending))
        frame = Execution(known.work.engine, known.draft, {}).frame(plan)
        [row] = known.work.engine.rows(frame, 1)
        known.rows |= {cube.name: row[cube.name] for cube in together}


def _upkeep(known: Known, cube: CubeView) -> int:
    state = known.draft.relations[cube.fact.name]
    inserts = bool(state.log) and all(layer.only_inserts for layer in state.log)
    change = TableChange(usual_changes(state), only_inserts=inserts)
    taken = upkeep(cube, known.rows[cube.name], change, known.rows)
    return taken.rows_read + taken.rows_written


def _picks(
    known: Known, offered: Iterable[Proposal], budget: int | None, most: int | None, refreshes: float
) -> tuple[Pick, ...]:
    """The greedy choice, given that pinned views stay: they take their space, and what lacks nothing is no
    choice."""
    open_ = [one for one in offered if one.view not in known.pinned or one.lacks]
    stays = [known.own[title] for title in known.pinned]
    space = None if budget is None else max(0, budget - sum(known.rows[view.name] for view in stays))
    queries = [
        replace(asked, alone=min([asked.alone, *(there.costs.values())]))
        for asked, there in zip(known.asked([one.cube for one in open_]), known.asked(stays), strict=True)
        if isinstance(asked, AskedQuery) and isinstance(there, AskedQuery)
    ]
    return greedy([_candidate(known, one, refreshes) for one in open_], queries, space, most)


def _candidate(known: Known, one: Proposal, refreshes: float) -> Candidate:
    name = one.cube.name
    if one.view in known.pinned:
        return Candidate(name, 0, exists=True)
    return Candidate(name, known.rows[name], refreshes * known.upkeep[name], one.view is not None)


def _after(known: Known, offered: Iterable[Proposal], picked: Collection[str]) -> dict[str, CubeView]:
    """The summaries that there will be, each with the aggregates that queries take from it."""
    own, by_name = known.own, {one.cube.name: one for one in offered}
    views = {title: own[title] for title in known.pinned} | {name: by_name[name].cube for name in picked}
    reads = [(query, known.reads(query, views.values())) for query in known.cubes]

    def used(name: str) -> list[CubeView]:
        return [query for query, costs in reads if name in costs and costs[name] == min(costs.values())]

    found = {}
    for name, view in views.items():
        if name in own:
            found[name] = _extended(known, own[name], by_name[name], used(name))
        else:
            calls = frozenset(m.expr for query in used(name) for m in query.all_measures)
            found[name] = only_with(view, calls).renamed(name)
    return found


def _extended(known: Known, own: CubeView, offer: Proposal, uses: Iterable[CubeView]) -> CubeView:
    """A view that exists, with what queries that it cannot answer yet need of the offer."""
    lacking = [query for query in uses if known.edge(query, own) is None]
    calls = {m.expr for query in lacking for m in query.all_measures} & set(offer.lacks)
    if not calls:
        return own
    return with_measures(
        own, replace(offer.cube, measures=tuple(m for m in offer.cube.measures if m.expr in calls))
    )
