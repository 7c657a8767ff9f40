"""Table 8: π with functions. IDs pass; a function of updated attributes is an updated attribute.

    Δ⁺          π_D,f(X) Δ⁺
    Δ⁻          the pre-state values that are still known
    Δᵘ          f(X)_post and f(X)_pre from the diff, if it knows X
                Input^post ⋈ Δᵘ               for the functions that need more than the diff knows

Updates that change no shown value are left out where the diff can tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.algebra.build import fresh, projected
from viewkeeper.algebra.expressions import Named, column, columns_of, null_safe_match
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Join, JoinKind, Project, Relation, State
from viewkeeper.maintenance.id_diffs.diffs import Diff, DiffSchema, before, pre, truly_changed
from viewkeeper.maintenance.id_diffs.ids import Subview, columns_of_projection
from viewkeeper.maintenance.id_diffs.rules.change import Propagated, inserted


def projection(view: Subview, diff: Diff) -> Iterator[Propagated]:
    assert isinstance(view.plan, Project)
    match diff.schema.kind:
        case DiffKind.INSERT:
            yield inserted(view, projected(diff.rows, view.plan.outputs))
        case DiffKind.DELETE:
            yield _deletion(view, diff)
        case DiffKind.UPDATE:
            yield from _updates(view, diff)


def _attributes(view: Subview) -> list[Named]:
    assert isinstance(view.plan, Project)
    return [output for output in view.plan.outputs if output.name not in view.ids]


def _ids(view: Subview, schema: DiffSchema) -> list[Named]:
    names = columns_of_projection(view)
    return [Named(names[name], column(name)) for name in schema.ids]


def _before(view: Subview, schema: DiffSchema) -> list[Named]:
    """The outputs whose pre-state values the diff knows."""
    known = [o for o in _attributes(view) if columns_of(o.expr) <= schema.known_before]
    return [Named(output.name, before(output.expr, schema)) for output in known]


def _deletion(view: Subview, diff: Diff) -> Propagated:
    ids, old = _ids(view, diff.schema), _before(view, diff.schema)
    schema = DiffSchema(DiffKind.DELETE, view.name, _names(ids), _names(old))
    return Propagated(schema, projected(diff.rows, (*ids, *_as_pre(old))))


def _updates(view: Subview, diff: Diff) -> Iterator[Propagated]:
    schema = diff.schema
    touched = [o for o in _attributes(view) if columns_of(o.expr) & set(schema.updated)]
    told = [output for output in touched if columns_of(output.expr) <= schema.known_after]
    if told:
        yield _from_the_diff(view, diff, _names(told))
    if len(told) < len(touched):
        yield _from_the_input(view, diff, tuple(o.name for o in touched if o not in told))


def _from_the_diff(view: Subview, diff: Diff, updated: tuple[str, ...]) -> Propagated:
    schema = diff.schema
    ids, old = _ids(view, schema), _before(view, schema)
    new = [o for o in _attributes(view) if columns_of(o.expr) <= schema.known_after]
    out = DiffSchema(DiffKind.UPDATE, view.name, _names(ids), _names(old), _names(new), updated)
    rows = projected(diff.rows, (*ids, *_as_pre(old), *new))
    return Propagated(out, truly_changed(rows, out, updated))


def _from_the_input(view: Subview, diff: Diff, updated: tuple[str, ...]) -> Propagated:
    """Some function needs values that the diff does not know: they are asked of the input."""
    schema = diff.schema
    old, names = _before(view, schema), columns_of_projection(view)
    both = _beside_the_diff(view.inputs[0].at(State.NEW), diff.rows, schema)
    ids = [Named(names[name], column(name)) for name in view.inputs[0].ids]
    new = _attributes(view)
    out = DiffSchema(DiffKind.UPDATE, view.name, _names(ids), _names(old), _names(new), updated)
    rows = projected(both, (*ids, *_as_pre(old), *new))
    return Propagated(out, truly_changed(rows, out, updated))


def _beside_the_diff(rel: Relation, rows: Relation, schema: DiffSchema) -> Relation:
    """Each row of the input beside the pre-state values that the diff knows of it."""
    other = {name: fresh(f"{name}_k", rel.columns) for name in schema.ids}
    ids = (Named(other[name], column(name)) for name in schema.ids)
    known = projected(rows, (*ids, *(Named(pre(name), column(pre(name))) for name in schema.pre)))
    on = null_safe_match((name, other[name]) for name in schema.ids)
    return Join(rel, known, JoinKind.INNER, on)


def _names(items: list[Named]) -> tuple[str, ...]:
    return tuple(item.name for item in items)


def _as_pre(items: list[Named]) -> list[Named]:
    return [Named(pre(item.name), item.expr) for item in items]
