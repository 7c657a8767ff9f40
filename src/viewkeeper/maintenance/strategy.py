"""The questions that every maintenance strategy answers.

refuse   may it maintain this view through this batch? A reason when not, never an exception.
state    which relations must be stored for it?
plan     the Δ-script of this batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.merge.spec import MergeSpec
from viewkeeper.algebra.relations import Fixpoint, Relation, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import base_tables, rewrite
from viewkeeper.delta.aggregate_state import AggregateState
from viewkeeper.maintenance.id_diffs import IdView
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.summary import GroupingSets, Summary
from viewkeeper.maintenance.recursion.port import ITERATION_LIMIT
from viewkeeper.maintenance.steps import Script, delta_name
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.maintenance.top_k import Buffer
from viewkeeper.report import Reason
from viewkeeper.rewrite.fresh_keys import FreshKeys


@dataclass(frozen=True)
class Stratum:
    """A stored relation that is defined by a query: a view, or state that a view needs.

    A stratum is a bag, the state of an aggregate, or a definition of a recursion. Of an aggregate,
    `query` is its input, `state` says what is stored, and `merge` how changes merge. Of a recursion,
    `query` is the fixpoint and `relations` says where each of its definitions is stored; definitions
    of one recursion are strata next to each other. `buffer`: only the first rows of `query` are
    stored. `query` is None where the view's SQL has no plan. `key`: what tells the rows of a bag apart.
    """

    name: str
    query: Relation | None
    state: AggregateState | None = None
    merge: MergeSpec | None = None
    relations: tuple[tuple[str, str], ...] = ()
    buffer: Buffer | None = None
    key: tuple[str, ...] = ()

    @property
    def fixpoint(self) -> Fixpoint | None:
        """The recursion that the stratum is a definition of."""
        return self.query if self.relations and isinstance(self.query, Fixpoint) else None


@dataclass(frozen=True)
class View:
    """A view as strategies see it: the last stratum is the view itself; `query` is the whole plan.

    `before` is the view whose rows are stored, where its definition has changed since; `limit` is
    how many rounds a recursion may take. `summary` is what the view is as a generalized cube view, or
    why it is none. `asked` is the strategy that its user asks for, and `by_ids` what that makes of it, or
    what it is by default: its IDs and Δ-script, or why it has none.
    """

    name: str
    sql: str
    columns: tuple[Column, ...]
    strata: tuple[Stratum, ...]
    untranslatable: str | None = None
    query: Relation | None = None
    before: View | None = None
    limit: int = ITERATION_LIMIT
    summary: Summary | GroupingSets | Reason | None = None
    asked: str = "auto"
    by_ids: IdView | Reason | None = field(default=None, compare=False)

    @property
    def top(self) -> Stratum:
        return self.strata[-1]


@dataclass(frozen=True)
class Stored:
    """How the inputs of a view and its own relations are stored.

    `counted` names the relations whose stored rows carry counts because deletions are pending; `keyed` the
    inputs whose layers merge by a key, so that their changes are looked up in what is stored. `columns` are
    those of the view's own relations, and `groups` about how many rows those that merge by a key have, in
    however many layers.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
    columns: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    keyed: frozenset[str] = frozenset()
    groups: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Offer:
    """What a lattice offers a view: `summary`, its summary-delta from that of another view or from one pass
    over the changes, and `anew`, its whole state from that of another view, of which some groups may be all
    that is asked for. `before` is the edge from a view whose rows, as they were, stand in for the fact table
    where a dimension has changed. `handed_on`: the summary-delta of another view comes from this one's."""

    summary: Relation | None = None
    anew: Relation | None = None
    before: tuple[Edge, Summary] | None = None
    handed_on: bool = False


@dataclass(frozen=True)
class Batch:
    """What a strategy is told of a refresh; each part is what one stage of the refresh found out.

    `fresh` are keys all of whose changed values are new or gone. `may_recompute`: where much of a view goes,
    computing that part anew is allowed. `is_read`: other views go through the changes of this one,
    and `is_told`: these do, or a table for other readers that follows it.
    """

    changes: Mapping[str, TableChange]
    stored: Stored = Stored()
    offer: Offer = Offer()
    fresh: tuple[FreshKeys, ...] = ()
    may_recompute: bool = True
    is_read: bool = False
    is_told: bool = False

    @property
    def changed(self) -> frozenset[str]:
        return frozenset(self.changes)

    @property
    def only_inserts(self) -> bool:
        return all(change.only_inserts for change in self.changes.values())

    @property
    def relevance(self) -> dict[str, Scalar]:
        """The conditions of changes that may matter, by table."""
        return {name: one.relevant for name, one in self.changes.items() if one.relevant is not None}


@dataclass(frozen=True)
class Progress:
    """How far a script has come: what has changed, and of what the script has computed the change."""

    changed: frozenset[str]
    computed: frozenset[str] = frozenset()

    def inputs(self, stratum: Stratum) -> frozenset[str]:
        """What a stratum reads that has changed."""
        return self.changed & set(base_tables(stratum.query)) if stratum.query is not None else frozenset()

    def only_from(self, stratum: Stratum) -> tuple[str, ...]:
        """The results that everything depends on; none when a base table changed as well."""
        inputs = self.inputs(stratum)
        return tuple(sorted(delta_name(name) for name in inputs)) if inputs <= self.computed else ()


class Strategy(Protocol):
    """A maintenance algorithm."""

    @property
    def name(self) -> str: ...

    def refuse(self, view: View, batch: Batch) -> Reason | None: ...

    def state(self, view: View) -> tuple[Stratum, ...]: ...

    def plan(self, view: View, batch: Batch) -> Script: ...


def bound(rel: Relation, counted: frozenset[str]) -> Relation:
    """The plan with its scans marked by whether the stored rows carry counts."""

    def mark(node: Relation) -> Relation:
        if isinstance(node, Scan) and node.table in counted:
            return Scan(node.table, node.bound, node.at, counted=True)
        return node

    return rewrite(rel, mark) if counted else rel
