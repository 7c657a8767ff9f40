"""The words of a Datalog text. Comments run from `%` or `//` to the end of the line, or stand in `/* */`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from viewkeeper.datalog.syntax import Position, fault

NUMBER, STRING, NAME, SYMBOL, END = "number", "string", "name", "symbol", "end"

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|%[^\n]*|//[^\n]*|/\*.*?\*/)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<string>'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*")
    | (?P<name>[^\W\d]\w*|`[^`\n]+`)
    | (?P<symbol>:-|<=|>=|!=|<>|/(?!\*)|[-+*().,\[\]=<>!&:])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: Position

    def __str__(self) -> str:
        return "the end of the program" if self.kind == END else f"“{self.text}”"


def tokens(text: str) -> Iterator[Token]:
    """The tokens of the text, and one that stands for its end."""
    place, line, line_start = 0, 1, 0
    while place < len(text):
        at = Position(line, place - line_start + 1, text)
        match = _TOKEN.match(text, place)
        if match is None:
            raise _unreadable(text, place, at)
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match.group(), at)
        line += match.group().count("\n")
        if "\n" in match.group():
            line_start = place + match.group().rindex("\n") + 1
        place = match.end()
    yield Token(END, "", Position(line, place - line_start + 1, text))


def _unreadable(text: str, place: int, at: Position) -> Exception:
    letter = text[place]
    if letter in "'\"":
        return fault(at, "this string does not end.", f"Close it with {letter} on the same line.")
    if text.startswith("/*", place):
        return fault(at, "this comment does not end.", "Close it with */.")
    return fault(at, f"“{letter}” means nothing here.")
