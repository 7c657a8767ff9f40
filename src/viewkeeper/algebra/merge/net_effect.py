"""The net effect of a transaction, and the checks that it must pass, as algebra.

Staged changes are signed bags named by `Reference`; `state` is the table before the transaction.
A check is a query for offending rows; all checks of a transaction run as one Spark action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import apart, matching, projected, renamed, restricted_to, union_all
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    equal,
    function,
    literal,
    not_,
    null_safe_match,
    or_,
    same,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Consolidate,
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Negate,
    Project,
    Reference,
    Relation,
    TopK,
    UnionAll,
    Window,
)
from viewkeeper.algebra.schema import COUNT, ForeignKey, TableSchema
from viewkeeper.algebra.zeros import sign

SHOWN = 5
"""How many offending rows an error shows."""

COPIES_LEFT = "copies left"
"""The kind of the one check that finds no error: rows deleted from a bag, with copies that stay."""

_SIGN = "__sign"
_GIVEN = "__given"


def _where_deleted(deleted: Scalar, otherwise: Scalar) -> Scalar:
    """One value where a count is negative, another where it is not."""
    is_deleted = exp.LT(this=column(COUNT), expression=literal(0))
    return exp.Case(ifs=[exp.If(this=is_deleted, true=deleted)], default=otherwise)


def net_effect(staged: Relation) -> Relation:
    """One row per copy with count +1 or −1; what cancels within the transaction leaves no trace."""
    names = staged.columns
    total = weighted(staged if isinstance(staged, Consolidate) else Consolidate(staged))
    signed = Project(
        total,
        (
            *same(names),
            Named(_SIGN, _where_deleted(exp.cast(literal(-1), "bigint"), exp.cast(literal(1), "bigint"))),
            Named(COUNT, _where_deleted(exp.Neg(this=column(COUNT)), column(COUNT))),
        ),
    )
    return Project(Expand(signed), (*same(names), Named(COUNT, column(_SIGN))))


def rows_of_keys(current: Relation, keys: Relation) -> Relation:
    """The rows that the keys stand for, in the state that the transaction has reached."""
    return Consolidate(matching(current, keys))


def updated_rows(current: Relation, updates: Relation, key: Sequence[str]) -> Relation:
    """−(old rows) ⊎ (the same rows with the given columns replaced)."""
    old = rows_of_keys(current, restricted_to(updates, key))
    given, names = apart(old, updates)
    on = null_safe_match((name, names[name]) for name in key)
    both = Join(old, given, JoinKind.INNER, on)
    changed = [name for name in updates.columns if name not in key]
    new = projected(
        both,
        (Named(name, column(names[name] if name in changed else name)) for name in current.columns),
    )
    return UnionAll((Negate(old), new))


def stored_rows(current: Relation, asked: Relation, floats: Mapping[str, str]) -> Relation:
    """The rows to be deleted where some are given that may equal several: as many of those that are equal.

    The same rows come first, then those that differ in the signs of zeros (in the columns `floats`, of these
    types). Where there are too few, a row that was given stands for one that is missing.
    """
    names = asked.columns
    found = plain(matching(current, Distinct(asked)))
    sides = [
        Project(rel, (*same(names), Named(_GIVEN, literal(given))))
        for given, rel in enumerate((found, asked))
    ]
    signs = tuple(Named(f"__sign_{name}", sign(column(name), kind)) for name, kind in floats.items())
    rows = Project(UnionAll(tuple(sides)), (*same((*names, _GIVEN)), *signs))
    exactly = (*names, *(item.name for item in signs))
    numbers = (
        Named("__same", _over(function("sum", column(_GIVEN)), exactly)),
        Named("__equal", _over(function("sum", column(_GIVEN)), names)),
        Named("__copy", _over(exp.RowNumber(), (*exactly, _GIVEN), column(_GIVEN))),
    )
    is_same = exp.LTE(this=column("__copy"), expression=column("__same"))
    cases = [
        exp.If(this=equal(column(_GIVEN), literal(1)), true=literal(2)),
        exp.If(this=is_same, true=literal(0)),
    ]
    place = Named("__place", _over(exp.RowNumber(), names, exp.Case(ifs=cases, default=literal(1))))
    placed = Window(Window(rows, names, numbers), names, (place,))
    chosen = exp.LTE(this=column("__place"), expression=column("__equal"))
    return restricted_to(Filter(placed, chosen), names)


def _over(call: Scalar, partition: Sequence[str], order: Scalar | None = None) -> Scalar:
    ordering = None if order is None else exp.Order(expressions=[exp.Ordered(this=order)])
    return exp.Window(this=call, partition_by=[column(name) for name in partition], order=ordering)


@dataclass(frozen=True)
class RowCheck:
    """A query whose rows are wrong; `kind` says which error they are."""

    kind: str
    table: str
    offending: Relation
    detail: str = ""


def missing_keys(table: str, current: Relation, keys: Relation) -> RowCheck:
    """Keys to be deleted or updated for which no row exists; of the table only these keys are compared."""
    other, names = apart(keys, restricted_to(matching(current, keys), keys.columns))
    on = null_safe_match((name, names[name]) for name in keys.columns)
    return RowCheck("missing", table, Join(keys, other, JoinKind.ANTI, on))


def repeated_keys(table: str, keys: Relation) -> RowCheck:
    """Keys that one update names twice."""
    counted = Aggregate(plain(keys), same(keys.columns), (Named(COUNT, function("count", exp.Star())),))
    twice = Filter(counted, exp.GT(this=column(COUNT), expression=literal(1)))
    return RowCheck("duplicate", table, restricted_to(twice, keys.columns), "The update names it twice.")


def state_checks(schema: TableSchema, state: Relation, net: Relation, has_deletes: bool) -> list[RowCheck]:
    """What a table itself demands of its new rows: existence, keys, NOT NULL."""
    checks = _null_checks(schema, net)
    if has_deletes or schema.key:
        affected = Distinct(restricted_to(plain(_mentioned(net)), schema.key or net.columns))
        after = weighted(Consolidate(union_all((matching(state, affected), net), net.columns)))
        negative = Filter(after, exp.LT(this=column(COUNT), expression=literal(0)))
        checks.append(RowCheck("missing", schema.name, restricted_to(negative, net.columns)))
        if schema.key:
            checks.append(_duplicate_check(schema, after))
        else:
            checks.append(_copies_left(schema, after, net))
    return checks


def load_checks(schema: TableSchema, rows: Relation) -> list[RowCheck]:
    """The same of the first rows of a table: there is nothing that they could be missing from."""
    checks = _null_checks(schema, rows)
    return [*checks, _duplicate_check(schema, weighted(rows))] if schema.key else checks


def _copies_left(schema: TableSchema, after: Relation, net: Relation) -> RowCheck:
    """Deleted rows of which copies stay: nothing is wrong with them, but readers must count copies."""
    some = Filter(after, exp.GT(this=column(COUNT), expression=literal(0)))
    deleted = Filter(weighted(net), exp.LT(this=column(COUNT), expression=literal(0)))
    left = matching(restricted_to(some, net.columns), restricted_to(deleted, net.columns))
    return RowCheck(COPIES_LEFT, schema.name, left)


def _mentioned(net: Relation) -> Relation:
    """The explicit rows of a delta, whatever their counts."""
    return weighted(net)


def _required(schema: TableSchema) -> list[str]:
    return [c.name for c in schema.columns if not c.nullable or c.name in schema.key]


def _null_checks(schema: TableSchema, net: Relation) -> list[RowCheck]:
    if not _required(schema):
        return []
    is_null = or_(*[exp.Is(this=column(name), expression=exp.null()) for name in _required(schema)])
    inserted = exp.GT(this=column(COUNT), expression=literal(0))
    wrong = Filter(weighted(net), conjunction((is_null, inserted)))
    detail = f"Columns that take no NULL: {', '.join(_required(schema))}."
    return [RowCheck("null", schema.name, restricted_to(wrong, net.columns), detail)]


def _duplicate_check(schema: TableSchema, after: Relation) -> RowCheck:
    per_key = Aggregate(after, same(schema.key), (Named(COUNT, function("sum", column(COUNT))),))
    twice = Filter(per_key, exp.GT(this=column(COUNT), expression=literal(1)))
    return RowCheck("duplicate", schema.name, restricted_to(twice, schema.key))


def reference_check(schema: TableSchema, key: ForeignKey, net: Relation, parents: Relation) -> RowCheck:
    """Inserted rows whose foreign key finds no row; a key with a NULL refers to nothing."""
    own = _referring(net, key)
    return _unreferenced(schema.name, own, key, _referred(parents, own, key))


def load_reference_check(schema: TableSchema, key: ForeignKey, rows: Relation, parents: Relation) -> RowCheck:
    """The same of the first rows of a table, which may be more than those that they refer to."""
    return _unreferenced(schema.name, _referring(rows, key), key, parents)


def _referring(net: Relation, key: ForeignKey) -> Relation:
    inserted = Filter(weighted(net), exp.GT(this=column(COUNT), expression=literal(0)))
    return Distinct(restricted_to(_without_nulls(inserted, key.columns), key.columns))


def _referred(parents: Relation, own: Relation, key: ForeignKey) -> Relation:
    """The rows that these few foreign keys refer to: no other is compared."""
    return matching(parents, own, dict(zip(key.referenced, key.columns, strict=True)))


def orphan_check(
    schema: TableSchema, key: ForeignKey, children: Relation, net: Relation, parents: Relation
) -> RowCheck:
    """Rows that still refer to a deleted row of the referenced table."""
    deleted = Filter(weighted(net), exp.LT(this=column(COUNT), expression=literal(0)))
    gone = Distinct(restricted_to(deleted, key.referenced))
    pairs = dict(zip(key.columns, key.referenced, strict=True))
    still = Distinct(restricted_to(plain(matching(children, gone, pairs)), key.columns))
    return _unreferenced(schema.name, still, key, _referred(parents, still, key))


def _unreferenced(table: str, own: Relation, key: ForeignKey, parents: Relation) -> RowCheck:
    target = renamed(restricted_to(plain(parents), key.referenced), {n: f"__p_{n}" for n in key.referenced})
    on = conjunction(
        equal(column(mine), column(f"__p_{theirs}"))
        for mine, theirs in zip(key.columns, key.referenced, strict=True)
    )
    lost = Join(own, target, JoinKind.ANTI, on)
    return RowCheck("reference", table, lost, f"It refers to {key.table} ({', '.join(key.referenced)}).")


def _without_nulls(rel: Relation, names: Sequence[str]) -> Relation:
    present: list[Scalar] = [not_(exp.Is(this=column(name), expression=exp.null())) for name in names]
    return Filter(rel, conjunction(present))


def as_one_query(checks: Sequence[RowCheck]) -> Relation:
    """Up to five offending rows of every check, each as (number of the check, row as JSON)."""
    branches = []
    for number, check in enumerate(checks):
        few = TopK(plain(check.offending), (), SHOWN)
        row = exp.Anonymous(this="to_json", expressions=[_struct(few.columns), _WITH_NULLS.copy()])
        branches.append(Project(few, (Named("__check", literal(number)), Named("__row", row))))
    return branches[0] if len(branches) == 1 else UnionAll(tuple(branches))


_WITH_NULLS = exp.Anonymous(this="map", expressions=[literal("ignoreNullFields"), literal("false")])


def _struct(names: Sequence[str]) -> Scalar:
    return exp.Struct(expressions=[column(name) for name in names])


def signed(name: str, columns: Sequence[str]) -> Reference:
    return Reference(name, tuple(columns), counted=True)


__all__ = [
    "COPIES_LEFT",
    "RowCheck",
    "as_one_query",
    "load_checks",
    "load_reference_check",
    "missing_keys",
    "net_effect",
    "orphan_check",
    "reference_check",
    "repeated_keys",
    "rows_of_keys",
    "signed",
    "state_checks",
    "stored_rows",
    "updated_rows",
]
