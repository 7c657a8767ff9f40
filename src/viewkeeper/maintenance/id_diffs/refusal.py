"""Why a view has no Δ-script: a value, not an exception."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """A code for programs and a sentence for people."""

    code: str
    sentence: str


class Refused(Exception):
    """Carries a refusal out of the recursion of pass 1; never leaves this package."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.refusal = Refusal(code, sentence)
