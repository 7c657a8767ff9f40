"""Reading main and layers as one relation: mumick97's summary-delta join, as algebra.

One formula serves every kind of layer. With K the keys that the layers touch:

    main ⊕ L  =  (main ▷ K)  ∪  γ_key,ops((main ⋉ K) ∪ L)

Rows that no layer touches pass through; K is small and broadcast, so main is never shuffled.
Bags are the case key = all columns and ADD(__count), where insertions need not even be merged.
Plans here have explicit counts and refer to `main` and to layers by `Reference`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp, parse_one

from viewkeeper.algebra.build import apart, restricted_to, union_all
from viewkeeper.algebra.counts import ONE, consolidated
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
from viewkeeper.algebra.merge.spec import MergeSpec, Operator
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Lateral,
    Project,
    Relation,
    UnionAll,
    Window,
)
from viewkeeper.algebra.schema import COUNT, Column

SEQUENCE = "__seq"
"""The column of a keyed layer's rows that orders layers."""

REPLACES = "__replaces"
"""The column of a keyed layer's rows: whether they stand instead of what came before."""

_SIDE = "__side"


def counted_bag(main: Relation, layers: Relation | None) -> Relation:
    """A bag as signed rows, unconsolidated: nothing is merged, whoever reads it adds up."""
    rows = Project(main, (*same(main.columns), ONE))
    return rows if layers is None else UnionAll((rows, restricted_to(layers, rows.columns)))


def merged_bag(main: Relation, layers: Relation, key: Sequence[str], nullable: bool = False) -> Relation:
    """The rows of a bag, one per copy. Only rows of main that the net change deletes are looked at twice.

    `nullable`: some column of the key may be NULL, as IDs of a union are.
    """
    net = consolidated(restricted_to(layers, (*main.columns, COUNT)))
    gone = _deleted(net)
    kept = (_rows_but(main, gone, key, nullable),) if key else _bag_but(main, gone)
    return UnionAll((*kept, restricted_to(Expand(_inserted(net)), main.columns)))


def bag_whole(main: Relation, layers: Relation) -> Relation:
    """The same, all copies counted: for few rows, where a small plan is worth more than few rows handled."""
    return restricted_to(Expand(consolidated(counted_bag(main, layers))), main.columns)


def bag_in_turn(
    main: Relation, layers: Sequence[tuple[Relation, bool]], key: Sequence[str], nullable: bool = False
) -> Relation:
    """A bag whose layers leave no copy of what they delete: copies need not be counted, nor main read twice.

        (main ▷ D₁ ∪ … ∪ Dₙ)  ∪  (I₁ ▷ D₂ ∪ … ∪ Dₙ)  ∪  …  ∪  Iₙ

    Every layer is one transaction's net effect, oldest first, with whether it inserts anything. Deletions
    from a relation with a key are found by it, and always are of this kind.
    """
    kept: list[Relation] = []
    later: list[Relation] = []
    for layer, inserts in reversed(layers):
        if inserts:
            kept.append(_but(restricted_to(_inserted(layer), main.columns), later, key, nullable))
        later.append(_deleted(layer) if inserts else layer)
    return union_all((_but(main, later, key, nullable), *kept), main.columns)


def _but(rows: Relation, deleted: Sequence[Relation], key: Sequence[str], nullable: bool) -> Relation:
    if not deleted:
        return rows
    gone = deleted[0] if len(deleted) == 1 else UnionAll(tuple(deleted))
    if key:
        return _rows_but(rows, gone, key, nullable)
    return _other_rows(rows, restricted_to(gone, rows.columns))


def _deleted(layer: Relation) -> Relation:
    return Filter(layer, exp.LT(this=column(COUNT), expression=literal(0)))


def _inserted(layer: Relation) -> Relation:
    return Filter(layer, exp.GT(this=column(COUNT), expression=literal(0)))


