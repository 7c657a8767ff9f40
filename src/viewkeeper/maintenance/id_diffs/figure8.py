"""Figure 8: what the semantics of i-diffs makes superfluous.

With Δ a diff of table R by R's key, and φ over attributes that Δ knows:

    R ⋉ σ Δ⁺, R ⋉ σ Δᵘ   →  σ Δ            R ⋉ Δ⁻  →  ∅            R ▷ Δ⁻  →  R
    Δ ⋉ σ_φ R            →  σ_φ(post) Δ     Δ⁻ ⋉ R  →  ∅
    Δ ▷ σ_φ R            →  σ_¬φ(post) Δ    Δ⁻ ▷ R  →  Δ⁻
    Δ ⋈ R                →  Δ               Δ⁻ ⋈ R  →  ∅

The same holds before the change, with pre-state values and insertions and deletions swapped. Base-table
diffs name only rows that exist, which is why the rules may be used on them, and on them alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import empty, filtered, projected
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    rename_columns,
)
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import (
    Affected,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.maintenance.id_diffs.diffs import DiffSchema, fails, pre


@dataclass(frozen=True)
class _Side:
    """A side of a join that is a table or a diff of one, filtered and projected.

    `names` maps its columns to those of the table; for a diff, to the diff's columns.
    """

    leaf: Scan | Reference
    conditions: tuple[Scalar, ...]
    names: Mapping[str, str]


def without_the_table(rel: Relation, base: Mapping[str, DiffSchema]) -> Relation:
    """`rel` without the table, if it is a join of a base table with a diff of it; else `rel` itself."""
    if not isinstance(rel, Join):
        return rel
    left, right = _side(rel.left), _side(rel.right)
    if left is None or right is None:
        return rel
    if isinstance(left.leaf, Scan) and isinstance(right.leaf, Reference):
        return _rewritten(rel, left, right, base) or rel
    if isinstance(left.leaf, Reference) and isinstance(right.leaf, Scan):
        return _rewritten(rel, right, left, base) or rel
    return rel


def _side(rel: Relation) -> _Side | None:
    match rel:
        case Scan():
            return _Side(rel, (), {bound.name: bound.source.name for bound in rel.bound})
        case Reference():
            return _Side(rel, (), {name: name for name in rel.columns})
        case Affected() | Distinct():
            return _side(rel.child)
        case Filter():
            below = _side(rel.child)
            if below is None:
                return None
            condition = rename_columns(rel.condition, below.names)
            return _Side(below.leaf, (*below.conditions, condition), below.names)
        case Project() if all(output.is_column for output in rel.outputs):
            below = _side(rel.child)
            if below is None:
                return None
            names = {output.name: below.names[output.expr.name] for output in rel.outputs}
            return _Side(below.leaf, below.conditions, names)
        case _:
            return None


def _rewritten(join: Join, table: _Side, diff: _Side, base: Mapping[str, DiffSchema]) -> Relation | None:
    scan = table.leaf
    schema = base.get(diff.leaf.name) if isinstance(diff.leaf, Reference) else None
    if not isinstance(scan, Scan) or schema is None or schema.relation != scan.table:
        return None
    if not _by_key(join, table, diff, schema) or not _is_known(table, schema, scan.at):
        return None
    names = _told(schema, scan.at)
    if names is None:
        return join.left if join.kind is JoinKind.ANTI else empty(join.columns)
    test = rename_columns(conjunction(table.conditions), names)
    if join.kind in (JoinKind.SEMI, JoinKind.INNER):
        return _from_the_diff(join, table, diff, test, names)
    if join.kind is not JoinKind.ANTI or set(join.left.columns) != set(diff.names):
        return None
    return _from_the_diff(join, table, diff, fails(test), names) if table.conditions else empty(join.columns)


def _told(schema: DiffSchema, state: State) -> dict[str, str] | None:
    """For each column of the table, the diff's column with its value at the state; none if no such row is."""
    absent = DiffKind.DELETE if state is State.NEW else DiffKind.INSERT
    if schema.kind is absent:
        return None
    values = schema.post if state is State.NEW else schema.pre
    named = {name: name if state is State.NEW else pre(name) for name in values}
    return {**{name: name for name in schema.ids}, **named}


def _is_known(table: _Side, schema: DiffSchema, state: State) -> bool:
    if state is State.DELTA:
        return False
    known = _told(schema, state)
    used = {name for part in table.conditions for name in columns_of(part)} | set(table.names.values())
    return known is None or used <= set(known)


def _by_key(join: Join, table: _Side, diff: _Side, schema: DiffSchema) -> bool:
    """Whether the condition is equality of the whole key, and nothing else."""
    keys = set()
    for part in conjuncts(join.on):
        if not isinstance(part, (exp.EQ, exp.NullSafeEQ)):
            return False
        one, other = part.left.unnest(), part.right.unnest()
        if not (isinstance(one, exp.Column) and isinstance(other, exp.Column)):
            return False
        mine, theirs = (one, other) if one.name in table.names else (other, one)
        key = table.names.get(mine.name)
        if key is None or diff.names.get(theirs.name) != key or key not in schema.ids:
            return False
        keys.add(key)
    return keys == set(schema.ids)


def _from_the_diff(join: Join, table: _Side, diff: _Side, test: Scalar, names: Mapping[str, str]) -> Relation:
    """The join's columns from the diff alone, where the table's condition comes out as `test` says."""
    rows = filtered(filtered(diff.leaf, conjunction(diff.conditions)), test)
    source = {**{name: names[inner] for name, inner in table.names.items()}, **diff.names}
    return projected(rows, (Named(name, column(source[name])) for name in join.columns))
