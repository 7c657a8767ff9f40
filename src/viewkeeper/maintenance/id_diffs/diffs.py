"""i-diffs: insert, delete and update diffs that name rows by some of their IDs (katsis15, section 2).

    Δ⁺(I, A)              rows of the post-state
    Δ⁻(I', A'_pre)        every row with these IDs is gone
    Δᵘ(I', A'_pre, A'')   every row with these IDs now has these values
    Δ±(I, A'')            the sums and counts of these rows have moved by so much (not in the paper)

In a plan, an attribute's post-state value has the attribute's own name and its pre-state value that
name with a prefix. An update diff may *know* more post-state values than it *updates*: a known value
saves a look at the data, an updated one is what the rules react to.

A diff is effective when it tells of the post-state only what is true there:

    Δ⁺ ⊆ V^post      π_I' Δ⁻ ∩ π_I' V^post = ∅      π_I',A''(Δᵘ ⋉ V^post) ⊆ π_I',A'' V^post

A set of effective diffs that tells all of a change can be applied in any order. To that end an
insertion replaces the row of the same IDs, if there is one. A move is applied once, and alone: a view whose
groups have only been updated is told so without a look at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import filtered, fresh, renamed, restricted_to
from viewkeeper.algebra.expressions import (
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    function,
    not_,
    null_safe_match,
    or_,
    rename_columns,
)
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Join, JoinKind, Reference, Relation
from viewkeeper.algebra.zeros import differs

PRE_PREFIX = "__pre_"


def pre(name: str) -> str:
    """The column that holds an attribute's pre-state value."""
    return PRE_PREFIX + name


@dataclass(frozen=True)
class DiffSchema:
    """Which rows a diff names, and what it says of them; `ids` is a key of the diff. `counts` pairs sums that
    move with the counts of their values."""

    kind: DiffKind
    relation: str
    ids: tuple[str, ...]
    pre: tuple[str, ...] = ()
    post: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    counts: tuple[tuple[str, str], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.ids, *(pre(name) for name in self.pre), *self.post)

    @property
    def known_before(self) -> frozenset[str]:
        return frozenset((*self.ids, *self.pre))

    @property
    def known_after(self) -> frozenset[str]:
        return frozenset((*self.ids, *self.post))

    def __str__(self) -> str:
        known = (name for name in self.post if name not in self.updated)
        parts = (
            *self.ids,
            *(f"{name}_pre" for name in self.pre),
            *(f"{name}_post" for name in self.updated),
            *(f"({name}_post)" for name in known),
        )
        return f"Δ{self.kind.value}_{self.relation}({', '.join(parts)})"


@dataclass(frozen=True)
class Diff:
    """A diff by name: a result that a step of the Δ-script, or a rule, computes."""

    name: str
    schema: DiffSchema

    @property
    def rows(self) -> Reference:
        return Reference(self.name, self.schema.columns)


def insert_schema(relation: str, ids: Sequence[str], attributes: Sequence[str]) -> DiffSchema:
    names = tuple(attributes)
    return DiffSchema(DiffKind.INSERT, relation, tuple(ids), (), names, names)


def delete_schema(relation: str, ids: Sequence[str], before: Sequence[str] = ()) -> DiffSchema:
    return DiffSchema(DiffKind.DELETE, relation, tuple(ids), tuple(before))


def before(expr: Scalar, schema: DiffSchema) -> Scalar:
    """`expr` over the pre-state values of a diff; IDs are the same before and after."""
    return rename_columns(expr, {name: pre(name) for name in columns_of(expr) if name not in schema.ids})


def was_known(condition: Scalar, schema: DiffSchema) -> Scalar:
    """The part of a condition that the diff can decide for the pre-state."""
    parts = (part for part in conjuncts(condition) if columns_of(part) <= schema.known_before)
    return conjunction(before(part, schema) for part in parts)


def is_known(condition: Scalar, schema: DiffSchema) -> Scalar:
    """The part of a condition that the diff can decide for the post-state."""
    return conjunction(part for part in conjuncts(condition) if columns_of(part) <= schema.known_after)


def fails(condition: Scalar) -> Scalar:
    """The condition is false or NULL: `NOT` alone would lose the rows where it is NULL."""
    return not_(function("coalesce", condition, exp.false()))


def changed(names: Iterable[str], exact: bool = True) -> Scalar:
    """Some of the attributes differ before and after, NULL being a value like any other; `exact`: so is the
    sign of a zero."""
    return or_(*(differs(column(pre(name)), column(name), exact) for name in names))


def truly_changed(rows: Relation, schema: DiffSchema, names: Iterable[str]) -> Relation:
    """The diff rows in which some of the attributes changed; all rows when that is not known."""
    names = tuple(names)
    if not names or not set(names) <= set(schema.pre) & set(schema.post):
        return rows
    return filtered(rows, changed(names))


def named_by(rel: Relation, rows: Relation, ids: Sequence[str], kind: JoinKind = JoinKind.SEMI) -> Relation:
    """`rel ⋉_ids rows`, or its complement `rel ▷_ids rows`; NULL matches NULL."""
    keys = restricted_to(rows, ids)
    other = {name: fresh(f"{name}_k", rel.columns) for name in ids}
    on = null_safe_match((name, other[name]) for name in ids)
    return Join(rel, renamed(keys, other), kind, on)
