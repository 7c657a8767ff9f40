"""WITH: common table expressions; recursive ones become fixpoints.

The definitions of one WITH form a graph. A component of it that refers to itself is one `Fixpoint`,
whose bodies refer to its members by `Reference`; every other definition is translated where it is
first used and shared by its uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from viewkeeper.algebra.build import named_like
from viewkeeper.algebra.relations import (
    Definition,
    Distinct,
    Filter,
    Fixpoint,
    Join,
    JoinKind,
    Lateral,
    Project,
    Reference,
    Relation,
    UnionAll,
)
from viewkeeper.algebra.walk import children, nodes
from viewkeeper.errors import InvalidSQL, UnknownColumn
from viewkeeper.sql.block import Domain
from viewkeeper.sql.context import Answer, Context
from viewkeeper.sql.scope import Untranslatable


def with_clause(context: Context, query: exp.Expr, domain: Domain | None) -> Context:
    """The context with the definitions of the query's WITH."""
    clause = query.args.get("with_")
    if clause is None:
        return context
    definitions = {cte.alias.lower(): cte for cte in clause.expressions}
    if len(definitions) != len(clause.expressions):
        raise InvalidSQL("WITH defines a name twice.")
    for names in _components(definitions, bool(clause.args.get("recursive"))):
        members = [definitions[name] for name in names]
        if _is_recursive(members) and clause.args.get("recursive"):
            if domain is not None:
                raise Untranslatable("recursion inside a correlated query")
            context = _fixpoint(context, members)
        else:
            context = context.with_ctes({names[0]: _Shared(context, members[0], domain)})
    return context


@dataclass
class _Shared:
    """A definition, translated at its first use; later uses rename its columns."""

    context: Context
    cte: exp.CTE
    domain: Domain | None
    answer: Answer | None = field(default=None)

    def __call__(self, user: Context) -> Answer:
        from viewkeeper.sql.query import translate

        if self.answer is not None:
            return user.apart(self.answer)
        try:
            answer = translate(self.context.inside(None), self.cte.this)
        except UnknownColumn:
            if self.context.parent is None:
                raise
            raise Untranslatable("a correlated common table expression") from None
        self.answer = _with_names(answer, self.cte)
        return self.answer


def _with_names(answer: Answer, cte: exp.CTE) -> Answer:
    names = tuple(cte.alias_column_names)
    if names and len(names) != len(answer.names):
        raise InvalidSQL(
            f"{cte.alias} has {len(answer.names)} columns, but lists {len(names)}.", columns=names
        )
    return replace(answer, names=names or answer.names)


def _references(cte: exp.CTE, names: Iterable[str]) -> set[str]:
    wanted = set(names)
    return {t.name.lower() for t in cte.this.find_all(exp.Table) if t.name.lower() in wanted and not t.db}


def _components(definitions: Mapping[str, exp.CTE], recursive: bool) -> list[list[str]]:
    """Strongly connected components, each after those it uses; without RECURSIVE, one by one."""
    order = list(definitions)
    if not recursive:
        return [[name] for name in order]
    uses = {name: _references(definitions[name], order) for name in order}
    reach = {name: _reachable(name, uses) for name in order}
    components: list[list[str]] = []
    for name in sorted(order, key=lambda n: (len(reach[n] | {n}), order.index(n))):
        if not any(name in members for members in components):
            same = [other for other in order if other in reach[name] and name in reach[other]]
            components.append(same or [name])
    return components


