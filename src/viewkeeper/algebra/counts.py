"""From implicit to explicit counts.

Delta rules speak of signed bags and never mention counts. Before a plan can run as SQL, its counts
become a column: `weighted(Q)` is an ordinary relation with the columns of Q and `__count`, and
the signed bag Q is the sum of its rows. `plain(Q)` has no such column and one row per copy; it is
defined where Q is a bag, and costs nothing where no input of Q carries counts.

    weighted(σ(Q)) = σ(weighted(Q))
    weighted(L ⋈ R) = counts multiply
    weighted(−Q)   = counts change sign
    γ, δ, ▷, …     = applied to the consolidated bag
"""

from __future__ import annotations

from functools import cache
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.build import (
    empty,
    filtered,
    is_empty,
    named_like,
    projected,
    renamed,
    restricted_to,
)
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    function,
    is_slow,
    literal,
    same,
)
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Bound,
    Consolidate,
    Difference,
    Distinct,
    Expand,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    JoinKind,
    Lateral,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.algebra.walk import children, with_children

ONE = Named(COUNT, exp.cast(literal(1), "bigint"))
ZERO = exp.cast(literal(0), "bigint")


@cache
def is_counted(rel: Relation) -> bool:
    """Whether the rows of `rel` come with counts: some input does, and no operator ended it."""
    match rel:
        case Scan():
            is_explicit = COUNT in rel.columns
            return not is_explicit and (rel.counted or rel.at is State.DELTA)
        case Reference():
            return rel.counted
        case Negate() | Consolidate():
            return True
        case Values() | Affected() | Expand() | Fixpoint():
            return False
        case Aggregate() | Distinct() | Window() | TopK() | Difference() | Intersection():
            return False
        case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
            return is_counted(rel.left)
        case Join(kind=JoinKind.INNER) | Filter() | Project() | Lateral() | UnionAll():
            return any(is_counted(child) for child in children(rel))
        case Join():
            return False
        case _:
            assert_never(rel)


@cache
def weighted(rel: Relation) -> Relation:
    """The signed bag `rel` as a relation with the explicit column `__count`."""
    if not is_counted(rel):
        explicit = plain(rel)
        if is_empty(explicit):
            return empty((*rel.columns, COUNT))
        return Project(explicit, (*same(rel.columns), ONE))
    match rel:
        case Scan():
            return _scan_with_count(rel)
        case Reference():
            return Reference(rel.name, (*rel.columns, COUNT))
        case Negate():
            minus = Named(COUNT, exp.Neg(this=column(COUNT)))
            return Project(weighted(rel.child), (*same(rel.columns), minus))
        case Consolidate():
            return consolidated(weighted(rel.child))
        case Filter():
            return Filter(weighted(rel.child), rel.condition)
        case Project():
            return Project(weighted(rel.child), (*rel.outputs, *same((COUNT,))))
        case Lateral():
            spread = Lateral(weighted(rel.child), rel.generator, rel.produced, rel.outer)
            return restricted_to(spread, (*rel.columns, COUNT))
        case UnionAll(inputs=(Distinct(child=now), Negate(child=Distinct(child=UnionAll(inputs=was))))) if (
            now == was[0] and rel.columns
        ):
            return _set_change(now, UnionAll(was[1:]))
        case UnionAll():
            return UnionAll(tuple(weighted(child) for child in rel.inputs))
        case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
            return Join(weighted(rel.left), *_probed(rel))
        case Join():
            return _weighted_join(rel)
        case _:
            raise AssertionError(f"{type(rel).__name__} ends counts")


@cache
def plain(rel: Relation) -> Relation:
    """The bag `rel` without a count column: a row with count n stands n times."""
    if is_counted(rel):
        return Expand(consolidated(weighted(rel)))
    match rel:
        case Affected():
            return _plain_affected(rel)
        case Distinct() if is_counted(rel.child):
            return _presence(rel.child, rel.exact)
        case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
            return Join(plain(rel.left), *_probed(rel))
        case _:
            return with_children(rel, tuple(plain(child) for child in children(rel)))


def consolidated(explicit: Relation) -> Relation:
    """Each row once, with the sum of its counts; no row whose counts cancel."""
    names = tuple(name for name in explicit.columns if name != COUNT)
    summed = _added_up(explicit, names, exact=True) if names else _sum_of_no_columns(explicit)
    return Filter(summed, exp.NEQ(this=column(COUNT), expression=literal(0)))


def _added_up(explicit: Relation, names: tuple[str, ...], exact: bool) -> Relation:
    """The counts of each row; or, if not `exact`, of all rows that are equal to SQL."""
    return Aggregate(explicit, same(names), (Named(COUNT, function("sum", column(COUNT))),), exact)


def _sum_of_no_columns(explicit: Relation) -> Relation:
    total = function("coalesce", function("sum", column(COUNT)), literal(0))
    return Aggregate(explicit, (), (Named(COUNT, total),))


def _probed(join: Join) -> tuple[Relation, JoinKind, Scalar]:
    """The set of rows that a semi-join looks for, and how it compares them: only those columns.

    A bag is consolidated for it, and less is read and added up when it is narrow. Conditions on the right
    side alone are met before.
    """
    right = set(join.right.columns)
    parts = [(one, bool(columns_of(one)) and columns_of(one) <= right) for one in conjuncts(join.on)]
    own, on = (conjunction([one for one, is_own in parts if is_own is wanted]) for wanted in (True, False))
    names = tuple(name for name in join.right.columns if name in columns_of(on))
    rows = _narrowed(join.right, own, names) if names else filtered(join.right, own)
    return _presence(rows, exact=True), join.kind, on


