"""Tokens of a statement, read from the left; the rest of the text can be had as it was written."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from viewkeeper.errors import InvalidName, InvalidSQL
from viewkeeper.sql.dialect import ViewkeeperSpark


def tokens_of(sql: str) -> list[Token]:
    try:
        return list(sqlglot.tokenize(sql, read=ViewkeeperSpark))
    except TokenError as error:
        raise InvalidSQL("The SQL text ends inside a text, a name or a comment.", str(error)) from error


def split_statements(text: str) -> list[str]:
    """The statements of a script, which semicolons end; each as it was written.

    >>> split_statements("INSERT INTO t VALUES (';'); SELECT 1")
    ["INSERT INTO t VALUES (';')", 'SELECT 1']
    """
    return list(_split(text))


def is_complete(text: str) -> bool:
    """Whether a prompt can run `text`: it ends with the semicolon of a statement."""
    try:
        tokens = tokens_of(text)
    except InvalidSQL:
        return False
    return not tokens or tokens[-1].token_type is TokenType.SEMICOLON


def _split(text: str) -> Iterator[str]:
    start = 0
    last: Token | None = None
    for token in tokens_of(text):
        if token.token_type is TokenType.SEMICOLON:
            if last is not None:
                yield text[start : token.start].strip()
            start, last = token.end + 1, None
        else:
            last = token
    if last is not None:
        yield text[start:].strip()


class Header:
    """A cursor over the words before a statement's query."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.tokens = [t for t in tokens_of(sql) if t.token_type is not TokenType.SEMICOLON]
        self.position = 0

    @property
    def word(self) -> str:
        """The next token in upper case; empty at the end."""
        return self.tokens[self.position].text.upper() if self.position < len(self.tokens) else ""

    def take(self, *words: str) -> bool:
        """Goes past these words when they come next."""
        ahead = [t.text.upper() for t in self.tokens[self.position : self.position + len(words)]]
        if ahead != [word.upper() for word in words]:
            return False
        self.position += len(words)
        return True

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            raise self.wrong(" ".join(words))

    def wrong(self, expected: str) -> InvalidSQL:
        if self.position >= len(self.tokens):
            return InvalidSQL(f"Syntax error at the end: {expected} is missing.", self.sql.strip()[:200])
        token = self.tokens[self.position]
        return InvalidSQL(
            f"Syntax error at line {token.line}, column {token.col}: "
            f"{expected} is expected before {token.text}.",
            self.sql.splitlines()[token.line - 1],
        )

    def name(self) -> str:
        """The name of a table or view, without its quotes."""
        if not self.word:
            raise self.wrong("a name")
        text = str(self.tokens[self.position].text)
        self.position += 1
        if self.word == ".":
            raise qualified(f"{text}.…")
        return text

    def one_word(self) -> str:
        """The next token as it was written."""
        if not self.word:
            raise self.wrong("a word")
        self.position += 1
        return str(self.tokens[self.position - 1].text)

    def text(self) -> str:
        """A string in quotes."""
        if self.position >= len(self.tokens) or self.tokens[self.position].token_type is not TokenType.STRING:
            raise self.wrong("a string in quotes")
        self.position += 1
        return str(self.tokens[self.position - 1].text)

    def rest(self) -> str:
        """What is left, as it was written."""
        if self.position >= len(self.tokens):
            return ""
        return self.sql[self.tokens[self.position].start : self.tokens[-1].end + 1]

    def end(self) -> None:
        if self.word:
            raise self.wrong("the end of the statement")


def qualified(name: str) -> InvalidName:
    return InvalidName(
        f"{name} has a qualifier.",
        hint="A warehouse has no schemas or catalogs. A dot inside of a name needs backticks.",
    )
