"""Groups and partitions that are computed anew: their old answer is read where it is stored, not evaluated.

    N = R_new ⋉ A,   A = groups or partitions that δR mentions
    Δ σπω(R) = σπω(N) − stored ⋉ A

Evaluated a second time, the old answer need not be the stored one to the last bit: a sum in floating point
depends on the order of its rows, and so do COLLECT_LIST and ANY_VALUE. It would cancel nothing, and both rows
would stay. It costs less, too: R is read at one state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.algebra.build import minus, projected
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.relations import Aggregate, Filter, Project, Relation, Window
from viewkeeper.algebra.walk import with_children
from viewkeeper.delta.aggregate_state import aggregate_state
from viewkeeper.rewrite.keys import mentioned, sources
from viewkeeper.rewrite.restrict import restrict, restrict_by

_EXACT = (
    *(exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead),
    *(exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.NthValue, exp.AnyValue),
    *(exp.Count, exp.CountIf, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr),
)
"""Window functions that pick, compare or count: no value of theirs depends on how Spark orders its rows."""


@dataclass(frozen=True)
class StoredAnswer:
    """A query that filters and projects groups or partitions, each of which it shows the key of.

    `keys` are the key's columns in the query's result, by their names in the aggregate or window.
    """

    query: Relation
    core: Aggregate | Window
    keys: tuple[tuple[str, str], ...]

    def over(self, child: Relation) -> Relation:
        """The query over other rows."""
        return _with_core(self.query, replace(self.core, child=child))

    def delta(self, stored: Relation, change: Relation) -> Relation:
        """The change of the stored answer, given that of the input below the groups."""
        if not self.keys:
            return minus(self.over(self.core.child), stored)
        groups = self._mentioned(change)
        near = restrict_by(self.core.child, groups, tuple((key.expr, key.name) for key in self._named_keys))
        return minus(self.over(near), restrict(stored, groups, {shown: own for own, shown in self.keys}))

    @property
    def _named_keys(self) -> tuple[Named, ...]:
        if isinstance(self.core, Aggregate):
            return self.core.keys
        return tuple(Named(name, column(name)) for name in self.core.partition)

    def _mentioned(self, change: Relation) -> Relation:
        return mentioned(projected(change, self._named_keys), (key.name for key in self._named_keys))


def stored_answer(query: Relation) -> StoredAnswer | None:
    """The query as groups or partitions that are computed anew, if it is that and shows their keys."""
    core = query
    shown: dict[str, str] = {name: name for name in query.columns}
    while isinstance(core, (Filter, Project)):
        if isinstance(core, Project):
            inner = sources(core.outputs)
            shown = {name: inner[own] for name, own in shown.items() if own in inner}
        core = core.child
    if not isinstance(core, (Aggregate, Window)) or not is_computed_anew(core):
        return None
    places = {own: name for name, own in reversed(shown.items())}
    names = core.key_names if isinstance(core, Aggregate) else core.partition
    if not all(name in places for name in names):
        return None
    return StoredAnswer(query, core, tuple((name, places[name]) for name in names))


def is_computed_anew(rel: Relation) -> bool:
    """Whether a group's answer is computed from all its rows, and need not be the same each time."""
    match rel:
        case Aggregate():
            return aggregate_state(rel) is None
        case Window():
            return not all(isinstance(_call(item), _EXACT) for item in rel.functions)
        case _:
            return False


def inside_core(query: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """The query with something done to the aggregate or window below its filters and projections."""
    if isinstance(query, (Filter, Project)):
        return with_children(query, (inside_core(query.child, change),))
    return change(query)


def _with_core(query: Relation, core: Relation) -> Relation:
    return inside_core(query, lambda _: core)


def _call(item: Named) -> exp.Expr:
    """The function of a window, without FILTER and IGNORE NULLS."""
    call: exp.Expr = item.expr.this
    while isinstance(call, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        call = call.this
    return call
