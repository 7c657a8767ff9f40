"""What was found while a case was played."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Failure:
    """One view that is wrong, or an error that plain Spark does not raise."""

    kind: str
    view: str
    step: int
    told: dict[str, Any]

    @property
    def signature(self) -> str:
        """What failures of one cause have in common, as far as can be told from outside."""
        if self.kind == "wrong":
            return self.kind
        return self.kind + " " + re.sub(r"[\d`'\"]+|\b[a-z]+\d+\b", "", self.told.get("error", ""))[:90]


@dataclass
class Outcome:
    failures: list[Failure] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def first_lines(error: Exception, most: int = 600) -> str:
    return f"{type(error).__name__}: {str(error).split('JVM stacktrace')[0]}"[:most]
