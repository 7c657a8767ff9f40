"""Pass 4: each query of the Δ-script minimized by what i-diffs mean (katsis15, section 4).

1. A semijoin with a diff moves down to the tables, so that only named rows are read; what a diff is
   joined with is first restricted to the rows that it can join with.
2. Figure 8: a table joined with its own diff is not read at all.
3. What has become empty disappears, up to whole steps.
4. IDs are compared NULL-safely only where they may be NULL: those that are keys of tables are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.build import empty, is_empty
from viewkeeper.algebra.expressions import Scalar, conjuncts
from viewkeeper.algebra.nullability import compared_plainly, not_null
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
    Values,
)
from viewkeeper.algebra.walk import rewrite, scans
from viewkeeper.maintenance.id_diffs.diffs import DiffSchema
from viewkeeper.maintenance.id_diffs.figure8 import without_the_table
from viewkeeper.maintenance.id_diffs.script import Apply, ComputeDiff, Script, Step
from viewkeeper.maintenance.id_diffs.simplify import simplified
from viewkeeper.rewrite.restrict import Pairs, partners_of_left, partners_of_right, restrict_by


def minimize(script: Script) -> Script:
    base = {diff.name: diff.schema for diff in script.base}
    full = {stored.name: not_null(stored.plan) for stored in script.stored}
    steps: list[Step] = []
    nothing: dict[str, Relation] = {}
    for step in script.steps:
        match step:
            case ComputeDiff() if step.explicit:
                full[step.name] = not_null(step.query, full)
                steps.append(step)
            case ComputeDiff():
                query = minimized(_without(step.query, nothing), base)
                if is_empty(query):
                    nothing[step.name] = empty(query.columns)
                else:
                    query = rewrite(query, lambda node: compared_plainly(node, full))
                    full[step.name] = not_null(query, full)
                    steps.append(replace(step, query=query))
            case Apply():
                if step.diff.name not in nothing:
                    steps.append(step)
    return replace(script, steps=tuple(steps))


def minimized(query: Relation, base: Mapping[str, DiffSchema]) -> Relation:
    """A query equal to this one wherever the diffs are effective. `base` are the diffs of tables."""

    def figure_8(node: Relation) -> Relation:
        return without_the_table(node, base)

    passes: tuple[Callable[[Relation], Relation], ...] = (
        simplified, moved_down, figure_8, partners_only, figure_8, simplified,
    )  # fmt: skip
    for change in passes:
        query = rewrite(query, change)
    return query


def moved_down(rel: Relation) -> Relation:
    """`Q ⋉ Δ` with the semijoin as deep in Q as it means the same. Only a diff is few rows."""
    if not isinstance(rel, Join) or rel.kind is not JoinKind.SEMI or isinstance(rel.left, (Scan, Reference)):
        return rel
    pairs = _pairs(rel)
    if not pairs or any(scans(rel.right)):
        return rel
    return restrict_by(rel.left, rel.right, pairs)


def partners_only(rel: Relation) -> Relation:
    """A join of few rows with many: of the many, only those that the few can join with are looked at."""
    if not isinstance(rel, Join) or rel.kind not in (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI):
        return rel
    if _is_few(rel.left) and not _is_few(rel.right):
        exists = rel.kind is not JoinKind.INNER
        return replace(rel, right=partners_of_left(rel.right, rel.left, rel.on, also_scans=exists))
    if rel.kind is JoinKind.INNER and _is_few(rel.right) and not _is_few(rel.left):
        return replace(rel, left=partners_of_right(rel.left, rel.right, rel.on))
    return rel


def _is_few(rel: Relation) -> bool:
    """Whether a relation has no more rows than diffs and what they are joined with."""
    match rel:
        case Reference() | Values():
            return True
        case Join(kind=JoinKind.INNER | JoinKind.SEMI):
            return _is_few(rel.left) or _is_few(rel.right)
        case Join(kind=JoinKind.LEFT | JoinKind.ANTI):
            return _is_few(rel.left)
        case Filter() | Project() | Distinct() | Aggregate() | Affected():
            return _is_few(rel.child)
        case UnionAll():
            return all(_is_few(each) for each in rel.inputs)
        case _:
            return False


def _pairs(join: Join) -> Pairs:
    """The columns compared, if the condition is nothing but NULL-safe equalities."""
    found: list[tuple[Scalar, str]] = []
    for part in conjuncts(join.on):
        if not isinstance(part, exp.NullSafeEQ) or not isinstance(part.right, exp.Column):
            return ()
        if part.right.name not in join.right.columns:
            return ()
        found.append((part.left.copy(), part.right.name))
    return tuple(found)


def _without(query: Relation, nothing: Mapping[str, Relation]) -> Relation:
    def gone(node: Relation) -> Relation:
        return nothing.get(node.name, node) if isinstance(node, Reference) else node

    return rewrite(query, gone) if nothing else query
