"""The views that could answer a workload: the queries themselves, and what lies above several of them.

    a ∨ b  =  GROUP BY keys(a) ∪ keys(b) ∪ columns that only one of them filters by, less what these determine

Two queries are answered from a ∨ b, which is the smallest view that both derive from (mumick97 sections 3.4
and 5.1). The candidates are a partial lattice: those of the queries and the views that exist, and of pairs
of them, and of pairs of these. A view that exists stands for all that has its groups: it is extended by
what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of, conjunction
from viewkeeper.maintenance.lattice.cube_view import CubeView, short
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.friendly import without_unessential_joins
from viewkeeper.maintenance.lattice.hierarchy import determined
from viewkeeper.maintenance.summary_delta.state import slug

MOST = 40
"""Candidates for one fact table; the queries that are asked most come first."""

Identity = tuple[frozenset[Scalar], frozenset[Scalar]]
"""What a view groups by and by what it filters: views that agree on both have the same groups."""


@dataclass(frozen=True)
class Proposal:
    """A candidate; `view` names the one that exists and would be it, extended by `lacks`."""

    cube: CubeView
    view: str | None = None
    lacks: tuple[Scalar, ...] = ()


def proposals(
    starts: Sequence[CubeView], existing: Mapping[str, CubeView], fixed: Iterable[str] = ()
) -> tuple[Proposal, ...]:
    """The candidates for queries in their `forms`, and those above several; `fixed` views are never
    extended."""
    facts = dict.fromkeys(cube.fact.name for cube in (*starts, *existing.values()))
    found: list[Proposal] = [Proposal(existing[name], name) for name in fixed]
    for fact in facts:
        own = {n: c for n, c in existing.items() if c.fact.name == fact and n not in fixed}
        found += _proposed([start for start in starts if start.fact.name == fact], own)
    return tuple(found)


def forms(query: CubeView, varies: bool = False) -> tuple[CubeView, ...]:
    """A query as views: one for all values of its conditions, and one for these alone, unless they vary."""
    return tuple(dict.fromkeys((general(query), *(() if varies else (_bare(query),)))))


def _proposed(starts: Sequence[CubeView], existing: Mapping[str, CubeView]) -> list[Proposal]:
    known: dict[Identity, CubeView] = {}
    places: dict[Identity, Identity] = {}
    owners: dict[Identity, str] = {}
    twins = []
    for name, cube in existing.items():
        if identity(cube) in owners:
            twins.append(Proposal(cube, name))
            continue
        owners[identity(cube)] = name
        known[identity(cube)] = cube
    _add(known, places, starts)
    for _ in range(2):
        _add(known, places, [above(a, b) for a, b in combinations(tuple(known.values()), 2)])
    return [*(_proposal(place, cube, owners, existing) for place, cube in known.items()), *twins]


def _add(
    known: dict[Identity, CubeView], places: dict[Identity, Identity], views: Iterable[CubeView]
) -> None:
    """Takes views in, those with equal groups as one that has the aggregates of both; `places` says where
    views are that were seen before."""
    for view in views:
        if _identity(view) not in places:
            lean = smallest(view)
            places[_identity(view)] = _identity(lean)
            if _identity(lean) not in known and len(known) < MOST:
                known[_identity(lean)] = lean
        place = places[_identity(view)]
        if place in known:
            known[place] = with_measures(known[place], view)


def only_with(view: CubeView, calls: frozenset[Scalar]) -> CubeView:
    """The view with just these of its aggregates; it counts, where there are none."""
    return _made(view, _keys(view), [m for m in view.all_measures if m.expr in calls], view.where)


def _proposal(
    place: Identity, cube: CubeView, owners: Mapping[Identity, str], existing: Mapping[str, CubeView]
) -> Proposal:
    if place not in owners:
        return Proposal(cube)
    name = owners[place]
    own = {measure.expr for measure in existing[name].all_measures}
    return Proposal(cube, name, tuple(m.expr for m in cube.all_measures if m.expr not in own))


def general(view: CubeView) -> CubeView:
    """The view without its conditions, by whose columns it groups too: it answers the query for other
    values."""
    lifted = [column(name) for name in sorted(_columns(view.where))]
    return _made(view, (*_keys(view), *lifted), view.all_measures, ())


def _bare(view: CubeView) -> CubeView:
    """The query as a view of its own."""
    return _made(view, _keys(view), view.all_measures, view.where)


def above(a: CubeView, b: CubeView) -> CubeView:
    """a ∨ b: the smallest view from which both can be computed."""
    where = tuple(c for c in a.where if c in b.where)
    apart = [c for c in (*a.where, *b.where) if c not in where]
    dimensions = (*a.dimensions, *(d for d in b.dimensions if d not in a.dimensions))
    keys = (*_keys(a), *_keys(b), *(column(name) for name in sorted(_columns(apart))))
    both = replace(a, dimensions=dimensions, hidden_keys=(), hidden_measures=())
    return _made(both, keys, (*a.all_measures, *b.all_measures), where)


def smallest(view: CubeView) -> CubeView:
    """The view without group-by columns that others determine, where it can still be computed without
    them."""
    for key in view.keys:
        kept = tuple(other for other in view.keys if other != key)
        less = without_unessential_joins(replace(view, keys=kept, outputs=_shown(kept, view.measures)))
        known = determined(less, view.dimensions)
        if key.is_column and columns_of(key.expr) <= known and isinstance(derives(view, less), Edge):
            view = less
    return view


def identity(view: CubeView) -> Identity:
    return _identity(smallest(_bare(view)))


def _identity(lean: CubeView) -> Identity:
    return frozenset(key.expr for key in lean.all_keys), frozenset(lean.where)


def _keys(view: CubeView) -> tuple[Scalar, ...]:
    return tuple(key.expr for key in view.all_keys)


def _columns(conditions: Iterable[Scalar]) -> frozenset[str]:
    return columns_of(conjunction(conditions))


def with_measures(view: CubeView, other: CubeView) -> CubeView:
    """The view with the aggregates of another one; where it exists they are added to its columns."""
    own = {measure.expr for measure in view.all_measures}
    more = tuple(m for m in other.measures if m.expr not in own)
    taken = {
        *(o.name for o in view.outputs),
        *(k.name for k in view.all_keys),
        *(m.name for m in view.measures),
    }
    named = tuple(Named(_free(measure_name(m.expr), taken), m.expr) for m in more)
    needed = frozenset().union(*(columns_of(m.expr) for m in named))
    missing = [d for d in other.dimensions if d not in view.dimensions and needed & set(d.attributes)]
    return replace(
        view,
        dimensions=(*view.dimensions, *missing),
        measures=(*view.measures, *named),
        outputs=(*view.outputs, *(Named(m.name, column(m.name)) for m in named)),
    )


def _made(
    view: CubeView, keys: Iterable[Scalar], measures: Iterable[Named], where: tuple[Scalar, ...]
) -> CubeView:
    """A view with these keys and aggregates, all shown, each once and with a name that says what it is."""
    taken: set[str] = set()
    named = tuple(Named(_free(key_name(expr), taken), expr) for expr in dict.fromkeys(keys))
    calls = dict.fromkeys(measure.expr for measure in measures) or {exp.Count(this=exp.Star()): None}
    values = tuple(Named(_free(measure_name(call), taken), call) for call in calls)
    made = replace(
        view,
        name="",
        keys=named,
        measures=values,
        where=where,
        outputs=_shown(named, values),
        hidden_keys=(),
        hidden_measures=(),
    )
    return without_unessential_joins(made)


def _shown(keys: Iterable[Named], measures: Iterable[Named]) -> tuple[Named, ...]:
    return tuple(Named(item.name, column(item.name)) for item in (*keys, *measures))


def key_name(expr: Scalar) -> str:
    """`stores[storeID].city` is shown as city."""
    names = sorted(columns_of(expr))
    return short(names[0]) if len(names) == 1 and expr == column(names[0]) else slug(expr).lower()


def measure_name(call: Scalar) -> str:
    """SUM(qty) is shown as sum_qty, COUNT(*) as count_all."""
    names = sorted({short(name) for name in columns_of(call)})
    function = str(getattr(call, "key", "value"))
    is_plain = len(names) == 1 and len(list(call.find_all(type(call)))) == 1 and call.this is not None
    if not names:
        return f"{function}_all"
    return f"{function}_{names[0]}" if is_plain and _is_column(call) else slug(call).lower()


def _is_column(call: Scalar) -> bool:
    value = call.this
    while getattr(value, "key", "") in ("cast", "paren"):
        value = value.this
    return getattr(value, "key", "") == "column"


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken."""
    found, number = name, 2
    while found.lower() in {one.lower() for one in taken}:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found
