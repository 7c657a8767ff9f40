"""Reading main and ID-based diffs as one relation: katsis15's APPLY, for all layers at once.

Diffs come in the order of `__seq`. A row is born with main, or with the last insertion of its IDs;
of the later diffs that name it, a deletion ends it, and of every column the last update counts:

    rows  =  (main ▷ Δ⁺) ∪ last(Δ⁺)
    value =  rows ▷ last(Δ⁻)  ⟕  last(Δᵘ₁)  ⟕ …           each where Δ.__seq > row's
             ⟕  γ_key,sum(Δ±)                              of moves after the last of Δ⁺ and Δᵘ

Diffs of one schema need one look, however many layers they come from: for a key only the last of them
matters, and of moves their sum. Keys match NULL-safely. Plans refer to `main` and to the diffs by
`Reference`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from viewkeeper.algebra.build import renamed, restricted_to, union_all
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    conjunction,
    function,
    literal,
    not_,
    null_safe_match,
    or_,
    same,
)
from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.merge.spec import DiffKind, IdDiff
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Window,
)
from viewkeeper.algebra.schema import WIDE, WIDE_SUM, Column

_BORN = "__born"


@dataclass(frozen=True)
class DiffRows:
    """All rows of the layers of one schema; `several`: of more than one layer."""

    schema: IdDiff
    rows: Relation
    several: bool = False


def identified(
    main: Relation, diffs: Sequence[DiffRows], stored: Iterable[Column] = (), wide: Collection[str] = ()
) -> Relation:
    """The relation after all diffs, with the columns of main; what moved has the type that is stored.

    The moves of the columns in `wide` may add up to more than their type has room for on the way.
    """
    inserts = [last(diff) for diff in diffs if diff.schema.kind is DiffKind.INSERT]
    rows = _born(main, inserts, _ids(diffs))
    for diff in diffs:
        if diff.schema.kind is DiffKind.DELETE:
            other, names = _named(last(diff), "__gone_")
            rows = Join(rows, other, JoinKind.ANTI, _later(rows, diff.schema, names))
    updates = [diff for diff in diffs if diff.schema.kind is DiffKind.UPDATE]
    types = {column.name: column.type for column in stored}
    return _moved(_updated(rows, updates, main.columns), diffs, types, wide)


def last(diff: DiffRows) -> Relation:
    """For each key the last row of a schema's diffs; of moves, what they add up to."""
    if not diff.several:
        return diff.rows
    if diff.schema.kind is DiffKind.MOVE:
        return _added_up(diff.rows, diff.schema)
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


def can_fold(diffs: Iterable[IdDiff]) -> bool:
    """Whether diffs of one schema can become one: not where values were set between moves of them."""
    schemas = tuple(diffs)
    moved = {name for schema in schemas if schema.kind is DiffKind.MOVE for name in schema.sets}
    return moved.isdisjoint(
        name for schema in schemas if schema.kind is not DiffKind.MOVE for name in schema.sets
    )


def _added_up(moves: Relation, schema: IdDiff, wide: Collection[str] = ()) -> Relation:
    values = {name: exp.cast(column(name), WIDE) if name in wide else column(name) for name in schema.sets}
    sums = [Named(name, function("sum", value)) for name, value in values.items()]
    newest = Named(SEQUENCE, function("max", column(SEQUENCE)))
    return restricted_to(Aggregate(moves, same(schema.key), (*sums, newest)), moves.columns)


def _moved(
    rows: Relation, diffs: Sequence[DiffRows], types: Mapping[str, str], wide: Collection[str]
) -> Relation:
    """The rows with all that they moved by; a sum of which no value is left is NULL."""
    columns = rows.columns
    counts: dict[str, str] = {}
    amounts: dict[str, list[str]] = {name: [] for name in columns}
    for number, diff in enumerate(diff for diff in diffs if diff.schema.kind is DiffKind.MOVE):
        counts |= dict(diff.schema.counts)
        for place, (names, moves) in enumerate(_since_set(diff, diffs, wide)):
            shown = restricted_to(moves, (*diff.schema.key, *names))
            other, theirs = _named(shown, f"__move{number}_{place}_")
            match = null_safe_match((name, theirs[name]) for name in diff.schema.key)
            rows = Join(rows, other, JoinKind.LEFT, match)
            for name in names:
                amounts[name].append(theirs[name])
    if not any(amounts.values()):
        return rows
    steps = {name: WIDE_SUM if name in wide else kind for name, kind in types.items()}
    values = (_moved_value(name, amounts, counts.get(name), steps) for name in columns)
    values = (exp.cast(v, types[n]) if n in wide else v for n, v in zip(columns, values, strict=True))
    return Project(rows, tuple(Named(name, value) for name, value in zip(columns, values, strict=True)))


def _moved_value(
    name: str, amounts: Mapping[str, Sequence[str]], count: str | None, types: Mapping[str, str]
) -> Scalar:
    if not amounts[name]:
        return column(name)
    has_moved = or_(*(not_(exp.Is(this=column(by), expression=exp.null())) for by in amounts[name]))
    new = _total(name, amounts, types.get(name))
    case = exp.Case()
    if count is not None:
        none_left = exp.EQ(this=_total(count, amounts), expression=literal(0))
        case = case.when(and_(has_moved.copy(), none_left), exp.null())
    return case.when(has_moved, new).else_(column(name))


def _total(name: str, amounts: Mapping[str, Sequence[str]], stored: str | None = None) -> Scalar:
    """The sum of a value and its moves, each step in a type: SQL cuts longer ones."""

    def typed(expr: Scalar) -> Scalar:
        return exp.cast(expr, exp.DataType.build(stored, dialect="spark")) if stored else expr

    parts = [typed(function("coalesce", column(part), literal(0))) for part in (*amounts[name], name)]
    return reduce(lambda one, other: typed(exp.Add(this=one, expression=other)), parts)


def _since_set(
    diff: DiffRows, diffs: Sequence[DiffRows], wide: Collection[str]
) -> Iterator[tuple[tuple[str, ...], Relation]]:
    """What moves add up to after the last diffs that set a column, or made the row; columns that the same
    diffs set go together."""
    absolute = [other for other in diffs if other.schema.kind in (DiffKind.INSERT, DiffKind.UPDATE)]
    together: dict[tuple[int, ...], list[str]] = {}
    for name in diff.schema.sets:
        setting = tuple(n for n, other in enumerate(absolute) if name in other.schema.sets)
        together.setdefault(setting, []).append(name)
    for setting, names in together.items():
        rows = diff.rows
        for number in setting:
            rows = _after(rows, absolute[number], f"__since{number}_")
        yield tuple(names), _added_up(rows, diff.schema, wide)


def _after(moves: Relation, setting: DiffRows, prefix: str) -> Relation:
    """The moves that came after the last diff of a schema that sets what they move."""
    last_set = restricted_to(last(setting), (*setting.schema.key, SEQUENCE))
    other, names = _named(last_set, prefix)
    match = null_safe_match((name, names[name]) for name in setting.schema.key)
    at = column(names[SEQUENCE])
    never = exp.Is(this=at, expression=exp.null())
    later = exp.GT(this=column(SEQUENCE), expression=at.copy())
    return restricted_to(Filter(Join(moves, other, JoinKind.LEFT, match), or_(never, later)), moves.columns)


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


__all__ = ["DiffRows", "can_fold", "identified", "last", "touched"]
