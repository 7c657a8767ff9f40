"""Standard rewrites: what is empty disappears, projections of projections are one."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.build import empty, filtered, is_empty, joined, projected, union_all
from viewkeeper.algebra.expressions import Named, and_, replace_columns, same
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
)


def simplified(rel: Relation) -> Relation:
    """One node, its inputs being simplified already."""
    match rel:
        case Filter(child=Filter(child=below, condition=first)):
            return Filter(below, and_(first, rel.condition))
        case Filter():
            return filtered(rel.child, rel.condition)
        case Project(child=Project() as below) if _passes_on(below):
            meaning = {output.name: output.expr for output in below.outputs}
            outputs = (Named(o.name, replace_columns(o.expr, meaning)) for o in rel.outputs)
            return projected(below.child, outputs)
        case Project():
            return projected(rel.child, rel.outputs)
        case Join(kind=JoinKind.LEFT) if is_empty(rel.right) and not is_empty(rel.left):
            absent = (Named(name, exp.null()) for name in rel.right.columns)
            return Project(rel.left, (*same(rel.left.columns), *absent))
        case Join():
            return joined(rel.left, rel.right, rel.kind, rel.on)
        case UnionAll():
            return union_all(rel.inputs, rel.columns)
        case Distinct() | Affected() if is_empty(rel.child):
            return empty(rel.columns)
        case Aggregate() if is_empty(rel.child) and rel.keys:
            return empty(rel.columns)
        case _:
            return rel


def _passes_on(project: Project) -> bool:
    """Only columns and constants: writing them into the outer projection repeats no work."""
    simple = (exp.Column, exp.Literal, exp.Boolean, exp.Null)
    return all(isinstance(output.expr, simple) for output in project.outputs)
