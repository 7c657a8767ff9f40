"""Pre-aggregation: mumick97 section 4.1.3, Figure 7.

Joins with dimensions that no aggregate uses can wait until the changes are aggregated by what those
joins need: the group-by columns of the fact table and the foreign keys.

    γ_category(Δpos ⋈ items)  =  γ_category(γ_itemID(Δpos) ⋈ items)

The first aggregation is itself a cube view, and the second one the edge from it to the view, so that the
rewriting of SUM(A) to SUM(A * Y) is that of the lattice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from viewkeeper import limits
from viewkeeper.algebra.build import fresh
from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of
from viewkeeper.maintenance.lattice.cube_view import CubeView, Dimension, short
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts

JOIN_SHARE = 1.0
"""What joining a row with one dimension costs, beside reading and hashing it once."""


def preaggregated(view: CubeView, changes: BatchFacts) -> CubeView | None:
    """The cube view to aggregate first; none where no join can wait."""
    delayed = delayed_dimensions(view, changes)
    if not delayed:
        return None
    late = {name for dimension in delayed for name in dimension.attributes}
    where = tuple(c for c in view.where if not columns_of(c) & late)
    wanted = [*_early(view, late), *(column(n) for d in delayed for n in d.foreign if n not in late)]
    kept = tuple(d for d in view.dimensions if d not in delayed)
    keys = tuple(_named(dict.fromkeys(wanted)))
    return replace(
        view, name=f"pc_{view.name}", dimensions=kept, where=where, keys=keys, hidden_keys=(), outputs=()
    )


def delayed_dimensions(view: CubeView, changes: BatchFacts) -> tuple[Dimension, ...]:
    """Dimensions that did not change, that no aggregate uses, and that nothing early hangs on."""
    used = {name for measure in view.all_measures for name in columns_of(measure.expr)}
    late: list[Dimension] = []
    for dimension in reversed(view.dimensions):
        hanging = [d for d in view.dimensions if set(d.foreign) & set(dimension.attributes)]
        free = not used & set(dimension.attributes) and dimension.table not in changes.changed
        if free and all(d in late for d in hanging):
            late.append(dimension)
    return tuple(reversed(late))


def _early(view: CubeView, late: set[str]) -> Iterable[Scalar]:
    """What keys and delayed conditions need: whole expressions, or the early columns of mixed ones."""
    conditions = [c for c in view.where if columns_of(c) & late]
    for expr in (*(key.expr for key in view.all_keys), *conditions):
        if columns_of(expr) & late:
            yield from (column(name) for name in sorted(columns_of(expr) - late))
        elif columns_of(expr):
            yield expr


def _named(exprs: Iterable[Scalar]) -> Iterable[Named]:
    taken: list[str] = []
    for expr in exprs:
        only = next(iter(columns_of(expr)), "key")
        name = fresh(short(only), taken)
        taken.append(name)
        yield Named(name, expr)


def pays(view: CubeView, first: CubeView, changed_rows: int, groups: int) -> bool:
    """Whether to pre-aggregate, for this many changed rows that fall into this many first groups."""
    joins = len(view.dimensions) - len(first.dimensions)
    joined = 1 + JOIN_SHARE * joins
    return changed_rows + groups * joined + limits.LIMITS.aggregated_first < changed_rows * joined
