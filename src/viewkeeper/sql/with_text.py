"""WITH clauses taken apart as text: nothing is translated, and what is put together again is the user's own.

WITH RECURSIVE r(a) AS (SELECT 1 UNION SELECT a + 1 FROM r) SELECT a FROM r
  → one definition, r(a), with the body `SELECT 1 UNION SELECT a + 1 FROM r`; the rest is ` SELECT a FROM r`
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import Token, TokenType, exp

from viewkeeper.sql.dialect import ViewkeeperSpark
from viewkeeper.sql.splice import tables_read

_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


@dataclass(frozen=True)
class Cte:
    """One definition of a WITH: `header` is its text up to the body, with the name and the columns."""

    name: str
    columns: tuple[str, ...]
    header: str
    body: str
    recursive: bool = False

    @property
    def key(self) -> str:
        return self.name.lower()

    @property
    def text(self) -> str:
        return f"{self.header}({self.body})"

    def reads(self, names: Iterable[str]) -> frozenset[str]:
        """Which of the names, in lower case, its body reads."""
        return frozenset(name.lower() for name in tables_read(self.body)) & frozenset(names)

    def shown(self) -> tuple[str, ...]:
        """Its columns: those listed, or the names in the first SELECT of its body."""
        if self.columns:
            return self.columns
        query = sqlglot.parse_one(self.first_select, dialect=ViewkeeperSpark)
        return tuple(query.named_selects) if isinstance(query, exp.Query) else ()

    @property
    def first_select(self) -> str:
        """The first SELECT of its body, by which its columns are named."""
        query = sqlglot.parse_one(self.body, dialect=ViewkeeperSpark)
        while isinstance(query, (exp.SetOperation, exp.Subquery)):
            query = query.this
        return query.sql("spark")

    def drops_duplicates(self) -> bool:
        """Whether its body is a UNION, not a UNION ALL, of something."""
        return _has_union(tokens(self.body))


@dataclass(frozen=True)
class WithClause:
    """A WITH, and where its text starts and ends in that of the query."""

    recursive: bool
    ctes: tuple[Cte, ...]
    start: int
    end: int


def tokens(sql: str) -> list[Token]:
    return sqlglot.tokenize(sql, read=ViewkeeperSpark)


def first_with(sql: str) -> WithClause | None:
    """The first WITH clause of a text, whatever it stands in."""
    words = tokens(sql)
    for place, word in enumerate(words):
        if word.token_type is TokenType.WITH:
            found = _clause(sql, words, place)
            if found is not None:
                return found
    return None


def written(ctes: Sequence[Cte]) -> str:
    """Definitions as a WITH clause; empty where there are none."""
    if not ctes:
        return ""
    return f"WITH {'RECURSIVE ' * any(c.recursive for c in ctes)}{', '.join(cte.text for cte in ctes)}"


def components(ctes: Sequence[Cte]) -> list[tuple[Cte, ...]]:
    """Definitions that read each other stand together; each component comes after those that it reads."""
    known = {cte.key: cte for cte in ctes}
    below = {key: cte.reads(known) for key, cte in known.items()}
    for key in known:
        for other in known:
            if key in below[other]:
                below[other] |= below[key]
    found: dict[frozenset[str], tuple[Cte, ...]] = {}
    for key in sorted(known, key=lambda key: len(below[key] | {key})):
        same = frozenset(other for other in below[key] if key in below[other]) | {key}
        found.setdefault(same, tuple(cte for cte in ctes if cte.key in same))
    return list(found.values())


def needed(body: str, scope: Iterable[Cte]) -> list[Cte]:
    """The definitions in scope that a text reads, also through others, in their order."""
    scope = list(scope)
    wanted = {name.lower() for name in tables_read(body)}
    for cte in reversed(scope):
        if cte.key in wanted:
            wanted |= {name.lower() for name in tables_read(cte.body)}
    return [cte for cte in scope if cte.key in wanted]


def _clause(sql: str, words: Sequence[Token], place: int) -> WithClause | None:
    """The clause that starts with the word at a place; None for WITH ROLLUP, WITH TIME ZONE and the like."""
    start, recursive = words[place].start, False
    place += 1
    if place < len(words) and words[place].token_type is TokenType.RECURSIVE:
        place, recursive = place + 1, True
    ctes: list[Cte] = []
    while place < len(words):
        found = _cte(sql, words, place, recursive)
        if found is None:
            return None
        ctes.append(found[0])
        place = found[1] + 1
        if place >= len(words) or words[place].token_type is not TokenType.COMMA:
            return WithClause(recursive, tuple(ctes), start, words[place - 1].end + 1)
        place += 1
    return None


def _cte(sql: str, words: Sequence[Token], place: int, recursive: bool) -> tuple[Cte, int] | None:
    """`name [(columns)] [AS] (body)` and the place of the parenthesis that ends it."""
    first = words[place]
    columns: tuple[str, ...] = ()
    place += 1
    if place < len(words) and words[place].token_type is TokenType.L_PAREN:
        end = _closing(words, place)
        if end + 1 < len(words) and words[end + 1].token_type is not TokenType.COMMA:
            columns = tuple(w.text for w in words[place + 1 : end] if w.token_type is not TokenType.COMMA)
            place = end + 1
    while place < len(words) and words[place].token_type is not TokenType.L_PAREN:
        if words[place].token_type not in (TokenType.ALIAS, TokenType.NUMBER, *_NAMES):
            return None
        place += 1
    if place >= len(words):
        return None
    end = _closing(words, place)
    header, body = sql[first.start : words[place].start], sql[words[place].end + 1 : words[end].start]
    return Cte(first.text, columns, header, body, recursive), end


def _closing(words: Sequence[Token], place: int) -> int:
    """The place of the parenthesis that closes the one at a place."""
    depth = 0
    for at in range(place, len(words)):
        depth += words[at].token_type is TokenType.L_PAREN
        depth -= words[at].token_type is TokenType.R_PAREN
        if not depth:
            return at
    return len(words) - 1


def _has_union(words: Sequence[Token]) -> bool:
    if words and words[0].token_type is TokenType.L_PAREN and _closing(words, 0) == len(words) - 1:
        return _has_union(words[1:-1])
    depth = 0
    for word, following in zip(words, [*words[1:], None], strict=True):
        depth += word.token_type is TokenType.L_PAREN
        depth -= word.token_type is TokenType.R_PAREN
        is_all = following is not None and following.token_type is TokenType.ALL
        if not depth and word.token_type is TokenType.UNION and not is_all:
            return True
    return False
