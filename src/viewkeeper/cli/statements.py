"""SQL text cut into statements at the semicolons that are not inside texts, names or comments."""

from __future__ import annotations

from sqlglot import Token, TokenType
from sqlglot.dialects import Spark
from sqlglot.errors import TokenError

from viewkeeper.errors import InvalidSQL


def split(text: str) -> list[str]:
    """The statements of `text`, without their semicolons.

    >>> split("INSERT INTO t VALUES (';'); SELECT 1")
    ["INSERT INTO t VALUES (';')", 'SELECT 1']
    """
    ends = [token.start for token in _tokens(text) if token.token_type is TokenType.SEMICOLON]
    starts = [0, *(end + 1 for end in ends)]
    pieces = [text[start:end].strip() for start, end in zip(starts, [*ends, len(text)])]
    return [piece for piece in pieces if piece and _tokens(piece)]


def is_complete(text: str) -> bool:
    """Whether the prompt can run `text`: it ends with the semicolon of a statement."""
    try:
        tokens = _tokens(text)
    except InvalidSQL:
        return False
    return not tokens or tokens[-1].token_type is TokenType.SEMICOLON


def _tokens(text: str) -> list[Token]:
    try:
        return list(Spark().tokenize(text))
    except TokenError as error:
        raise InvalidSQL("The SQL text ends inside a text, a name or a comment.", str(error)) from error