def _rows_but(main: Relation, gone: Relation, key: Sequence[str], nullable: bool) -> Relation:
    """What is left of a keyed relation: a key that is gone was there once. Most keys are never NULL."""
    other, names = apart(main, restricted_to(gone, key))
    if nullable:
        return Join(main, other, JoinKind.ANTI, null_safe_match((name, names[name]) for name in key))
    on = conjunction(exp.EQ(this=column(name), expression=column(names[name])) for name in key)
    return Join(main, other, JoinKind.ANTI, on)


def _other_rows(rows: Relation, gone: Relation) -> Relation:
    """The rows that equal none of `gone`: by one number first, then column by column.

    Columns that differ are counted, because Spark would make join keys of plain equalities, and hash
    every row of main by all of its columns twice.
    """
    other, names = apart(rows, Project(gone, (*same(gone.columns), Named("__hash", _hash(gone.columns)))))
    same_hash = exp.EQ(this=_hash(rows.columns), expression=column("__hash"))
    differing: list[Scalar] = [
        exp.cast(not_(null_safe_match([(name, names[name])])), "int") for name in rows.columns
    ]
    none = exp.EQ(this=reduce(_plus, differing), expression=literal(0))
    return Join(rows, other, JoinKind.ANTI, conjunction((same_hash, none)))


def _plus(left: Scalar, right: Scalar) -> Scalar:
    return exp.Add(this=left, expression=right)


def _bag_but(main: Relation, gone: Relation) -> tuple[Relation, ...]:
    """What is left of a bag: copies are counted only where a row may be among those that are gone.

    Rows are compared by a hash, which is one number whatever the columns; what it takes for equal
    by chance is counted too, and stays.
    """
    hashes = Project(gone, (Named("__hash", _hash(main.columns)),))
    same_hash = exp.EQ(this=_hash(main.columns), expression=column("__hash"))
    near = Project(Join(main, hashes, JoinKind.SEMI, same_hash), (*same(main.columns), ONE))
    left = Expand(consolidated(UnionAll((near, gone))))
    return Join(main, hashes, JoinKind.ANTI, same_hash), restricted_to(left, main.columns)


def _hash(names: Sequence[str]) -> Scalar:
    return function("xxhash64", *(column(name) for name in names))


def merged(
    main: Relation, layers: Relation, spec: MergeSpec, columns: Sequence[Column], replacing: bool
) -> Relation:
    """A keyed relation and its layers: each column by its operator, dead groups dropped.

    `replacing`: some layer's rows stand instead of what came before them (`__replaces`), in the
    order of `__seq`; the rows of other layers merge with what came before.
    """
    keys = Distinct(restricted_to(layers, spec.key))
    near = _having(main, keys, JoinKind.SEMI)
    untouched = restricted_to(_having(main, keys, JoinKind.ANTI), (c.name for c in columns))
    return UnionAll((untouched, merged_whole(near, layers, spec, columns, replacing)))


def merged_whole(
    main: Relation, layers: Relation, spec: MergeSpec, columns: Sequence[Column], replacing: bool
) -> Relation:
    """The same where every row of main takes part: there are few, or there is one group."""
    changes = restricted_to(layers, layer_columns(spec)) if replacing else _merging(layers, spec)
    rows = _with_main(main, changes, spec, replacing)
    return _finished(_combined(rows, spec, replacing), spec, columns)


def changes(
    before: Sequence[Relation], later: Relation, spec: MergeSpec, columns: Sequence[Column], replacing: bool
) -> Relation:
    """Some groups as they were, negative, and as later layers make them, in one pass, with counts.

    `before` are the stored rows of these groups, and their rows in earlier layers if there are any.
    """
    sided = replace(spec, key=(*spec.key, _SIDE))
    main, *earlier = before
    stored = _first(main, spec) if replacing else restricted_to(main, _merged_columns(spec))
    names = stored.columns
    known = union_all((stored, *(restricted_to(rel, names) for rel in earlier)), names)
    sides = function("explode", function("array", exp.Neg(this=literal(1)), literal(1)))
    new = Project(later, (*same(names), Named(_SIDE, literal(1))))
    rows = _combined(UnionAll((Lateral(known, sides, (_SIDE,)), new)), sided, replacing)
    shown = (*columns, Column(_SIDE, "bigint"))
    return Project(
        _finished(rows, sided, shown), (*same(c.name for c in columns), Named(COUNT, column(_SIDE)))
    )


