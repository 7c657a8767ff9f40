"""What was chosen, as advice: statements, and what is read and stored with and without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viewkeeper.advise.advice import Advice, QueryAdvice, SummaryAdvice
from viewkeeper.advise.candidates import key_name
from viewkeeper.advise.greedy import AskedQuery
from viewkeeper.advise.known import Known, WorkloadQuery
from viewkeeper.algebra.build import fresh
from viewkeeper.algebra.inner_names import shown
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.text import select_text
from viewkeeper.report import Reason
from viewkeeper.sql.select_parts import identifier

ACTIONS = ("add", "extend", "keep", "drop")
"""In the order in which they are told, and done."""


def told(known: Known, after: Mapping[str, CubeView], budget: int | None) -> Advice:
    """The advice to have these summaries, and no others."""
    own = known.own
    names = _names(known, after)
    before_asked, after_asked = known.asked(own.values()), known.asked(after.values())
    kept = [_summary(known, names[name], cube, _useful(name, after_asked)) for name, cube in after.items()]
    gone = [_dropped(known, cube) for title, cube in own.items() if title not in after]
    queries = zip(known.queries, before_asked, after_asked, strict=True)
    return Advice(
        tuple(sorted((*kept, *gone), key=lambda one: (ACTIONS.index(one.action), -one.saves))),
        tuple(_query_advice(known, query, names, *both) for query, *both in queries),
        budget,
        sum(known.rows[name] for name in own),
        sum(known.rows[name] for name in after),
        sum(known.upkeep[name] for name in own),
        sum(known.upkeep[name] for name in after),
    )


def _names(known: Known, after: Mapping[str, CubeView]) -> dict[str, str]:
    """What the summaries are or will be called: new ones by their fact table and what they group by."""
    taken = [*known.draft.catalog.tables, *known.draft.catalog.views]
    found = {}
    for name, cube in after.items():
        keys = "_".join(key_name(key.expr) for key in cube.keys) or "all"
        keys += "_filtered" if cube.where else ""
        found[name] = name if name in known.nodes else fresh(f"{shown(cube.fact.name)}_by_{keys}", taken)
        taken.append(found[name])
    return found


def _useful(name: str, asked: Sequence[AskedQuery | None]) -> tuple[int, float]:
    """How many queries a summary answers, and what they read less than without it."""
    known = [query for query in asked if query is not None]
    saved = [q.times * (q.cost(set(q.costs) - {name}) - q.cost(q.costs)) for q in known]
    return sum(q.source(q.costs) == name for q in known), sum(saved)


def _summary(known: Known, called: str, cube: CubeView, useful: tuple[int, float]) -> SummaryAdvice:
    name, (answers, saves) = cube.name, useful
    own = known.own.get(name)
    of = f"{answers} of {len(known.queries)} queries"
    if own is None:
        action, reason, verb = "add", f"It answers {of}.", "CREATE"
    elif own != cube:
        lacked = len(cube.measures) - len(own.measures)
        columns = f"{lacked} more column{'s' * (lacked != 1)}"
        action, reason, verb = "extend", f"With {columns} it answers {of}.", "ALTER"
    else:
        action, reason, verb = "keep", known.pinned.get(name) or f"It answers {of}.", ""
    sql = f"{verb} MATERIALIZED VIEW {_quoted(called)} AS\n{select_text(cube)}" if verb else ""
    return SummaryAdvice(
        action,
        shown(called),
        tuple(shown(key.name) for key in cube.keys),
        known.rows[name],
        known.upkeep[name],
        round(saves),
        answers,
        reason,
        sql,
    )


def _dropped(known: Known, cube: CubeView) -> SummaryAdvice:
    keys = tuple(shown(key.name) for key in cube.keys)
    figures = known.rows[cube.name], known.upkeep[cube.name], 0, 0
    reason = "It saves less than its upkeep."
    sql = f"DROP MATERIALIZED VIEW {_quoted(cube.name)}"
    return SummaryAdvice("drop", shown(cube.name), keys, *figures, reason, sql)


def _query_advice(
    known: Known,
    query: WorkloadQuery,
    names: Mapping[str, str],
    before: AskedQuery | None,
    after: AskedQuery | None,
) -> QueryAdvice:
    sql, times = query.asked.sql, query.asked.times
    if before is None or after is None:
        rows = sum(known.rows.get(name, 0) for name in query.names)
        tables, why = ", ".join(sorted(map(shown, query.names))), query.cube
        assert isinstance(why, Reason)
        return QueryAdvice(sql, times, rows, tables, rows, tables, f"no summary answers it: {why.sentence}")
    assert isinstance(query.cube, CubeView)
    first, then = before.source(before.costs), after.source(after.costs)
    fact = shown(query.cube.fact.name)
    return QueryAdvice(
        sql,
        times,
        round(before.cost(before.costs)),
        fact if first is None else shown(first),
        round(after.cost(after.costs)),
        fact if then is None else shown(names[then]),
    )


def _quoted(name: str) -> str:
    return identifier(shown(name)).sql("spark")
