"""Predicates of a program as fixpoints, of which each evaluates by itself."""

from __future__ import annotations

from viewkeeper.algebra.relations import Definition, Fixpoint, Relation


def as_fixpoint(name: str, relation: Relation) -> Fixpoint:
    """A set-valued relation as a fixpoint that happens not to recur, so that DRed can maintain it."""
    if isinstance(relation, Fixpoint):
        return relation
    return Fixpoint((Definition(name, relation.columns, relation),), name, distinct=True)