def replaced(
    main: Relation, layers: Relation, spec: MergeSpec, columns: Sequence[Column], several: bool
) -> Relation:
    """A keyed relation every row of whose layers stands instead of what came before: the last one counts.

    Main is not looked up for these keys. `several`: there is more than one layer.
    """
    names = tuple(c.name for c in columns)
    last = _last_of_each(layers, spec) if several else layers
    untouched = restricted_to(_having(main, restricted_to(layers, spec.key), JoinKind.ANTI), names)
    return UnionAll((untouched, _finished(last, spec, columns)))


def from_whole(layers: Relation, spec: MergeSpec, columns: Sequence[Column], several: bool) -> Relation:
    """A keyed relation from a layer that holds all its rows, and from `several` more that came after it."""
    rows = restricted_to(layers, layer_columns(spec))
    return _finished(_combined(rows, spec, True) if several else rows, spec, columns)


def _last_of_each(layers: Relation, spec: MergeSpec) -> Relation:
    newest = Named("__last", _over_group(function("max", column(SEQUENCE)), spec.key))
    is_last = exp.EQ(this=column(SEQUENCE), expression=column("__last"))
    return Filter(Window(layers, spec.key, (newest,)), is_last)


def layer_columns(spec: MergeSpec) -> tuple[str, ...]:
    """What a layer of a keyed relation stores: keys, merged columns, and its place in the order."""
    return (*_merged_columns(spec), SEQUENCE, REPLACES)


def folded(layers: Relation, spec: MergeSpec) -> Relation:
    """Several layers as one, without main: a group whose count is zero still matters."""
    last = Named(SEQUENCE, function("max", column(SEQUENCE)))
    replaces = Named(REPLACES, function("bool_or", column(REPLACES)))
    rows = _since_replaced(restricted_to(layers, layer_columns(spec)), spec)
    return _summed(rows, spec, (last, replaces))


def _merged_columns(spec: MergeSpec) -> tuple[str, ...]:
    return (*spec.key, *(name for name, _ in spec.operators))


def _merging(layers: Relation, spec: MergeSpec) -> Relation:
    return restricted_to(layers, _merged_columns(spec))


def _with_main(main: Relation, changes: Relation, spec: MergeSpec, replacing: bool) -> Relation:
    """Stored rows come before all layers, and replace nothing: there is nothing before them."""
    rows = _first(main, spec) if replacing else restricted_to(main, _merged_columns(spec))
    return UnionAll((rows, changes))


def _first(main: Relation, spec: MergeSpec) -> Relation:
    order = (Named(SEQUENCE, exp.cast(literal(0), "bigint")), Named(REPLACES, exp.true()))
    return Project(main, (*same(_merged_columns(spec)), *order))


def _combined(rows: Relation, spec: MergeSpec, replacing: bool) -> Relation:
    return _summed(_since_replaced(rows, spec) if replacing else rows, spec)


def _since_replaced(rows: Relation, spec: MergeSpec) -> Relation:
    """The rows of a key from the last one that replaces on; all, where none does."""
    replacing = exp.Case(ifs=[exp.If(this=column(REPLACES), true=column(SEQUENCE))])
    last = Named("__last", _over_group(function("max", replacing), spec.key))
    beside = Window(rows, spec.key, (last,))
    since = function("coalesce", column("__last"), literal(0))
    recent = exp.GTE(this=column(SEQUENCE), expression=since)
    return restricted_to(Filter(beside, recent), rows.columns)


