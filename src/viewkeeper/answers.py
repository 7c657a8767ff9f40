"""Queries answered from views: mumick97 section 5.1, the derives relation used on a query.

A query that is a generalized cube view is answered from the cheapest fresh view that derives it, with the
answer that the base tables would give. What is no such query, or what no view derives, reads what it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.ddl.redefinition import is_outdated
from viewkeeper.errors import ViewkeeperError
from viewkeeper.inspect.lattices import sizes, stored_nodes
from viewkeeper.inspect.promises import keeps_promises
from viewkeeper.maintenance.lattice.answer import Answer, answer
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.edge import edge_query
from viewkeeper.maintenance.lattice.parents import Statistics
from viewkeeper.maintenance.lattice.recognise import cube_view
from viewkeeper.maintenance.lattice.summary import stored_edge
from viewkeeper.maintenance.summary_delta.state import visible
from viewkeeper.maintenance.typed_calls import with_types
from viewkeeper.report import Reason
from viewkeeper.seen import stale_views
from viewkeeper.spark.analysis import summed_types
from viewkeeper.spark.execute import Execution, Result
from viewkeeper.spark.session import DataFrame
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import render
from viewkeeper.sql.splice import with_names
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class QueryExplanation:
    """Which view answers a query, why not others, and the SQL that is run; no view: the query as it is."""

    view: str | None
    reason: Reason
    rejected: tuple[tuple[str, Reason], ...]
    sql: str

    def __str__(self) -> str:
        head = f"answered from {self.view}" if self.view else "answered from what it names"
        lines = [head, f"  {self.reason}", *(f"  not {name}: {reason}" for name, reason in self.rejected)]
        return "\n".join([*lines, "", self.sql])

    def to_dict(self) -> dict[str, Any]:
        return {
            "view": self.view,
            "reason": {"code": self.reason.code, "sentence": self.reason.sentence},
            "rejected": [{"view": n, "code": r.code, "sentence": r.sentence} for n, r in self.rejected],
            "sql": self.sql,
        }


@dataclass(frozen=True)
class _Found:
    """The summary that answers, which relation stores it, the plan over its rows, the state that it shows."""

    answer: Answer
    relation: str
    plan: Relation
    state: Draft


def explain_query(work: Workspace, sql: str, *, stale: bool = False) -> QueryExplanation:
    """How a query would be answered."""
    found, unfit = _answer(work, sql, work.log.latest(), stale)
    if isinstance(found, Reason):
        return QueryExplanation(None, Reason(found.code, _sentence(found)), unfit, sql.strip())
    best = found.answer
    reason = Reason("derives", f"{best.view.name} derives the query and is the cheapest that does.")
    rejected = tuple((name, _reason(why)) for name, why in best.rejected)
    return QueryExplanation(best.view.name, reason, (*rejected, *unfit), render(found.plan))


def answered(work: Workspace, sql: str, entry: Entry, plain_answer: DataFrame, stale: bool) -> DataFrame:
    """The answer of a query from a view, in the types of the plain answer; that one where no view serves."""
    found, _ = _answer(work, sql, entry, stale)
    if isinstance(found, Reason):
        return plain_answer
    execution = Execution(work.engine, found.state, {})
    source = work.reader.rows(found.state.relations[found.relation])
    execution.supply(found.relation, Result(source.frame, source.rows))
    return execution.shaped(found.plan, plain_answer)


def _answer(
    work: Workspace, sql: str, entry: Entry, stale: bool
) -> tuple[_Found | Reason, tuple[tuple[str, Reason], ...]]:
    """The cheapest view that derives a query, and the views that cannot be asked."""
    query = as_cube(work, sql, entry)
    if isinstance(query, Reason):
        return query, ()
    behind = set(stale_views(work.log, Draft(entry, "")))
    views, now = entry.catalog.views, work.settings
    stored_now = {
        name: node
        for name, node in stored_nodes(entry.catalog).items()
        if not is_outdated(views[node.view], entry.catalog, entry.relations)
    }
    known = {name: node for name, node in stored_now.items() if views[node.view].settings in (None, now)}
    other = sorted({node.view for name, node in stored_now.items() if name not in known})
    old = {
        n.view for n in known.values() if n.view in behind and (not stale or not _is_filled(entry, n.view))
    }
    usable = {node.title: node for node in known.values() if node.view not in old}
    unfit = (
        *((name, Reason("stale", f"{name} is not up to date.")) for name in sorted(old)),
        *((name, Reason("settings", f"{name} was defined under other settings.")) for name in other),
    )
    drafts = {name: Draft(_seen_by(work, entry, node.view), "query") for name, node in usable.items()}

    def stored(cube: CubeView) -> Relation:
        node = usable[cube.name]
        return node.summary.as_pieces(Reference(node.name, node.summary.state.columns))

    rows = sizes(entry.relations)
    statistics = Statistics({**rows, **{title: rows[node.name] for title, node in usable.items()}})
    found = answer(
        query,
        (node.summary.cube.renamed(title) for title, node in usable.items()),
        stored,
        statistics,
        lambda edge: keeps_promises(work, drafts[edge.parent.name], edge),
    )
    if isinstance(found, Reason):
        return found, unfit
    if found.cost > statistics.size(query.fact.name):
        return Reason("costly", f"reading {query.fact.name} itself costs less than {found.view.name}"), unfit
    draft = drafts[found.view.name]
    counted = frozenset(name for name, state in draft.relations.items() if state.has_pending_deletes)
    plan = visible(query, edge_query(stored_edge(found.edge, counted), stored(found.view)))
    return _Found(found, usable[found.view.name].name, plan, draft), unfit


def as_cube(work: Workspace, sql: str, entry: Entry) -> CubeView | Reason:
    """The query as a generalized cube view."""
    try:
        plan = parse_view(with_names(sql), entry.catalog).relation
    except ViewkeeperError as error:
        return Reason("untranslatable", str(error.what).rstrip("."))
    if plan is None:
        return Reason("untranslatable", "it has no plan")
    types = summed_types(work.engine, Draft(entry, "query"), plan)
    return cube_view(with_types(plan, types), entry.catalog.tables, "query")


def _is_filled(entry: Entry, name: str) -> bool:
    return entry.catalog.views[name].position is not None


def _seen_by(work: Workspace, entry: Entry, name: str) -> Entry:
    """The state that a view shows: its own rows, and the base tables as it last read them."""
    position = entry.catalog.views[name].position
    if position is None or position >= entry.version:
        return entry
    tables = {n: s for n, s in work.log.entry(position).relations.items() if n in entry.catalog.tables}
    return Entry(entry.version, entry.catalog, {**entry.relations, **tables})


def _reason(why: Reason | float) -> Reason:
    if isinstance(why, Reason):
        return Reason(why.code, _sentence(why))
    return Reason("dearer", f"It reads more: {why:,.0f} rows.")


def _sentence(refusal: Reason) -> str:
    return f"{refusal.sentence[:1].upper()}{refusal.sentence[1:]}."
