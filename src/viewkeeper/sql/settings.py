"""Settings of a session under which Spark reads a text in another way than the front end does."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

READ_AS = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
"""What each must be for the front end to read names, literals and clauses as Spark does."""


def unread(settings: Mapping[str, str], sql: str) -> str | None:
    """Why a text is left to Spark; None where the front end reads it in the same way."""
    for name, value in READ_AS.items():
        if settings.get(name, value).lower() != value.lower():
            return f"it was defined with {name} = {settings[name]}"
    if settings.get("spark.sql.caseSensitive", "false").lower() == "true" and (names := _alike(sql)):
        return f"names of it differ only in case: {', '.join(names)}"
    return None


def _alike(sql: str) -> list[str]:
    """Words of a text that are spelled in several ways."""
    spelled: dict[str, set[str]] = defaultdict(set)
    for word in re.findall(r"\w+", re.sub(r"'[^']*'", "", sql)):
        spelled[word.lower()].add(word)
    return sorted(word for words in spelled.values() if len(words) > 1 for word in words)