def _narrowed(rel: Relation, condition: Scalar, names: tuple[str, ...]) -> Relation:
    """The rows that meet a condition, and these columns of them; of a union, input by input."""
    if isinstance(rel, UnionAll):
        inputs = (named_like(one, rel.columns) for one in rel.inputs)
        return UnionAll(tuple(_narrowed(one, condition, names) for one in inputs))
    if isinstance(rel, Negate):
        return Negate(_narrowed(rel.child, condition, names))
    return restricted_to(filtered(rel, condition), names)


def _presence(rel: Relation, exact: bool = False) -> Relation:
    """The set of rows of a bag: those whose counts sum to more than zero.

    `exact`: rows that are equal may differ in the signs of zeros, and a condition may tell them apart.
    """
    if not is_counted(rel):
        return plain(rel)
    alive = Filter(_summed(rel, exact), exp.GT(this=column(COUNT), expression=literal(0)))
    return restricted_to(alive, rel.columns)


def _set_change(now: Relation, back: Relation) -> Relation:
    """`set(now) − set(now ⊎ back)`: rows whose counts became positive, less those whose counts were.

    One grouping tells both: the bag is not computed a second time to see what it was.
    """
    names, before = now.columns, "__before"
    here = weighted(now) if _slow_lookup(now) is None else _summed(now)
    stays = Project(here, (*same((*names, COUNT)), Named(before, column(COUNT))))
    gone = weighted(named_like(back, names))
    taken = Project(gone, (*same(names), Named(COUNT, ZERO), Named(before, column(COUNT))))
    sums = (Named(name, function("sum", column(name))) for name in (COUNT, before))
    both = Aggregate(UnionAll((stays, taken)), same(names), tuple(sums))
    change = exp.Sub(this=_is_positive(COUNT), expression=_is_positive(before))
    turned = Project(both, (*same(names), Named(COUNT, exp.cast(change, "bigint"))))
    return Filter(turned, exp.NEQ(this=column(COUNT), expression=literal(0)))


def _is_positive(name: str) -> Scalar:
    """1 where a count is more than zero, else 0."""
    positive = exp.GT(this=column(name), expression=literal(0))
    return exp.Case(ifs=[exp.If(this=positive, true=literal(1))], default=literal(0))


def _slow_lookup(rel: Relation) -> tuple[Relation, Scalar, tuple[Named, ...]] | None:
    """Looked-up rows, a condition that takes long to test, and what is asked of those that meet it."""
    match rel:
        case Project(child=Filter(child=Join(kind=JoinKind.SEMI) as found, condition=condition)):
            return (found, condition, rel.outputs) if is_slow(condition) else None
    return None


def _summed(rel: Relation, exact: bool = False) -> Relation:
    """The rows of a counted bag, each once, with the sum of its counts.

    What something was taken from is summed up for itself first: it is looked at without that too, and so
    read once for both.
    """
    if isinstance(rel, UnionAll) and any(isinstance(one, Negate) for one in rel.inputs):
        inputs = (weighted(one) if _is_taken(one) else _summed(one, exact) for one in rel.inputs)
        return _added_up(UnionAll(tuple(inputs)), rel.columns, exact)
    slow = _slow_lookup(rel)
    if slow is not None:
        return _summed_where(*slow, exact)
    return _added_up(weighted(rel), rel.columns, exact)


def _summed_where(found: Relation, condition: Scalar, outputs: tuple[Named, ...], exact: bool) -> Relation:
    """The sums of the rows that meet a condition, 0 where none does.

    Spark would move a filter below the look-up, and test every row that is stored: patterns in texts take
    longer than looking a row up. What is added up only if the condition holds stays where it is.
    """
    counted = exp.Case(ifs=[exp.If(this=condition.copy(), true=column(COUNT))])
    total = function("coalesce", function("sum", counted), literal(0))
    return Aggregate(weighted(found), outputs, (Named(COUNT, total),), exact)


def _is_taken(rel: Relation) -> bool:
    return isinstance(rel, Negate) or not is_counted(rel)


def _plain_affected(rel: Affected) -> Relation:
    source = weighted(rel.child) if is_counted(rel.child) else plain(rel.child)
    return Distinct(restricted_to(source, rel.columns))


def _scan_with_count(scan: Scan) -> Scan:
    count = Bound(COUNT, Column(COUNT, "bigint", nullable=False))
    return Scan(scan.table, (*scan.bound, count), scan.at, counted=False)


def _weighted_join(join: Join) -> Relation:
    left, right = join.left, join.right
    if not is_counted(right):
        return _keep_count(Join(weighted(left), plain(right), join.kind, join.on), join.columns)
    if not is_counted(left):
        return _keep_count(Join(plain(left), weighted(right), join.kind, join.on), join.columns)
    other = "__count_r"
    both = Join(weighted(left), renamed(weighted(right), {COUNT: other}), join.kind, join.on)
    product = Named(COUNT, exp.Mul(this=column(COUNT), expression=column(other)))
    return Project(both, (*same(join.columns), product))


def _keep_count(rel: Relation, columns: tuple[str, ...]) -> Relation:
    return projected(rel, same((*columns, COUNT)))
