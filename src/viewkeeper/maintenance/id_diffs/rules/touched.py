"""What an aggregate must know of its input: the rows that changed, before and after, with a sign.

    changes  =  −(rows of Input^pre that some diff names)  ∪  +(what the diffs make of them)  ∪  +(new rows)

Both signs come from one look at the input, as the paper has it from UPDATE … RETURNING: the diffs are
applied to the rows that they name. All diffs of the input are needed at once: the operator *blocks*.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.algebra.build import empty, is_empty, projected, restricted_to, union_all
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    function,
    literal,
    not_,
    null_safe_match,
    or_,
    same,
)
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Lateral,
    Project,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import rewrite
from viewkeeper.maintenance.id_diffs.diffs import Diff, named_by, pre
from viewkeeper.maintenance.id_diffs.ids import Subview

SIGN = "__sign"
NEW_PREFIX = "__new_"
GONE = "__gone"


@dataclass(frozen=True)
class Fate:
    """What diffs can do to groups: begin or end their existence, and update some of their aggregates.

    Diffs that update other than grouping columns do neither of the first, and reach only the
    aggregates that look at those columns.
    """

    births: bool
    deaths: bool
    updated: tuple[str, ...]


def stay_in_their_groups(view: Subview, diffs: Sequence[Diff]) -> bool:
    """Whether all that happens to the input of an aggregate is one update of other than grouping columns."""
    return [diff.schema.kind for diff in diffs] == [DiffKind.UPDATE] and not (
        _grouping(view) & set(diffs[0].schema.updated)
    )


def _grouping(view: Subview) -> set[str]:
    assert isinstance(view.plan, Aggregate)
    return {name for key in view.plan.keys for name in columns_of(key.expr)}


def fate_of_groups(view: Subview, diffs: Sequence[Diff]) -> Fate:
    """What the diffs of its input can do to the groups of an aggregate."""
    assert isinstance(view.plan, Aggregate)
    grouping = _grouping(view)
    kinds = {diff.schema.kind for diff in diffs}
    updated = {name for d in diffs if d.schema.kind is DiffKind.UPDATE for name in d.schema.updated}
    births = bool(grouping & updated) or DiffKind.INSERT in kinds
    deaths = bool(grouping & updated) or DiffKind.DELETE in kinds
    calls = view.plan.aggregates
    reached = (item.name for item in calls if births or deaths or columns_of(item.expr) & updated)
    return Fate(births and bool(view.plan.keys), deaths and bool(view.plan.keys), tuple(reached))


def straight_from_the_tables(below: Subview, changed: Collection[str]) -> Relation:
    """The signed rows of an input without joins: those of its tables, filtered and projected.

    The plan has explicit counts already.
    """

    def changes(node: Relation) -> Relation:
        if not isinstance(node, Scan):
            return node
        return replace(node, at=State.DELTA) if node.table in changed else empty(node.columns)

    signed = weighted(rewrite(below.plan, changes))
    return projected(signed, (*same(below.columns), Named(SIGN, column(COUNT))))


def inserted_rows(below: Subview, diffs: Sequence[Diff]) -> Relation:
    """The rows that the diffs insert, each once: two diffs that insert a row agree on it."""
    rows = [restricted_to(d.rows, below.columns) for d in diffs if d.schema.kind is DiffKind.INSERT]
    return rows[0] if len(rows) == 1 else _distinct(union_all(rows, below.columns))


def touched_rows(below: Subview, diffs: Sequence[Diff], inserted: Relation) -> Relation:
    """The rows of the pre-state that some diff names: their old values, new values, and whether gone."""
    updates = [diff for diff in diffs if diff.schema.kind is DiffKind.UPDATE]
    if len(updates) == len(diffs) == 1:
        return updated_rows(below, updates[0])
    rel: Relation = below.at(State.OLD)
    new: dict[str, list[tuple[Scalar, Scalar]]] = {name: [] for name in below.columns}
    marks, gone = [], []
    for number, diff in enumerate(updates):
        rel, mark = _beside(rel, diff.rows, diff.schema.ids, diff.schema.updated, f"__u{number}")
        marks.append(mark)
        for name in diff.schema.updated:
            new[name].append((mark, column(f"__u{number}_{name}")))
    if not is_empty(inserted):
        rel, mark = _beside(rel, inserted, below.ids, below.attributes, "__i")
        marks.append(mark)
        for name in below.attributes:
            new[name].append((mark, column(f"__i_{name}")))
    for number, (ids, rows) in enumerate(_deletions(diffs)):
        rel, mark = _beside(rel, rows, ids, (), f"__d{number}")
        gone.append(mark)
    kept = _only_named(rel, [*marks, *gone])
    outputs = [Named(NEW_PREFIX + name, _latest(name, new[name])) for name in below.columns]
    return Project(kept, (*same(below.columns), *outputs, Named(GONE, or_(*gone) if gone else exp.false())))


def updated_rows(below: Subview, diff: Diff) -> Relation:
    """The rows that one update names. What it changes it has both values of: only the rest is looked up."""
    told = [name for name in diff.schema.updated if name in diff.schema.pre]
    new = {name: f"__u_{name}" for name in diff.schema.updated}
    old = {name: f"__u_{pre(name)}" for name in told}
    ids = {name: f"__u_{name}" for name in diff.schema.ids}
    values = (*((ids[n], n) for n in ids), *((new[n], n) for n in new), *((old[n], pre(n)) for n in told))
    known = Project(diff.rows, tuple(Named(mine, column(theirs)) for mine, theirs in values))
    rest = restricted_to(below.at(State.OLD), (name for name in below.columns if name not in told))
    both = Join(rest, known, JoinKind.INNER, null_safe_match(ids.items()))
    before = (Named(name, column(old.get(name, name))) for name in below.columns)
    after = (Named(NEW_PREFIX + name, column(new.get(name, name))) for name in below.columns)
    return Project(both, (*before, *after, Named(GONE, exp.false())))


def _only_named(rel: Relation, marks: list[Scalar]) -> Relation:
    """The rows that some diff names; with one diff, that is an inner join with it."""
    if len(marks) == 1 and isinstance(rel, Join):
        return replace(rel, kind=JoinKind.INNER)
    return Filter(rel, or_(*marks))


def _beside(
    rel: Relation, rows: Relation, ids: Sequence[str], values: Sequence[str], prefix: str
) -> tuple[Relation, Scalar]:
    """`rel` beside the values that a diff has for its rows, and the test whether it has any."""
    outputs = [Named(f"{prefix}_{name}", column(name)) for name in (*ids, *values)]
    marked = Project(rows, (*outputs, Named(prefix, exp.true())))
    on = null_safe_match((name, f"{prefix}_{name}") for name in ids)
    return Join(rel, marked, JoinKind.LEFT, on), function("coalesce", column(prefix), exp.false())


def _latest(name: str, values: list[tuple[Scalar, Scalar]]) -> Scalar:
    if not values:
        return column(name)
    case = exp.Case()
    for mark, value in values:
        case = case.when(mark.copy(), value)
    return case.else_(column(name))


def _deletions(diffs: Sequence[Diff]) -> list[tuple[tuple[str, ...], Relation]]:
    """The deleted IDs, one relation for each set of ID columns."""
    found: dict[tuple[str, ...], list[Relation]] = {}
    for diff in diffs:
        if diff.schema.kind is DiffKind.DELETE:
            ids = tuple(sorted(diff.schema.ids))
            found.setdefault(ids, []).append(restricted_to(diff.rows, ids))
    return [(ids, Distinct(union_all(rows, ids))) for ids, rows in found.items()]


def signed_changes(below: Subview, touched: Relation, inserted: Relation) -> Relation:
    """The touched rows as they were, negatively, and as they are; and the rows that are new.

    Both signs are made of each row in turn: the rows are found once.
    """
    columns = below.columns
    twice = Lateral(touched, exp.Explode(this=exp.Array(expressions=[literal(-1), literal(1)])), (SIGN,))
    is_old = exp.LT(this=column(SIGN), expression=literal(0))
    alive = Filter(twice, or_(is_old, not_(column(GONE))))
    values = (Named(name, _either(is_old, name)) for name in columns)
    both = Project(alive, (*values, *same((SIGN,))))
    added: Relation = empty((*columns, SIGN))
    if not is_empty(inserted):
        added = Project(named_by(inserted, touched, below.ids, JoinKind.ANTI), (*same(columns), _sign(1)))
    return union_all((both, added), (*columns, SIGN))


def _either(is_old: Scalar, name: str) -> Scalar:
    return exp.Case().when(is_old.copy(), column(name)).else_(column(NEW_PREFIX + name))


def asked_twice(below: Subview, diffs: Sequence[Diff]) -> Relation:
    """The signed changes of an input that is not stored: what the diffs name at OLD and at NEW."""
    old = [named_by(below.at(State.OLD), d.rows, d.schema.ids) for d in diffs]
    new = [_rows_now(below, d) for d in diffs if d.schema.kind is not DiffKind.DELETE]
    signed = [
        Project(_distinct(union_all(rows, below.columns)), (*same(below.columns), _sign(sign)))
        for sign, rows in ((-1, old), (1, new))
        if rows
    ]
    return union_all(signed, (*below.columns, SIGN))


def _rows_now(below: Subview, diff: Diff) -> Relation:
    if diff.schema.kind is DiffKind.INSERT:
        return restricted_to(diff.rows, below.columns)
    return named_by(below.at(State.NEW), diff.rows, diff.schema.ids)


def _distinct(rel: Relation) -> Relation:
    return rel if is_empty(rel) else Distinct(rel)


def _sign(value: int) -> Named:
    return Named(SIGN, literal(value))
