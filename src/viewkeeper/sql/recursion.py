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
from viewkeeper.algebra.inner_names import inner_relation
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
from viewkeeper.errors import InvalidSQL, UnknownColumn, UnknownTable
from viewkeeper.sql.block import OuterValues
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.scope import Untranslatable


def with_clause(context: Context, query: exp.Expr, domain: OuterValues | None) -> Context:
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
            context = context.with_ctes({names[0]: _SharedDefinition(context, members[0], domain)})
    return context


@dataclass
class _SharedDefinition:
    """A definition, translated at its first use; later uses rename its columns."""

    context: Context
    cte: exp.CTE
    domain: OuterValues | None
    answer: Translated | None = field(default=None)

    def __call__(self, user: Context) -> Translated:
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


def _with_names(answer: Translated, cte: exp.CTE) -> Translated:
    names = tuple(cte.alias_column_names)
    if names and len(names) != len(answer.names):
        raise InvalidSQL(
            f"{cte.alias} has {len(answer.names)} columns, but lists {len(names)}.", columns=names
        )
    return replace(answer, names=names or answer.names)


def _references(cte: exp.CTE, names: Iterable[str]) -> set[str]:
    return _references_in(cte.this, names)


def _references_in(query: exp.Expr, names: Iterable[str]) -> set[str]:
    wanted = set(names)
    return {t.name.lower() for t in query.find_all(exp.Table) if t.name.lower() in wanted and not t.db}


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
    headers = _headers(context, members)
    inner = _with_headers(context, headers)
    distinct = {_is_distinct(cte.this) for cte in members} - {None}
    if len(distinct) != 1 or any(_drops_itself(cte, headers) for cte in members):
        raise Untranslatable("recursion that mixes UNION and UNION ALL")
    sets = distinct == {True}
    own = frozenset(header.name for header in headers.values()) if sets else frozenset()
    definitions = tuple(_definition(inner, cte, headers[cte.alias.lower()], own) for cte in members)
    for name, header in headers.items():
        rel = Fixpoint(definitions, header.name, sets)
        context = context.with_ctes({name: _Again(replace(header.answer, rel=rel))})
    return context


@dataclass(frozen=True)
class _Header:
    name: str
    answer: Translated


@dataclass(frozen=True)
class _Self:
    """A recursive definition inside itself."""

    header: _Header

    def __call__(self, user: Context) -> Translated:
        return user.apart(self.header.answer)


@dataclass(frozen=True)
class _Again:
    """A finished fixpoint."""

    answer: Translated

    def __call__(self, user: Context) -> Translated:
        return user.apart(self.answer)


def _with_headers(context: Context, headers: Mapping[str, _Header]) -> Context:
    return context.with_ctes({name: _Self(header) for name, header in headers.items()})


def _headers(context: Context, members: list[exp.CTE]) -> dict[str, _Header]:
    """The names and columns of recursive definitions, before their bodies are known.

    The first branch names the columns. Where it does so by a star over another member, that one is first.
    """
    found: dict[str, _Header] = {}
    waiting = {cte.alias.lower(): cte for cte in members}
    while waiting:
        known = _with_headers(context, found)
        ready = [name for name, cte in waiting.items() if not _star_over(cte, waiting)]
        if not ready:
            raise Untranslatable("a recursive definition whose columns are not named")
        found |= {name: _header(known, waiting.pop(name)) for name in ready}
    return {cte.alias.lower(): found[cte.alias.lower()] for cte in members}


def _star_over(cte: exp.CTE, waiting: Iterable[str]) -> bool:
    """Whether the columns of a definition are those of another that is still waiting for its own."""
    first = _branches(cte.this)[0]
    return _written_names(cte) is None and bool(_references_in(first, waiting))


def _written_names(cte: exp.CTE) -> tuple[str, ...] | None:
    """The columns as the text names them, where it names all."""
    first = _branches(cte.this)[0].unnest()
    items = first.selects if isinstance(first, exp.Query) else []
    names = tuple(cte.alias_column_names) or tuple(item.alias_or_name for item in items)
    return names if names and all(name and name != "*" for name in names) else None


def _header(context: Context, cte: exp.CTE) -> _Header:
    from viewkeeper.sql.query import translate

    visible = _written_names(cte) or translate(context.inside(None), _branches(cte.this)[0]).names
    columns = tuple(context.fresh(name) for name in visible)
    name = _own_name(context, cte.alias)
    return _Header(name, Translated(Reference(name, columns), visible, columns))


