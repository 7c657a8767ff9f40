"""Δ-scripts of ID-based diffs as text, and what they read."""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.algebra.relations import Scan, State
from viewkeeper.algebra.walk import scans
from viewkeeper.maintenance.id_diffs.script import (
    Apply,
    ComputeDiff,
    Script,
    computations,
)
from viewkeeper.sql.show import show as show_plan


def base_table_reads(script: Script) -> tuple[Scan, ...]:
    """The scans of base tables at OLD or NEW: what the script reads besides diffs, caches and the view."""
    own = {relation.name for relation in script.stored}
    found = (scan for step in computations(script) for scan in scans(step.query))
    return tuple(scan for scan in found if scan.at is not State.DELTA and scan.table not in own)


def show(script: Script) -> str:
    """The script as text: what is stored, then step by step."""
    return "\n".join(_lines(script))


def _lines(script: Script) -> Iterator[str]:
    for relation in script.stored:
        yield f"{relation.reason} {relation.name}, by ({', '.join(relation.ids)})"
        yield from _indented(show_plan(relation.plan))
    for step in script.steps:
        match step:
            case ComputeDiff():
                yield f"{step.name} =" if step.schema is None else f"{step.name}: {step.schema} ="
                yield from _indented(show_plan(step.query))
            case Apply():
                yield f"apply {step.diff.name} to {step.target}"


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.splitlines())
