"""A view's SQL to algebra.

    parse_view("SELECT a, COUNT(*) AS n FROM t GROUP BY a", catalog)
      → aggregate by (a) COUNT(*) as n over scan t

Errors of the user are raised here, when the view is defined. A query that is valid but has no
expression in the algebra is kept as text, with the reason.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.clock import Clock, clock_of
from viewkeeper.algebra.expressions import Named, Scalar, column, replace_columns
from viewkeeper.algebra.inner_names import inner_column, shown
from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import Project, Relation
from viewkeeper.errors import InvalidSQL, NotDeterministic, UnknownTable, Unsupported
from viewkeeper.sql.aggregate_calls import call_name, is_chance, is_clock_literal
from viewkeeper.sql.char_padding import padded
from viewkeeper.sql.clock import bare_names, checked_calls, clock_calls, shown_by, with_clocks
from viewkeeper.sql.context import Context, Translated
from viewkeeper.sql.dialect import ViewkeeperSpark
from viewkeeper.sql.known_relations import KnownRelations
from viewkeeper.sql.query import translate
from viewkeeper.sql.scope import NeedsDomain, Untranslatable
from viewkeeper.sql.spellings import canonical

INSTEAD = "Call the clock instead: current_date(), current_timestamp(), or current_date() - 1 for yesterday."
"""What to do about texts that Spark reads from the clock."""


@dataclass(frozen=True)
class ViewQuery:
    """A view's definition. `relation` is None where `untranslatable` says why."""

    sql: str
    relation: Relation | None
    columns: tuple[str, ...]
    tables: tuple[str, ...]
    untranslatable: str | None = None


def parse_view(
    sql: str,
    catalog: KnownRelations,
    names: tuple[str, ...] = (),
    unread: str | None = None,
    zone: str | None = None,
) -> ViewQuery:
    """The view that a text defines; `names` are its columns where Spark was asked for them.

    Spark then takes the text, and what we do not find in it is ours to learn: the view is kept as text.
    `unread`: why the text may mean something else than what is read here. `zone` is the time zone that the
    clock is read in; without it, a text that reads the clock is refused.
    """
    query = canonical(parse_query(sql))
    check_deterministic(query, zone is not None)
    clocks = _clocks_read(sql, query, catalog, zone)
    context = Context(catalog)
    if unread is not None:
        return _as_text(sql, query, catalog, unread, clocks)
    if not _survives_writing(query):
        return _as_text(sql, query, catalog, "an expression of it cannot be written back unchanged", clocks)
    try:
        answer = translate(context, query)
        answer = replace(answer, rel=padded(answer.rel, query))
    except Untranslatable as reason:
        return _as_text(sql, query, catalog, str(reason), clocks)
    except (MalformedPlan, NeedsDomain) as reason:
        return _as_text(sql, query, catalog, f"no plan was found: {reason}", clocks)
    except InvalidSQL as reason:
        if not names or isinstance(reason, (NotDeterministic, Unsupported)):
            raise
        why = f"something that only Spark understands: {reason.what}"
        return _as_text(sql, query, catalog, why, clocks)
    check_outputs(names or answer.names)
    outputs = names or tuple(map(inner_column, answer.names))
    relation = _with_names(replace(answer, names=outputs))
    if clocks and zone is not None:
        try:
            relation = with_clocks(relation, zone, context.fresh)
        except Untranslatable as reason:
            return _as_text(sql, query, catalog, str(reason), clocks)
    return ViewQuery(sql, relation, outputs, tuple(sorted((*context.schemas, *clocks))), None)


def clocks_read(sql: str, zone: str) -> tuple[Clock, ...]:
    """The clocks that a text reads."""
    return tuple(sorted({clock_of(call.shows, zone) for call in clock_calls(sql)}))


def _clocks_read(sql: str, query: exp.Query, catalog: KnownRelations, zone: str | None) -> tuple[str, ...]:
    """The relations of the clocks that a text reads; refuses words that may be columns too."""
    if zone is None:
        return ()
    bare = bare_names(checked_calls(sql, query), sql)
    for table in query.find_all(exp.Table) if bare else ():
        try:
            columns = {shown(name).lower() for name in catalog.schema(table.name).names}
        except UnknownTable:
            continue
        if columns & bare:
            [name, *_] = sorted(columns & bare)
            raise NotDeterministic(
                f"{name} may be the clock, and may be a column of {table.name}.",
                hint=f"Write {table.alias_or_name}.{name}, or {name}().",
            )
    return tuple(clock.relation for clock in clocks_read(sql, zone))


def parse_query(sql: str) -> exp.Query:
    """The syntax tree of one query; anything else is refused."""
    tree = parse_one(sql)
    if isinstance(tree, exp.Values):
        return exp.select("*").from_(tree)
    if not isinstance(tree, exp.Query):
        raise InvalidSQL(
            "This is not a query.", sql.strip()[:200], "A view is defined by SELECT, VALUES or WITH … SELECT."
        )
    return tree


