"""Reading main and layers as one relation: mumick97's summary-delta join, as algebra.

One formula serves every kind of layer. With K the keys that the layers touch:

    main ⊕ L  =  (main ▷ K)  ∪  γ_key,ops((main ⋉ K) ∪ L)

Rows that no layer touches pass through; K is small and broadcast, so main is never shuffled.
Bags are the case key = all columns and ADD(__count), where insertions need not even be merged.
Plans here have explicit counts and refer to `main` and to layers by `Reference`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp, parse_one

from viewkeeper.algebra.build import apart, restricted_to
from viewkeeper.algebra.counts import ONE, consolidated
from viewkeeper.algebra.expressions import Named, Scalar, column, function, literal, null_safe_match, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    Window,
)
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.storage.relation import MergeSpec, Operator


def counted_bag(main: Relation, layers: Relation | None) -> Relation:
    """A bag as signed rows, unconsolidated: nothing is merged, whoever reads it adds up."""
    rows = Project(main, (*same(main.columns), ONE))
    return rows if layers is None else UnionAll((rows, restricted_to(layers, rows.columns)))


def merged_bag(main: Relation, layers: Relation, key: Sequence[str]) -> Relation:
    """The rows of a bag, one per copy. `key` narrows the search for touched rows."""
    names = main.columns
    touch = tuple(key) or names
    deleted = Filter(layers, exp.LT(this=column(COUNT), expression=literal(0)))
    touched = Distinct(restricted_to(deleted, touch))
    inserted = Filter(layers, exp.GT(this=column(COUNT), expression=literal(0)))
    rest = consolidated(
        UnionAll(
            (
                Project(_having(main, touched, JoinKind.SEMI), (*same(names), ONE)),
                restricted_to(_having(layers, touched, JoinKind.SEMI), (*names, COUNT)),
            )
        )
    )
    return UnionAll(
        (
            _having(main, touched, JoinKind.ANTI),
            restricted_to(_having(inserted, touched, JoinKind.ANTI), names),
            restricted_to(Expand(rest), names),
        )
    )


def inserted_bag(main: Relation, layers: Relation) -> Relation:
    """A bag whose layers only insert: no row is touched."""
    return UnionAll((main, restricted_to(layers, main.columns)))


def merged(main: Relation, layers: Relation, spec: MergeSpec, columns: Sequence[Column]) -> Relation:
    """A keyed relation and additive layers: each column by its operator, dead groups dropped."""
    names = tuple(c.name for c in columns)
    stored = (*spec.key, *(name for name, _ in spec.operators))
    layers = restricted_to(layers, stored)
    if not spec.key:
        return _finished(_summed(UnionAll((restricted_to(main, stored), layers)), spec), spec, columns)
    keys = Distinct(restricted_to(layers, spec.key))
    touched = UnionAll((restricted_to(_having(main, keys, JoinKind.SEMI), stored), layers))
    untouched = restricted_to(_having(main, keys, JoinKind.ANTI), names)
    return UnionAll((untouched, _finished(_summed(touched, spec), spec, columns)))


def replaced(main: Relation, layer: Relation, spec: MergeSpec, columns: Sequence[Column]) -> Relation:
    """A keyed relation and one layer whose rows stand instead of those of their keys."""
    names = tuple(c.name for c in columns)
    stored = (*spec.key, *(name for name, _ in spec.operators))
    new = _finished(restricted_to(layer, stored), spec, columns)
    if not spec.key:
        return new
    keys = Distinct(restricted_to(layer, spec.key))
    return UnionAll((restricted_to(_having(main, keys, JoinKind.ANTI), names), new))


def combined(layers: Relation, spec: MergeSpec) -> Relation:
    """Several additive layers as one, without main: groups whose count is zero still matter."""
    stored = (*spec.key, *(name for name, _ in spec.operators))
    return _summed(restricted_to(layers, stored), spec)


def _summed(rows: Relation, spec: MergeSpec) -> Relation:
    merges = tuple(Named(name, _merge(operator, name)) for name, operator in spec.operators)
    return Aggregate(_only_holders(rows, spec), same(spec.key), merges)


def _only_holders(rows: Relation, spec: MergeSpec) -> Relation:
    """Rows whose extreme is not the group's count no holders of it."""
    if not spec.holders:
        return rows
    operators = dict(spec.operators)
    best = {extreme: f"__best{extreme}" for _, extreme in spec.holders}
    functions = tuple(
        Named(name, _over_group(_merge(operators[extreme], extreme), spec.key)) for extreme, name in best.items()
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
            raise AssertionError("SET columns are merged by replaced()")


def _finished(rows: Relation, spec: MergeSpec, columns: Sequence[Column]) -> Relation:
    """Drops dead rows, computes derived columns, and gives every column its stored type."""
    if spec.alive is not None and spec.key:
        rows = Filter(rows, exp.GT(this=column(spec.alive), expression=literal(0)))
    derived = {name: parsed_expression(text) for name, text in spec.derived}
    typed = (
        Named(c.name, exp.cast(derived.get(c.name, column(c.name)), exp.DataType.build(c.type, dialect="spark")))
        for c in columns
    )
    return Project(rows, tuple(typed))


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
    "combined",
    "counted_bag",
    "inserted_bag",
    "merged",
    "merged_bag",
    "parsed_expression",
    "replaced",
]
