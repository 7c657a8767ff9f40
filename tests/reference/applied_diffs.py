"""What applying i-diffs means (katsis15 section 2): layers that are merged are compared with this."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from viewkeeper.algebra.build import projected, restricted_to
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    function,
    literal,
    null_safe_match,
    same,
)
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Join, JoinKind, Project, Relation, UnionAll
from viewkeeper.maintenance.id_diffs.diffs import (
    Diff,
    DiffSchema,
    named_by,
)


def applied(rel: Relation, diff: Diff, ids: Sequence[str]) -> Relation:
    """APPLY: what `rel` is after the diff. `ids` are the IDs of `rel`."""
    schema = diff.schema
    match schema.kind:
        case DiffKind.DELETE:
            return named_by(rel, diff.rows, schema.ids, JoinKind.ANTI)
        case DiffKind.INSERT:
            rest = named_by(rel, diff.rows, ids, JoinKind.ANTI)
            return UnionAll((rest, restricted_to(diff.rows, rel.columns)))
        case DiffKind.UPDATE | DiffKind.MOVE:
            return _updated(rel, diff)


def _updated(rel: Relation, diff: Diff) -> Relation:
    schema, mark = diff.schema, "__named"
    theirs = {name: f"__diff_{name}" for name in (*schema.ids, *schema.updated)}
    outputs = (*(Named(theirs[n], column(n)) for n in theirs), Named(mark, exp.true()))
    on = null_safe_match((name, theirs[name]) for name in schema.ids)
    both = Join(rel, Project(diff.rows, outputs), JoinKind.LEFT, on)
    return projected(both, (_new_value(name, theirs, schema, mark) for name in rel.columns))


def _new_value(name: str, theirs: dict[str, str], schema: DiffSchema, mark: str) -> Named:
    if name not in schema.updated:
        return same((name,))[0]
    new = _total(name, theirs) if schema.kind is DiffKind.MOVE else column(theirs[name])
    case = exp.Case()
    if name in dict(schema.counts):
        none_left = exp.EQ(this=_total(dict(schema.counts)[name], theirs), expression=literal(0))
        case = case.when(and_(column(mark), none_left), exp.null())
    return Named(name, case.when(column(mark), new).else_(column(name)))


def _total(name: str, theirs: dict[str, str]) -> Scalar:
    old, by = (function("coalesce", column(part), literal(0)) for part in (name, theirs[name]))
    return exp.Add(this=old, expression=by)
