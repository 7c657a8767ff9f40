"""Drops what Java and Spark say of themselves when they start; all else of their stderr is passed on."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STARTING = re.compile(
    rb"WARNING: (Using incubator modules|package \S+ not in|A terminally deprecated method|sun\.misc"
    rb"|Please consider reporting|.*has been called by|A restricted method|Use --(enable|sun)"
    rb"|Restricted methods)"
    rb"|Using Spark's default log4j|Setting (default|Spark) log level|To adjust logging level|Picked up "
    rb"|\S+ \S+ WARN (NativeCodeLoader|Utils)|\d\d/\d\d/\d\d \d\d:\d\d:\d\d WARN|:: loading settings"
)


@contextmanager
def quiet() -> Iterator[None]:
    """While it lasts, processes that are started have an stderr without such lines; theirs stays so."""
    try:
        own = os.dup(2)
    except OSError:  # there is none
        yield
        return
    reading, writing = os.pipe()
    sys.stderr.flush()
    os.dup2(writing, 2)
    os.close(writing)
    threading.Thread(target=_pass_on, args=(reading, own), daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(own, 2)


def _pass_on(reading: int, to: int) -> None:
    """Copies lines until nobody writes any more."""
    with open(reading, "rb", closefd=True) as lines:
        for line in lines:
            if not STARTING.match(line):
                os.write(to, line)