def _own_name(context: Context, alias: str) -> str:
    """What a recursive definition is called inside: never as a table is that it hides."""
    name = inner_relation(alias)
    try:
        return f"{name}__own" if context.catalog.schema(alias).name else name
    except UnknownTable:
        return name


def _definition(context: Context, cte: exp.CTE, header: _Header, sets: frozenset[str]) -> Definition:
    """A member of a recursion; `sets` are the names of all members where they are sets."""
    from viewkeeper.sql.query import translate

    columns = header.answer.columns
    branches = []
    for branch in _branches(cte.this):
        answer = translate(context.inside(None), branch)
        if len(answer.columns) != len(columns):
            raise InvalidSQL(f"The branches of {cte.alias} have different numbers of columns.")
        rel = named_like(_in_order(answer), columns)
        if sets:
            _check_monotone(rel, cte.alias, sets)
        branches.append(rel)
    body = UnionAll(tuple(branches)) if len(branches) > 1 else branches[0]
    return Definition(header.name, columns, body)


def _in_order(answer: Translated) -> Relation:
    from viewkeeper.algebra.build import restricted_to

    return restricted_to(answer.rel, answer.columns)


def _branches(query: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain of unions; what is united by UNION below UNION ALL stays one operand."""
    union = _union(query)
    if union is None:
        return [query]
    return [part for side in (union.this, union.expression) for part in _branches_below(side, union)]


def _branches_below(query: exp.Expr, union: exp.Union) -> list[exp.Expr]:
    below = _union(query)
    drops = below is not None and below.args.get("distinct") and not union.args.get("distinct")
    return [query] if drops else _branches(query)


def _drops_itself(cte: exp.CTE, names: Iterable[str]) -> bool:
    """Whether recursion goes through a UNION below a UNION ALL."""
    return any(_union(part) is not None and _references_in(part, names) for part in _branches(cte.this))


def recurses_by_union(query: exp.Expr) -> bool:
    """Whether the text has recursion that drops duplicates, which Spark does not take."""
    for clause in query.find_all(exp.With):
        definitions = {cte.alias.lower(): cte for cte in clause.expressions}
        for names in _components(definitions, bool(clause.args.get("recursive"))):
            members = [definitions[name] for name in names]
            if _is_recursive(members) and any(_is_distinct(cte.this) for cte in members):
                return bool(clause.args.get("recursive"))
    return False


def mutual_by_union_all(query: exp.Expr) -> tuple[str, ...]:
    """Definitions that read each other and keep duplicates, which Spark does not take; none where there are
    no such."""
    for clause in query.find_all(exp.With):
        definitions = {cte.alias.lower(): cte for cte in clause.expressions}
        for names in _components(definitions, bool(clause.args.get("recursive"))):
            if len(names) > 1 and not any(_is_distinct(definitions[name].this) for name in names):
                return tuple(definitions[name].alias for name in names)
    return ()


def _union(query: exp.Expr) -> exp.Union | None:
    """The union that a query is, if it is one."""
    inner = query
    while isinstance(inner, exp.Subquery) and not inner.args.get("with_"):
        inner = inner.this
    return inner if isinstance(inner, exp.Union) and not inner.args.get("with_") else None


def _is_distinct(query: exp.Expr) -> bool | None:
    """Whether a chain of unions drops duplicates, as the last of them does; None when it is no union."""
    union = _union(query)
    return None if union is None else bool(union.args.get("distinct"))


def _check_monotone(rel: Relation, name: str, own: frozenset[str]) -> None:
    """More rows in must mean more rows out: no negation or aggregation of what is being defined. Recursions
    that are complete below may be read in any way."""
    for node in nodes(rel):
        if isinstance(node, (Filter, Project, Lateral, UnionAll, Distinct)):
            continue
        if isinstance(node, Join) and node.kind in (JoinKind.INNER, JoinKind.SEMI):
            continue
        keeps_left = isinstance(node, Join) and node.kind is JoinKind.ANTI
        inputs = children(node)[1:] if keeps_left else children(node)
        found = (below for child in inputs for below in nodes(child) if isinstance(below, Reference))
        if any(reference.name in own for reference in found):
            inside = "read by another recursion" if isinstance(node, Fixpoint) else "negated or aggregated"
            raise Untranslatable(f"{name} is {inside} inside its own definition")
