"""Calls that read the clock: where they stand in a text, and the plan in which a relation shows the time.

SELECT … FROM t WHERE day >= current_date() - 7
  → π_t(t ⋈_{day >= shown − 7} clock)                      as a plan
  → SELECT … FROM t WHERE day >= DATE '2026-03-01' - 7     as a text at an instant
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import Token, TokenType, exp

from viewkeeper.algebra.build import filtered, projected, restricted_to
from viewkeeper.algebra.clock import DATE, LOCAL, TIMESTAMP, clock_of
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    conjuncts,
    map_named,
    same,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Lateral,
    Project,
    Relation,
    TopK,
    Values,
    Window,
)
from viewkeeper.algebra.walk import rewrite
from viewkeeper.errors import InvalidSQL, NotDeterministic
from viewkeeper.sql.aggregate_calls import call_name
from viewkeeper.sql.scope import Untranslatable
from viewkeeper.sql.with_text import tokens

_NAMES = {
    "current_date": DATE,
    "curdate": DATE,
    "current_timestamp": TIMESTAMP,
    "now": TIMESTAMP,
    "localtimestamp": LOCAL,
}
_BARE = frozenset({"current_date", "current_timestamp"})
"""What Spark also takes without parentheses."""

_BEFORE_ALIASES = (
    TokenType.ALIAS,
    TokenType.R_PAREN,
    TokenType.IDENTIFIER,
    TokenType.VAR,
    TokenType.STRING,
    TokenType.NUMBER,
)
_TESTS = (
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.Between, exp.In, exp.And, exp.Or, exp.Not),
)


@dataclass(frozen=True)
class ClockCall:
    """A call in a text, what it shows, and where it starts and ends."""

    shows: str
    start: int
    end: int
    is_bare: bool


def shown_by(node: exp.Expr) -> str | None:
    """What a call reads off the clock; None of anything else."""
    match node:
        case exp.CurrentDate(this=None):
            return DATE
        case exp.CurrentTimestamp(this=None):
            return None if isinstance(node.parent, exp.StrToUnix) else TIMESTAMP
        case exp.Localtimestamp(this=None):
            return LOCAL
        case exp.Anonymous() if not node.expressions:
            return _NAMES.get(call_name(node))
        case _:
            return None


def clock_calls(sql: str) -> tuple[ClockCall, ...]:
    """The calls of a text that read the clock, in their order."""
    words = tokens(sql)
    found = (_call(words, place) for place in range(len(words)))
    return tuple(call for call in found if call is not None)


def _call(words: list[Token], place: int) -> ClockCall | None:
    word = words[place]
    shows = _NAMES.get(word.text.lower())
    before = words[place - 1].token_type if place else None
    if shows is None or word.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return None
    if before is TokenType.DOT:
        return None
    after = [other.token_type for other in words[place + 1 : place + 3]]
    if after == [TokenType.L_PAREN, TokenType.R_PAREN]:
        return ClockCall(shows, word.start, words[place + 2].end, False)
    if after[:1] == [TokenType.L_PAREN] or word.text.lower() not in _BARE or before in _BEFORE_ALIASES:
        return None
    return ClockCall(shows, word.start, word.end, True)


def checked_calls(sql: str, query: exp.Query) -> tuple[ClockCall, ...]:
    """The same, where both ways to read the text agree on them and each column has a name of its own."""
    calls, nodes = clock_calls(sql), [node for node in query.walk() if shown_by(node) is not None]
    if len(calls) != len(nodes):
        raise NotDeterministic(
            "It cannot be told which words of the text read the clock.",
            f"There are {len(nodes)} calls, and {len(calls)} words that look like one.",
            "Write the calls with parentheses, as in current_date(), and other names in backquotes.",
        )
    for select in query.find_all(exp.Select) if calls else ():
        for item in select.expressions:
            if not isinstance(item, (exp.Alias, exp.Aliases)) and _reads_itself(item):
                raise InvalidSQL(
                    f"The column {item.sql('spark')} needs a name.",
                    "It reads the clock, and would be called otherwise at each instant.",
                    "Write … AS name behind it.",
                )
    return calls


def _reads_itself(item: exp.Expr) -> bool:
    """Whether an expression calls the clock, other than in a query inside of it."""
    return any(shown_by(node) is not None for node in item.walk(prune=lambda n: isinstance(n, exp.Query)))


def at_instant(sql: str, shown: Mapping[str, str]) -> str:
    """The text with what the clock showed in the place of its calls."""
    pieces, position = [], 0
    for call in clock_calls(sql):
        pieces += [sql[position : call.start], _written(call.shows, shown[call.shows])]
        position = call.end + 1
    return "".join((*pieces, sql[position:]))


def _written(shows: str, text: str) -> str:
    kind = {DATE: "DATE", TIMESTAMP: "TIMESTAMP_LTZ", LOCAL: "TIMESTAMP_NTZ"}[shows]
    return f"{kind} '{text}'"


@dataclass(frozen=True)
class _Read:
    """Expressions that read the clock, over columns: `clocks` are what must be joined, `tests` what must be
    computed beside."""

    zone: str
    fresh: Callable[[str], str]
    clocks: dict[str, str] = field(default_factory=dict)
    tests: dict[Scalar, str] = field(default_factory=dict)

    def over_columns(self, expr: Scalar) -> Scalar:
        """The expression with columns in the place of calls."""

        def swap(node: exp.Expr) -> exp.Expr:
            shows = shown_by(node)
            return node if shows is None else column(self._column(shows))

        return expr.copy().transform(swap, copy=False)

    def over_tests(self, expr: Scalar) -> Scalar:
        """The same; tests that depend on the clock are columns of their own, which seldom change."""

        def swap(node: exp.Expr) -> exp.Expr:
            if isinstance(node, _TESTS) and _reads_clock(node) and node.find(exp.AggFunc, exp.Window) is None:
                return column(self._test(node))
            shows = shown_by(node)
            return node if shows is None else column(self._column(shows))

        return expr.copy().transform(swap, copy=False)

    def beside(self, child: Relation, condition: Scalar | None = None) -> Relation:
        """A relation joined with the clocks that were read."""
        for shows, name in self.clocks.items():
            child = Join(child, clock_of(shows, self.zone).scan(name), JoinKind.INNER, exp.true())
        return child if condition is None or not isinstance(child, Join) else replace(child, on=condition)

    def with_columns(self, child: Relation) -> Relation:
        """A relation with what was read as columns of it."""
        tests = tuple(Named(name, self.over_columns(test)) for test, name in self.tests.items())
        own = tuple(self.clocks.values())
        return projected(self.beside(child), (*same(child.columns), *tests, *same(own)))

    def _column(self, shows: str) -> str:
        return self.clocks.setdefault(shows, self.fresh(shows))

    def _test(self, node: Scalar) -> str:
        return self.tests.setdefault(node.copy(), self.fresh("test"))


def _reads_clock(*exprs: Scalar) -> bool:
    return any(shown_by(node) is not None for expr in exprs for node in expr.walk())


def with_clocks(rel: Relation, zone: str, fresh: Callable[[str], str]) -> Relation:
    """The plan with relations in the place of calls that read the clock."""
    return rewrite(rel, lambda node: _over_clocks(node, _Read(zone, fresh)))


def _over_clocks(node: Relation, read: _Read) -> Relation:
    """One node, whose inputs are done."""
    match node:
        case Filter() if _reads_clock(node.condition):
            return _filtered(node.child, node.condition, read)
        case Project() if _reads_clock(*(output.expr for output in node.outputs)):
            outputs = map_named(node.outputs, read.over_columns)
            return Project(read.beside(node.child), outputs)
        case Join(kind=JoinKind.INNER) if _reads_clock(node.on):
            own = [part for part in conjuncts(node.on) if not _reads_clock(part)]
            others = [part for part in conjuncts(node.on) if _reads_clock(part)]
            return _filtered(replace(node, on=conjunction(own)), conjunction(others), read)
        case Join() if _reads_clock(node.on):
            on, is_right = read.over_columns(node.on), node.kind is JoinKind.RIGHT
            left = node.left if is_right else read.with_columns(node.left)
            right = read.with_columns(node.right) if is_right else node.right
            return restricted_to(Join(left, right, node.kind, on), node.columns)
        case Aggregate() if _reads_clock(*(item.expr for item in (*node.keys, *node.aggregates))):
            keys = map_named(node.keys, read.over_tests)
            aggregates = map_named(node.aggregates, read.over_tests)
            return replace(node, child=read.with_columns(node.child), keys=keys, aggregates=aggregates)
        case Window() if _reads_clock(*(item.expr for item in node.functions)):
            functions = map_named(node.functions, read.over_tests)
            window = replace(node, child=read.with_columns(node.child), functions=functions)
            return restricted_to(window, node.columns)
        case TopK() if _reads_clock(*node.order):
            order = tuple(_ordered(read.over_tests(item)) for item in node.order)
            first = replace(node, child=read.with_columns(node.child), order=order)
            return restricted_to(first, node.columns)
        case Lateral() if _reads_clock(node.generator):
            generator = read.over_tests(node.generator)
            lateral = replace(node, child=read.with_columns(node.child), generator=generator)
            return restricted_to(lateral, node.columns)
        case Values() if _reads_clock(*(cell for row in node.rows for cell in row)):
            raise Untranslatable("the clock in VALUES")
        case _:
            return node


def _filtered(child: Relation, condition: Scalar, read: _Read) -> Relation:
    parts = [own for part in conjuncts(condition) for own in _in_two(part)]
    plain = filtered(child, conjunction(part for part in parts if not _reads_clock(part)))
    on = conjunction(read.over_columns(part) for part in parts if _reads_clock(part))
    return restricted_to(read.beside(plain, on), child.columns)


def _in_two(part: Scalar) -> tuple[Scalar, ...]:
    """The two comparisons that BETWEEN stands for: an edge is one of them."""
    if not isinstance(part, exp.Between) or part.args.get("symmetric"):
        return (part,)
    low, high = (exp.paren(part.args[side].copy(), copy=False) for side in ("low", "high"))
    value = exp.paren(part.this.copy(), copy=False) if not isinstance(part.this, exp.Column) else part.this
    return exp.GTE(this=value.copy(), expression=low), exp.LTE(this=value.copy(), expression=high)


def _ordered(item: Scalar) -> exp.Ordered:
    assert isinstance(item, exp.Ordered)
    return item


def bare_names(calls: Iterable[ClockCall], sql: str) -> frozenset[str]:
    """The words of calls without parentheses: where a table has such a column, Spark takes that."""
    return frozenset(sql[call.start : call.end + 1].lower() for call in calls if call.is_bare)
