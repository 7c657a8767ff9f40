"""A Δ-script: plain data that the executor runs and `explain` prints.

Plans in steps have implicit counts; they are made explicit when it is known which stored
relations carry counts. A step that computes a result gives it a name for later steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from viewkeeper.algebra.relations import Relation


@dataclass(frozen=True)
class Compute:
    """Evaluates a plan once and keeps the result under a name. `signed`: it carries counts."""

    name: str
    plan: Relation
    signed: bool
    note: str = ""


@dataclass(frozen=True)
class AppendLayer:
    """Appends the rows of a plan to a relation as one layer.

    `signed`: rows of a bag with counts. Otherwise rows of a keyed relation, which merge with the
    stored ones, or stand in their place when `replaces`.
    """

    relation: str
    plan: Relation
    signed: bool = True
    replaces: bool = False
    note: str = ""


@dataclass(frozen=True)
class ReplaceMain:
    """Writes a relation anew from a plan, or from the user's own SQL where there is no plan."""

    relation: str
    plan: Relation | None
    sql: str
    note: str = ""


Step: TypeAlias = Compute | AppendLayer | ReplaceMain
Script: TypeAlias = tuple[Step, ...]
