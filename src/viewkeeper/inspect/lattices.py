"""The lattice of all summaries of a warehouse: which views derive which (mumick97 section 5).

`refresh/lattice.py` says what the summaries that are refreshed together make of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.algebra.expressions import columns_of
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.maintenance.lattice.build import lattice
from viewkeeper.maintenance.lattice.draw import Drawing, drawing
from viewkeeper.maintenance.lattice.friendly import hidden_columns, lattice_friendly, with_hidden
from viewkeeper.maintenance.lattice.parents import Statistics, choose_for_views
from viewkeeper.maintenance.lattice.summary import (
    GroupingSets,
    Summary,
)
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.relation import RelationState
from viewkeeper.views import compiled


def sizes(relations: Mapping[str, RelationState]) -> dict[str, int]:
    """The rows that are stored of each relation."""
    return {name: state.stored_rows for name, state in relations.items()}


@dataclass(frozen=True)
class SummaryNode:
    """A stored summary of base tables: a view, or one grouping set of a view."""

    view: str
    summary: Summary

    @property
    def name(self) -> str:
        """The relation that stores it."""
        return self.summary.cube.name

    @property
    def title(self) -> str:
        """What people call it: a grouping set after its view and what it groups by."""
        grouped = (key.name for key in self.summary.cube.keys if columns_of(key.expr))
        return self.view if self.name == self.view else f"{self.view}({', '.join(grouped)})"


def stored_nodes(catalog: Catalog) -> dict[str, SummaryNode]:
    """All summaries of base tables that are stored, by relation."""
    found = []
    for definition in catalog.in_order():
        summary = compiled(definition, catalog).summary
        own = summary.nodes if isinstance(summary, GroupingSets) else (summary,)
        found += [SummaryNode(definition.name, node) for node in own if isinstance(node, Summary)]
    return {node.name: node for node in found if node.summary.cube.tables <= catalog.tables.keys()}


def summaries(catalog: Catalog) -> dict[str, Summary]:
    """The views over base tables that are generalized cube views."""
    return {name: node.summary for name, node in stored_nodes(catalog).items() if node.view == name}


def extensions(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """The hidden columns that make the views lattice-friendly (mumick97 section 5.2): of each view to which
    they are new."""
    friendly = lattice_friendly(with_hidden(summary.cube, ()) for summary in summaries(catalog).values())
    found = {cube.name: tuple(expr.sql() for expr in hidden_columns(cube)) for cube in friendly.views}
    return {name: hidden for name, hidden in found.items() if hidden != catalog.views[name].hidden}


def drawn(entry: Entry) -> Drawing:
    """The lattice of all views of a warehouse, with their sizes and the cheapest edge into each."""
    known = stored_nodes(entry.catalog)
    rows = sizes(entry.relations)
    titled = Statistics({**rows, **{node.title: rows[name] for name, node in known.items()}})
    nodes = lattice(node.summary.cube.renamed(node.title) for node in known.values())
    return drawing(nodes, titled.rows, choose_for_views(nodes, titled))
