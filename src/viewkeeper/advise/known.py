"""What advice is founded on: the queries as cube views, the summaries that there are, and sizes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from viewkeeper.advise.candidates import forms
from viewkeeper.advise.greedy import AskedQuery
from viewkeeper.advise.workload import LoggedQuery
from viewkeeper.algebra.inner_names import shown
from viewkeeper.answers import as_cube
from viewkeeper.ddl.redefinition import is_outdated
from viewkeeper.inspect.lattices import SummaryNode, sizes, stored_nodes
from viewkeeper.inspect.promises import keeps_promises
from viewkeeper.maintenance.lattice.answer import cost_of
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.parents import Statistics
from viewkeeper.report import Reason
from viewkeeper.sql.splice import tables_read
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class WorkloadQuery:
    """A query of the workload: what it is as a cube view, or why it is none, and the relations it names."""

    asked: LoggedQuery
    cube: CubeView | Reason
    names: frozenset[str]


@dataclass
class Known:
    """A warehouse and its workload. `rows` and `upkeep` are by name: of tables, of summaries as people call
    them, and of candidates once they were counted. `pinned` summaries stay whatever is asked, for a
    reason."""

    work: Workspace
    draft: Draft
    queries: tuple[WorkloadQuery, ...]
    nodes: Mapping[str, SummaryNode]
    pinned: Mapping[str, str]
    rows: dict[str, int]
    upkeep: dict[str, int] = field(default_factory=dict)

    @property
    def own(self) -> dict[str, CubeView]:
        """The summaries that there are."""
        return {title: node.summary.cube.renamed(title) for title, node in self.nodes.items()}

    @property
    def cubes(self) -> list[CubeView]:
        """The queries that summaries can answer."""
        return [query.cube for query in self.queries if isinstance(query.cube, CubeView)]

    @property
    def forms(self) -> list[CubeView]:
        """What could be stored for each of them alone."""
        queries = ((query.cube, query.asked.varies) for query in self.queries)
        return [form for cube, v in queries if isinstance(cube, CubeView) for form in forms(cube, v)]

    def edge(self, query: CubeView, view: CubeView) -> Edge | None:
        """How a query is answered from a view: not where the tables cost less, or what was declared of them
        does not hold."""
        edge = derives(query, view)
        if isinstance(edge, Reason) or not keeps_promises(self.work, self.draft, edge):
            return None
        known = Statistics(self.rows)
        return edge if cost_of(edge, known) <= known.size(query.fact.name) else None

    def reads(self, query: CubeView, views: Iterable[CubeView]) -> dict[str, float]:
        """The rows that a query reads of each view that answers it, with the dimensions that are joined
        then."""
        edges = ((view.name, self.edge(query, view)) for view in views)
        return {
            name: self.rows[name] + sum(self.rows[table] for table in edge.annotation)
            for name, edge in edges
            if edge is not None
        }

    def asked(self, views: Collection[CubeView]) -> list[AskedQuery | None]:
        """Each query with what it reads of these views; none for one that summaries cannot answer."""
        return [
            None
            if isinstance(one.cube, Reason)
            else AskedQuery(one.asked.times, self.alone(one.cube), self.reads(one.cube, views))
            for one in self.queries
        ]

    def alone(self, query: CubeView) -> float:
        return sum(self.rows[table] for table in query.tables)


def known_of(work: Workspace, entry: Entry, logged: Iterable[LoggedQuery]) -> Known:
    """What a warehouse tells of itself, without a Spark action."""
    queries = tuple(_query(work, entry, one) for one in logged)
    catalog, now = entry.catalog, work.settings
    nodes = {
        node.title: node
        for node in stored_nodes(catalog).values()
        if catalog.views[node.view].settings in (None, now)
        and not is_outdated(catalog.views[node.view], catalog, entry.relations)
    }
    rows = sizes(entry.relations)
    rows |= {title: rows[node.name] for title, node in nodes.items()}
    why = {title: _why_pinned(title, node, entry, queries) for title, node in nodes.items()}
    pinned = {title: reason for title, reason in why.items() if reason}
    return Known(work, Draft(entry, "advise"), queries, nodes, pinned, rows)


def _query(work: Workspace, entry: Entry, one: LoggedQuery) -> WorkloadQuery:
    names = frozenset(entry.catalog.schema(name).name for name in tables_read(one.sql))
    return WorkloadQuery(one, as_cube(work, one.sql, entry), names)


def _why_pinned(title: str, node: SummaryNode, entry: Entry, queries: Iterable[WorkloadQuery]) -> str:
    """Why a summary stays; empty where that is to be decided."""
    above = entry.catalog.dependents(node.view)
    if above:
        return f"{', '.join(map(shown, above))} {'reads' if len(above) == 1 else 'read'} it."
    if any(node.view in query.names for query in queries):
        return "Queries name it."
    return "" if title == node.view else f"It is one of the grouping sets of {shown(node.view)}."


def fixed(known: Known) -> list[str]:
    """The summaries that cannot be extended by a statement: parts of other views, or made of others."""
    views = known.draft.catalog.views
    return [title for title, node in known.nodes.items() if title != node.view or views[node.view].above]