def _summed(rows: Relation, spec: MergeSpec, more: tuple[Named, ...] = ()) -> Relation:
    merges = tuple(Named(name, _merge(operator, name)) for name, operator in spec.operators)
    return Aggregate(_only_holders(rows, spec), same(spec.key), (*merges, *more))


def _only_holders(rows: Relation, spec: MergeSpec) -> Relation:
    """Rows whose extreme is not the group's count no holders of it."""
    if not spec.holders:
        return rows
    operators = dict(spec.operators)
    best = {extreme: f"__best{extreme}" for _, extreme in spec.holders}
    functions = tuple(
        Named(name, _over_group(_merge(operators[extreme], extreme), spec.key))
        for extreme, name in best.items()
    )
    beside = Window(rows, spec.key, functions)
    counts = {at: _where_equal(at, extreme, best[extreme]) for at, extreme in spec.holders}
    return Project(beside, tuple(Named(name, counts.get(name, column(name))) for name in rows.columns))


def _over_group(call: Scalar, key: Sequence[str]) -> Scalar:
    return exp.Window(this=call, partition_by=[column(name) for name in key])


def _where_equal(at: str, extreme: str, best: str) -> Scalar:
    equal = exp.EQ(this=column(extreme), expression=column(best))
    return exp.Case(ifs=[exp.If(this=equal, true=column(at))], default=literal(0))


def _merge(operator: Operator, name: str) -> Scalar:
    match operator:
        case Operator.ADD | Operator.HOLDERS:
            return function("sum", column(name))
        case Operator.MIN:
            return function("min", column(name))
        case Operator.MAX:
            return function("max", column(name))
        case Operator.SET:
            raise AssertionError("SET belongs to relations with IDs: see id_layers")


def _finished(rows: Relation, spec: MergeSpec, columns: Sequence[Column]) -> Relation:
    """Drops dead rows, computes derived columns, and gives every column its stored type.

    Stored columns are corrected first (a sum of no values is NULL) and have their types: visible ones derive
    from them, and the quotient of a sum has a scale that depends on the sum's.
    """
    kinds = {c.name: c for c in columns}
    if spec.alive is not None and spec.key:
        rows = Filter(rows, exp.GT(this=column(spec.alive), expression=literal(0)))
    derived = {name: parsed_expression(text) for name, text in spec.derived}
    merged_columns = tuple((n, derived.get(n, column(n))) for n in _merged_columns(spec))
    stored = Project(
        rows, tuple(Named(n, typed(e, kinds[n]) if n in kinds else e) for n, e in merged_columns)
    )
    shown = {name: expr for name, expr in derived.items() if name not in stored.columns}
    return Project(stored, tuple(Named(c.name, typed(shown.get(c.name, column(c.name)), c)) for c in columns))


def typed(expr: Scalar, stored: Column) -> Scalar:
    """A value in the type that a column is stored in."""
    return exp.cast(expr, exp.DataType.build(stored.type, dialect="spark"))


def parsed_expression(text: str) -> Scalar:
    """An expression stored as text, with its columns in the form that plans use."""
    tree = parse_one(text, dialect="spark")

    def bare(node: exp.Expression) -> exp.Expression:
        return column(node.name) if isinstance(node, exp.Column) else node

    return tree.transform(bare)


def _having(rel: Relation, keys: Relation, kind: JoinKind) -> Relation:
    """The rows of `rel` whose key is, or is not, among `keys`; NULL matches NULL."""
    other, names = apart(rel, keys)
    on = null_safe_match((name, names[name]) for name in keys.columns)
    return Join(rel, other, kind, on)


__all__ = [
    "REPLACES",
    "SEQUENCE",
    "bag_in_turn",
    "bag_whole",
    "counted_bag",
    "folded",
    "from_whole",
    "layer_columns",
    "merged",
    "merged_bag",
    "merged_whole",
    "parsed_expression",
    "replaced",
    "typed",
]
