"""One SELECT while it is being translated: a plan that grows, the scope over it, its links outward."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    equal,
    null_safe_match,
    same,
)
from viewkeeper.algebra.relations import Distinct, Join, JoinKind, Reference, Relation
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.scope import NeedsDomain, Scope


@dataclass
class OuterValues:
    """The distinct values of the outer columns that a correlated query uses."""

    rel: Relation
    outer: tuple[str, ...]


@dataclass
class Block:
    """`rel` always has the columns of `scope` and the `links`.

    `pending` are conditions for the join with the outer plan; `ties` are those for the join of a
    FROM item with the tables before it.
    """

    context: Context
    rel: Relation
    scope: Scope
    links: tuple[str, ...] = ()
    matches: tuple[Scalar, ...] = ()
    null_safe: bool = False
    pending: tuple[Scalar, ...] = ()
    ties: tuple[Scalar, ...] = ()

    def resolve(self, expr: exp.Expr, alias_first: bool = False) -> Scalar:
        from viewkeeper.sql.resolve import Resolver
        from viewkeeper.sql.subqueries import attach

        return Resolver(self.scope, lambda node: attach(self, node), alias_first)(expr)

    def filter(self, condition: Scalar) -> None:
        self.rel = filtered(self.rel, condition)

    def add_column(self, wish: str, expr: Scalar) -> str:
        """A column of the plan with the value of `expr`: an existing one when it is just that."""
        if isinstance(expr, exp.Column) and expr.name in self.rel.columns:
            return expr.name
        name = self.context.fresh(wish)
        self.rel = projected(self.rel, (*same(self.rel.columns), Named(name, expr)))
        return name

    def join(self, right: Relation, kind: JoinKind, on: Scalar) -> None:
        self.rel = Join(self.rel, right, kind, on)


def where(block: Block, condition: exp.Expr) -> None:
    """Filters the block; conditions with free outer columns are kept for the join with the outer plan."""
    from viewkeeper.sql.subqueries import semi_join

    local: list[Scalar] = []
    for part in conjuncts(condition):
        if semi_join(block, part):
            continue
        resolved = block.resolve(part)
        if columns_of(resolved) <= set(block.rel.columns):
            local.append(resolved)
        else:
            block.pending = (*block.pending, resolved)
    block.filter(conjunction(local))


def link_pending(block: Block) -> None:
    """Turns conditions `inner = outer` into links; any other needs the domain."""
    inside = set(block.rel.columns)
    for part in block.pending:
        inner, outer = _sides(part, inside, block.scope)
        block.links = (*block.links, block.add_column("link", inner))
        block.matches = (*block.matches, outer)
    block.pending = ()


def _sides(part: Scalar, inside: set[str], scope: Scope) -> tuple[Scalar, Scalar]:
    if isinstance(part, exp.EQ):
        for inner, outer in ((part.left, part.right), (part.right, part.left)):
            used = columns_of(outer)
            if columns_of(inner) <= inside and used and not used & inside:
                return inner, outer
    raise NeedsDomain(scope)


def enter(context: Context, domain: OuterValues | None) -> Block | None:
    """The beginning of a correlated block: its own copy of the domain; None without one."""
    if domain is None:
        return None
    copies = tuple(context.fresh(name) for name in domain.outer)
    named = tuple(Named(new, column(old)) for old, new in zip(domain.outer, copies, strict=True))
    scope = Scope(parent=context.parent, bound=dict(zip(domain.outer, copies, strict=True)))
    matches = tuple(column(name) for name in domain.outer)
    return Block(context, projected(domain.rel, named), scope, copies, matches, null_safe=True)


def trial_domain(outer: Block) -> OuterValues:
    """Stands for the outer plan while it is found out which of its columns a query uses."""
    return OuterValues(Reference("outer", outer.rel.columns), outer.rel.columns)


def domain_of(outer: Block, used: set[str]) -> OuterValues:
    names = tuple(name for name in outer.rel.columns if name in used)
    return OuterValues(Distinct(projected(outer.rel, same(names))), names)


def join_condition(answer: Translated) -> Scalar:
    """When a row of the answer belongs to a row of the outer plan."""
    pairs = zip(answer.matches, answer.links, strict=True)
    if answer.null_safe:
        return null_safe_match((match.name, link) for match, link in pairs)
    equalities = [equal(match, column(link)) for match, link in pairs]
    return conjunction([*equalities, *answer.pending])
