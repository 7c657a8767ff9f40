"""A refusal on its way out of a recursion: whoever began it turns it into a value again."""

from __future__ import annotations

from viewkeeper.report import Reason


class Refused(Exception):
    """Why something is not possible, found deep inside; it never leaves the package that raises it."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = Reason(code, sentence)