def parse_one(sql: str) -> exp.Expr:
    """One statement; syntax errors say where."""
    try:
        with _quiet():
            trees = [tree for tree in sqlglot.parse(sql, dialect=ViewkeeperSpark) if tree is not None]
    except (SqlglotError, ValueError, LookupError) as error:
        raise syntax_error(sql, error) from None
    if len(trees) != 1:
        what = "There are several statements here, not one." if trees else "There is no statement here."
        raise InvalidSQL(what, sql.strip()[:200])
    return trees[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """sqlglot warns of statements that it does not know; they get an error of ours."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def syntax_error(sql: str, error: Exception) -> InvalidSQL:
    details = getattr(error, "errors", None) or [{}]
    line, col = details[0].get("line"), details[0].get("col")
    of_its_own = str(error) if isinstance(error, SqlglotError) else "a call cannot be read"
    description = (details[0].get("description") or of_its_own).rstrip(".")
    description = re.sub(r"<Token .*?text: (.*?), line.*>", r"\1", description)
    where = f" at line {line}, column {col}" if line else ""
    shown = sql.splitlines()[line - 1] if line and line <= len(sql.splitlines()) else sql.strip()[:200]
    return InvalidSQL(f"Syntax error{where}: {description}.", shown)


def check_deterministic(tree: exp.Expr, has_clock: bool = False) -> None:
    """Refuses functions whose value is not a function of the tables, nor of the clock if there is one."""
    for node in tree.walk():
        if isinstance(node, exp.TableSample):
            raise NotDeterministic("TABLESAMPLE picks rows by chance.", hint="A view cannot use it.")
        if has_clock and shown_by(node) is not None:
            continue
        if is_chance(node) or is_clock_literal(node):
            name = call_name(node) or node.key
            raise NotDeterministic(
                f"{name} is not deterministic.",
                f"{node.sql(dialect='spark')} is not a function of the tables, so no view can be kept by it.",
                INSTEAD if is_clock_literal(node) else "Store the value in a column of a table.",
            )


def _survives_writing(node: exp.Expr) -> bool:
    """Whether the text that sqlglot writes for each function means that function again."""
    if shown_by(node) is not None:
        return True
    if isinstance(node, (exp.Func, exp.WithinGroup)) and node.find(exp.Query) is None:
        return _reads_back(node)
    return all(_survives_writing(child) for child in node.iter_expressions())


def _reads_back(node: exp.Expr) -> bool:
    try:
        again = sqlglot.parse_one(f"SELECT {node.sql(dialect='spark')}", dialect=ViewkeeperSpark)
    except SqlglotError:
        return False
    assert isinstance(again, exp.Query)
    return bool(canonical(again).expressions[0].transform(_plain_cast) == node.transform(_plain_cast))


def _plain_cast(node: exp.Expr) -> exp.Expr:
    """DATE '…' and CAST('…' AS DATE) are the same; so are a column's name with and without quotes."""
    if isinstance(node, exp.Cast):
        return exp.Cast(this=node.this, to=node.to)
    return exp.to_identifier(node.name) if isinstance(node, exp.Identifier) else node


def check_outputs(names: tuple[str, ...]) -> None:
    """A view's columns have names, each once without regard to case."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidSQL(
                f"The view has two columns named {name}.",
                hint="Give one of them another alias.",
                columns=(name,),
            )
        seen.add(name.lower())


def _with_names(answer: Translated) -> Relation:
    """The plan with the user's names; a projection on top takes them without another one above it."""
    outputs = tuple(Named(n, column(c)) for n, c in zip(answer.names, answer.columns, strict=True))
    rel = answer.rel
    if isinstance(rel, Project):
        inner: dict[str, Scalar] = {o.name: o.expr for o in rel.outputs}
        composed = tuple(Named(o.name, _unwrapped(replace_columns(o.expr, inner))) for o in outputs)
        return projected(rel.child, composed)
    return projected(rel, outputs)


def _unwrapped(expr: Scalar) -> Scalar:
    return expr.this if isinstance(expr, exp.Paren) else expr


def _as_text(
    sql: str, query: exp.Query, catalog: KnownRelations, reason: str, clocks: tuple[str, ...]
) -> ViewQuery:
    """The view as it was written; its tables and columns as far as the text shows them."""
    ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    found = {t.name for t in query.find_all(exp.Table) if isinstance(t.this, exp.Identifier)}
    names = {name for name in found if name.lower() not in ctes}
    tables = tuple(sorted({*(catalog.schema(name).name for name in names), *clocks}))
    columns = tuple(query.named_selects)
    known = bool(columns) and all(name and name != "*" for name in columns)
    if known:
        check_outputs(columns)
    return ViewQuery(sql, None, tuple(map(inner_column, columns)) if known else (), tables, reason)
