"""Under which condition a row of a base table can matter to a view: blakeley86's C(Y), for any plan.

Going down the plan, `need` is a condition over a node's rows and over free variables: a change of rows
for which it can never hold leaves the view as it is, whatever the database. Each operator says what its
inputs need then:

    σ_c(Q)          need and c
    π(Q), δ, ∪, −   need, over the columns that the outputs are made of
    L ⋈_p R         of L: need and p, for some row that R can have
    L ⟕_p R         of L: also need with NULLs for R
                    of R: p, and need with the row or with NULLs for it
    L ▷_p R         of L: need;  of R: need and p, for some row that L can have
    γ_k(Q), window  need, but of k only: anything may stand in the other columns
    limit           nothing

Which rows the other input can have is told by `conditions.rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, column, conjuncts, is_true, replace_columns
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
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
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.walk import base_tables
from viewkeeper.maintenance.relevance.formulae import Variables
from viewkeeper.maintenance.relevance.rows import LARGEST_CONDITION, Forms, attribute, names_in, nulls


@dataclass(frozen=True)
class ReachedScan:
    """A scan of the changed table, and the condition over its columns and over `variables`."""

    scan: Scan
    condition: Scalar
    variables: Variables = field(compare=False)

    @property
    def own(self) -> frozenset[str]:
        """The attributes that a changed tuple gives values to."""
        return frozenset(bound.source.name for bound in self.scan.bound)


def reached(rel: Relation, table: str) -> list[ReachedScan]:
    """What a row of `table` must fulfil to matter, for each place where the view reads the table."""
    return list(_Walk(table, Forms(names_in(rel))).down(rel, exp.true()))


@dataclass
class _Walk:
    table: str
    other: Forms

    def down(self, rel: Relation, need: Scalar) -> Iterator[ReachedScan]:
        if self.table not in base_tables(rel):
            return
        need = need if sum(1 for _ in need.walk()) <= LARGEST_CONDITION else exp.true()
        match rel:
            case Scan():
                yield self._arrived(rel, need)
            case Filter():
                yield from self.down(rel.child, _all(need, rel.condition))
            case Project():
                yield from self.down(rel.child, replace_columns(need, {o.name: o.expr for o in rel.outputs}))
            case Join():
                yield from self.down(rel.left, self._join_need(rel, need, rel.left, rel.right))
                yield from self.down(rel.right, self._join_need(rel, need, rel.right, rel.left))
            case Aggregate():
                keys = {key.name: key.expr for key in rel.keys}
                yield from self.down(rel.child, self._only(need, rel.columns, keys))
            case Window():
                kept = {name: column(name) for name in rel.partition}
                yield from self.down(rel.child, self._only(need, rel.columns, kept))
            case Lateral():
                kept = {name: column(name) for name in rel.child.columns}
                yield from self.down(rel.child, self._only(need, rel.columns, kept))
            case UnionAll():
                yield from self._by_position(rel.inputs, need, rel.columns)
            case Difference() | Intersection():
                yield from self._by_position((rel.left, rel.right), need, rel.columns)
            case Distinct() | Negate() | Consolidate() | Expand() | Affected():
                yield from self.down(rel.child, need)
            case TopK():
                yield from self.down(rel.child, exp.true())
            case Fixpoint():
                for definition in rel.definitions:
                    yield from self.down(definition.body, exp.true())
            case Reference() | Values():
                return
            case _:
                assert_never(rel)

    def _arrived(self, scan: Scan, need: Scalar) -> ReachedScan:
        own = {b.name: column(b.source.name) for b in scan.bound}
        sources = [(number, bound.source.name) for number, bound in enumerate(scan.bound)]
        attributes = {name: attribute(scan, number, name) for number, name in sources}
        return ReachedScan(scan, replace_columns(need, own), {**self.other.variables, **attributes})

    def _join_need(self, join: Join, need: Scalar, mine: Relation, other: Relation) -> Scalar:
        """What one input of a join needs, given what the join's output needs."""
        is_left = mine is join.left
        if join.kind is JoinKind.ANTI and is_left:
            return need
        keeps_mine = join.kind in (JoinKind.FULL, JoinKind.LEFT if is_left else JoinKind.RIGHT)
        keeps_other = join.kind in (JoinKind.FULL, JoinKind.RIGHT if is_left else JoinKind.LEFT)
        matched = _either(need, _with_nulls(need, mine)) if keeps_other else need
        needs = [
            _all(*(replace_columns(part, rows.outputs) for part in (join.on, matched)), *rows.condition)
            for rows in self.other.rows(other, join.kind is JoinKind.INNER)
        ]
        return _either(*needs, *([_with_nulls(need, other)] if keeps_mine else []))

    def _only(self, need: Scalar, columns: Iterable[str], kept: Mapping[str, Scalar]) -> Scalar:
        """The need with anything at all in the columns that are not kept."""
        others = {name: self.other.anything(name) for name in columns if name not in kept}
        return replace_columns(need, {**others, **kept})

    def _by_position(
        self, inputs: tuple[Relation, ...], need: Scalar, columns: tuple[str, ...]
    ) -> Iterator[ReachedScan]:
        forms = self.other.by_position(inputs, columns)
        kept = self.other.of_one_kind(forms, columns)
        need = self._only(need, columns, {name: column(name) for name in kept})
        for child in inputs:
            yield from self.down(child, replace_columns(need, dict(zip(columns, map(column, child.columns)))))


def _with_nulls(need: Scalar, rel: Relation) -> Scalar:
    return replace_columns(need, nulls(rel).outputs)


def _all(*needs: Scalar) -> Scalar:
    parts = [part for need in needs for part in conjuncts(need)]
    return exp.and_(*parts, copy=True) if parts else exp.true()


def _either(*needs: Scalar) -> Scalar:
    if any(is_true(need) for need in needs):
        return exp.true()
    distinct = list(dict.fromkeys(needs))
    return exp.or_(*distinct, copy=True) if distinct else exp.false()