def _reachable(name: str, uses: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    pending = [name]
    while pending:
        for used in uses[pending.pop()] - seen:
            seen.add(used)
            pending.append(used)
    return seen


def _is_recursive(members: list[exp.CTE]) -> bool:
    names = [cte.alias.lower() for cte in members]
    return len(members) > 1 or bool(_references(members[0], names))


def _fixpoint(context: Context, members: list[exp.CTE]) -> Context:
    """The members of a recursive component, each the result of one shared fixpoint."""
    if any(cte.this.args.get("limit") or cte.this.args.get("order") for cte in members):
        raise Untranslatable("ORDER BY or LIMIT in a recursive definition")
    headers = {cte.alias.lower(): _header(context, cte) for cte in members}
    inner = context.with_ctes({name: _Self(header) for name, header in headers.items()})
    distinct = {_is_distinct(cte.this) for cte in members} - {None}
    if len(distinct) != 1:
        raise Untranslatable("recursion that mixes UNION and UNION ALL")
    sets = distinct == {True}
    definitions = tuple(_definition(inner, cte, headers[cte.alias.lower()], sets) for cte in members)
    for name, header in headers.items():
        rel = Fixpoint(definitions, header.name, sets)
        context = context.with_ctes({name: _Again(replace(header.answer, rel=rel))})
    return context


@dataclass(frozen=True)
class _Header:
    name: str
    answer: Answer


@dataclass(frozen=True)
class _Self:
    """A recursive definition inside itself."""

    header: _Header

    def __call__(self, user: Context) -> Answer:
        return user.apart(self.header.answer)


@dataclass(frozen=True)
class _Again:
    """A finished fixpoint."""

    answer: Answer

    def __call__(self, user: Context) -> Answer:
        return user.apart(self.answer)


def _header(context: Context, cte: exp.CTE) -> _Header:
    """The name and columns of a recursive definition, before its body is known."""
    first = cte.this
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    visible = tuple(cte.alias_column_names) or tuple(first.named_selects)
    if not visible or "*" in visible or any(not name for name in visible):
        raise Untranslatable("a recursive definition whose columns are not named")
    columns = tuple(context.fresh(name) for name in visible)
    return _Header(cte.alias, Answer(Reference(cte.alias, columns), visible, columns))


def _definition(context: Context, cte: exp.CTE, header: _Header, sets: bool) -> Definition:
    from viewkeeper.sql.query import translate

    columns = header.answer.columns
    branches = []
    for branch in _branches(cte.this):
        answer = translate(context.inside(None), branch)
        if len(answer.columns) != len(columns):
            raise InvalidSQL(f"The branches of {cte.alias} have different numbers of columns.")
        rel = named_like(_in_order(answer), columns)
        if sets:
            _check_monotone(rel, cte.alias)
        branches.append(rel)
    body = UnionAll(tuple(branches)) if len(branches) > 1 else branches[0]
    return Definition(header.name, columns, body)


def _in_order(answer: Answer) -> Relation:
    from viewkeeper.algebra.build import restricted_to

    return restricted_to(answer.rel, answer.columns)


def _branches(query: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain of unions."""
    inner = query
    while isinstance(inner, exp.Subquery) and not inner.args.get("with_"):
        inner = inner.this
    if isinstance(inner, exp.Union) and not inner.args.get("with_"):
        return [*_branches(inner.this), *_branches(inner.expression)]
    return [query]


def _is_distinct(query: exp.Expr) -> bool | None:
    """Whether a chain of unions drops duplicates; None when it is no union."""
    inner = query.unnest()
    if not isinstance(inner, exp.Union):
        return None
    kinds = {bool(inner.args.get("distinct"))}
    for side in (inner.this, inner.expression):
        below = _is_distinct(side)
        kinds |= set() if below is None else {below}
    if len(kinds) > 1:
        raise Untranslatable("recursion that mixes UNION and UNION ALL")
    return kinds.pop()


def _check_monotone(rel: Relation, name: str) -> None:
    """More rows in must mean more rows out: no negation or aggregation of what is being defined."""
    for node in nodes(rel):
        if isinstance(node, (Filter, Project, Lateral, UnionAll, Distinct)):
            continue
        if isinstance(node, Join) and node.kind in (JoinKind.INNER, JoinKind.SEMI):
            continue
        keeps_left = isinstance(node, Join) and node.kind is JoinKind.ANTI
        inputs = children(node)[1:] if keeps_left else children(node)
        if any(isinstance(below, Reference) for child in inputs for below in nodes(child)):
            raise Untranslatable(f"{name} is negated or aggregated inside its own definition")
