"""Reading main and ID-based diffs as one relation: katsis15's APPLY, for all layers at once.

Diffs come in the order of `__seq`. A row is born with main, or with the last insertion of its IDs;
of the later diffs that name it, a deletion ends it, and of every column the last update counts:

    rows  =  (main ▷ Δ⁺) ∪ last(Δ⁺)
    value =  rows ▷ last(Δ⁻)  ⟕  last(Δᵘ₁)  ⟕ …           each where Δ.__seq > row's

Diffs of one schema need one look, however many layers they come from: for a key only the last of them
matters. Keys match NULL-safely. Plans refer to `main` and to the diffs by `Reference`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import renamed, restricted_to, union_all
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    function,
    literal,
    not_,
    null_safe_match,
    same,
)
from viewkeeper.algebra.relations import Distinct, Filter, Join, JoinKind, Project, Relation, Window
from viewkeeper.algebra.schema import Column
from viewkeeper.storage.layers import SEQUENCE
from viewkeeper.storage.relation import DiffKind, IdDiff, Layer, RelationState

_BORN = "__born"


@dataclass(frozen=True)
class DiffRows:
    """All rows of the layers of one schema; `several`: of more than one layer."""

    schema: IdDiff
    rows: Relation
    several: bool = False


def by_schema(layers: Iterable[Layer]) -> dict[IdDiff, tuple[Layer, ...]]:
    """The layers of each schema, in their order."""
    found: dict[IdDiff, tuple[Layer, ...]] = {}
    for layer in layers:
        assert layer.diff is not None
        found[layer.diff] = (*found.get(layer.diff, ()), layer)
    return found


def diff_schema(state: RelationState, diff: IdDiff) -> tuple[Column, ...]:
    """The columns that a layer of this schema stores."""
    names = {*diff.key, *diff.sets}
    return (*(c for c in state.columns if c.name in names), Column(SEQUENCE, "bigint"))


def identified(main: Relation, diffs: Sequence[DiffRows]) -> Relation:
    """The relation after all diffs, with the columns of main."""
    inserts = [last(diff) for diff in diffs if diff.schema.kind is DiffKind.INSERT]
    rows = _born(main, inserts, _ids(diffs))
    for diff in diffs:
        if diff.schema.kind is DiffKind.DELETE:
            other, names = _named(last(diff), "__gone_")
            rows = Join(rows, other, JoinKind.ANTI, _later(rows, diff.schema, names))
    updates = [diff for diff in diffs if diff.schema.kind is DiffKind.UPDATE]
    return _updated(rows, updates, main.columns)


def last(diff: DiffRows) -> Relation:
    """For each key the last row of a schema's diffs."""
    if not diff.several:
        return diff.rows
    keys = [column(name) for name in diff.schema.key]
    newest = exp.Window(this=function("max", column(SEQUENCE)), partition_by=keys)
    beside = Window(diff.rows, diff.schema.key, (Named("__last", newest),))
    is_newest = exp.EQ(this=column(SEQUENCE), expression=column("__last"))
    return restricted_to(Filter(beside, is_newest), diff.rows.columns)


def touched(rel: Relation, diffs: Sequence[DiffRows]) -> Relation:
    """The rows of `rel` that some diff names, each once. IDs do not change, so old and new states agree."""
    by_key: dict[tuple[str, ...], list[Relation]] = {}
    for diff in diffs:
        by_key.setdefault(diff.schema.key, []).append(restricted_to(diff.rows, diff.schema.key))
    rest, found = rel, []
    for key, rows in by_key.items():
        keys = Distinct(union_all(rows, key)) if key else union_all(rows, key)
        other, names = _named(keys, "__named_")
        on = null_safe_match((name, names[name]) for name in key)
        found.append(Join(rest, other, JoinKind.SEMI, on))
        rest = Join(rest, other, JoinKind.ANTI, on)
    return union_all(found, rel.columns)


def _ids(diffs: Sequence[DiffRows]) -> tuple[str, ...]:
    """All IDs: what insertions name rows by."""
    return next((d.schema.key for d in diffs if d.schema.kind is DiffKind.INSERT), ())


def _born(main: Relation, inserts: Sequence[Relation], ids: tuple[str, ...]) -> Relation:
    """Stored and inserted rows, with the place of their beginning where that matters."""
    if not inserts:
        return main
    [rows] = inserts
    other, names = _named(restricted_to(rows, ids), "__new_")
    on = null_safe_match((name, names[name]) for name in ids)
    stored = Project(
        Join(main, other, JoinKind.ANTI, on),
        (*same(main.columns), Named(_BORN, exp.cast(literal(0), "bigint"))),
    )
    new = Project(rows, (*same(main.columns), Named(_BORN, column(SEQUENCE))))
    return union_all((stored, new), stored.columns)


def _named(rel: Relation, prefix: str) -> tuple[Relation, dict[str, str]]:
    names = {name: f"{prefix}{name}" for name in rel.columns}
    return renamed(rel, names), names


def _later(rows: Relation, schema: IdDiff, names: dict[str, str]) -> Scalar:
    """The diff names the row, and came after it."""
    match = null_safe_match((name, names[name]) for name in schema.key)
    if _BORN not in rows.columns:
        return match
    after = exp.GT(this=column(names[SEQUENCE]), expression=column(_BORN))
    return conjunction((match, after)) if schema.key else after


def _updated(rows: Relation, updates: Sequence[DiffRows], columns: Sequence[str]) -> Relation:
    candidates: dict[str, list[tuple[Scalar, Scalar]]] = {name: [] for name in columns}
    for number, diff in enumerate(updates):
        other, names = _named(last(diff), f"__set{number}_")
        rows = Join(rows, other, JoinKind.LEFT, _later(rows, diff.schema, names))
        for name in diff.schema.sets:
            candidates[name].append((column(names[SEQUENCE]), column(names[name])))
    return Project(rows, tuple(Named(name, _value(name, candidates[name])) for name in columns))


def _value(name: str, candidates: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    """The value that the last of the updates set; the row's own where none did."""
    if not candidates:
        return column(name)
    case = exp.Case()
    for place, (at, value) in enumerate(candidates):
        tests: list[Scalar] = [not_(exp.Is(this=at.copy(), expression=exp.null()))]
        for other, _ in (*candidates[:place], *candidates[place + 1 :]):
            known = function("coalesce", other.copy(), literal(0))
            tests.append(exp.GT(this=at.copy(), expression=known))
        case = case.when(conjunction(tests), value.copy())
    return case.else_(column(name))


__all__ = ["DiffRows", "by_schema", "diff_schema", "identified", "last", "touched"]
