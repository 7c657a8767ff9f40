"""What a statement says of how fresh a view is to be.

TARGET_LAG [=] '1 minute' | DOWNSTREAM
SCHEDULE [=] [REFRESH] CRON '0 6 * * *' [AT TIME ZONE 'Europe/Lisbon'] | EVERY 2 HOURS | '0 6 * * *'
"""

from __future__ import annotations

from viewkeeper.catalog.freshness import DOWNSTREAM, SCHEDULE, TARGET_LAG, Properties, freshness
from viewkeeper.sql.header import Header


def taken(header: Header) -> Properties:
    """The property that the next clause asks for; none where it is no such clause."""
    if header.take("TARGET_LAG"):
        header.take("=")
        found = ((TARGET_LAG, DOWNSTREAM if header.take("DOWNSTREAM") else header.text()),)
    elif header.take("SCHEDULE"):
        header.take("=")
        header.take("REFRESH")
        found = ((SCHEDULE, _schedule(header)),)
    else:
        return ()
    freshness(found)
    return found


def _schedule(header: Header) -> str:
    if header.take("EVERY"):
        number = header.one_word() if header.word.isdecimal() else "1"
        return f"every {number} {header.one_word().lower()}"
    header.take("CRON")
    text = header.text()
    if header.take("AT", "TIME", "ZONE") or header.take("AT TIME ZONE"):
        text = f"{text} AT TIME ZONE {header.text()}"
    return text
