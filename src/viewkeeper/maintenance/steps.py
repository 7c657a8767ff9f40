"""A Δ-script: plain data that the executor runs and `explain` prints.

Plans in steps have explicit counts: they are rendered to SQL as they stand. A step that computes a
result gives it a name, and later plans mention it by `Reference`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from viewkeeper.algebra.relations import Fixpoint, Relation
from viewkeeper.maintenance.id_diffs import IdView
from viewkeeper.maintenance.id_diffs.schemas import BaseTable


@dataclass(frozen=True)
class Compute:
    """Gives a plan a name, under which later plans read its result.

    `counted`: its rows are written out, so that their number is known and steps that depend on
    nothing else can be left out when there are none. `flags` are columns of 0 and 1: where no row
    has 1, that is known too, under the name `flag(name, column)`. `shared`: other scripts read it
    too, and its size says nothing of what this one writes. `held`: the driver fetches it, and hands
    out what is each script's part of it. `log`: the table whose modification log it is, which the driver
    takes where the changes are few.
    """

    name: str
    plan: Relation
    note: str = ""
    counted: bool = False
    only_from: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    shared: bool = False
    held: bool = False
    log: BaseTable | None = None


@dataclass(frozen=True)
class AppendLayer:
    """Appends the rows of a plan to a relation as one layer.

    Rows of a bag are signed and of count +1 or −1. Rows of a keyed relation merge with the stored
    ones, or stand in their place when `replaces`. `kept`: columns called `beside(…)` are written with the
    layer and can be read, with the key and with the `flags`, as a result of that name. `recomputed`: these
    are groups that are computed anew. `whole`: these are all groups that there are.
    """

    relation: str
    plan: Relation
    replaces: bool = False
    note: str = ""
    only_from: tuple[str, ...] = ()
    kept: str = ""
    flags: tuple[str, ...] = ()
    recomputed: bool = False
    whole: bool = False


@dataclass(frozen=True)
class ReplaceMain:
    """Writes a relation anew from a plan, or from the user's own SQL where there is no plan.

    `compared`: others read it, so that what is different from before is logged.
    """

    relation: str
    plan: Relation | None
    sql: str
    note: str = ""
    only_from: tuple[str, ...] = ()
    compared: bool = False


@dataclass(frozen=True)
class EvaluateFixpoint:
    """Writes the relations of a recursion anew: rounds, until one derives nothing new.

    `relations` pairs each definition with the relation that stores it; `counted` names the inputs
    whose stored rows carry counts, `compared` the relations that others read.
    """

    fixpoint: Fixpoint
    relations: tuple[tuple[str, str], ...]
    limit: int
    counted: frozenset[str] = frozenset()
    compared: frozenset[str] = frozenset()


@dataclass(frozen=True)
class MaintainFixpoint:
    """Appends to each relation of a recursion its exact change, and keeps that under `delta_name`.

    `inserted` and `deleted` name the inputs that gained and may have lost rows, `computed` those of
    which a step before has computed the change, `keys` the keys of inputs that are state of the same
    view. `before` is the recursion as it was, where its definition changed. More overdeleted rows
    than a `share` of what is stored end the attempt, and the recursion is evaluated from scratch.
    """

    fixpoint: Fixpoint
    relations: tuple[tuple[str, str], ...]
    limit: int
    counted: frozenset[str] = frozenset()
    inserted: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    before: Fixpoint | None = None
    share: float | None = None
    only_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApplyDiffs:
    """Computes ID-based diffs of a view and of its caches, and appends each as a layer.

    What is run is the script for the base-table diffs that have rows: those in `known`, and of
    `flags`, which are (diff, log, flag of the log), those whose flag some row has.
    """

    definition: IdView
    known: frozenset[str] = frozenset()
    flags: tuple[tuple[str, str, str], ...] = ()

    @property
    def possible(self) -> frozenset[str]:
        """The base-table diffs that may have rows, as far as is known before the logs are taken."""
        return self.known | {diff for diff, _, _ in self.flags}


Step: TypeAlias = Compute | AppendLayer | ReplaceMain | EvaluateFixpoint | MaintainFixpoint | ApplyDiffs
Script: TypeAlias = tuple[Step, ...]


BESIDE = "__beside_"


def beside(name: str) -> str:
    """A column that is written beside those of a layer, and is no part of the relation."""
    return BESIDE + name


def delta_name(relation: str) -> str:
    """The result that holds the change of a relation that the script maintains."""
    return f"{relation}__delta"


def flag(result: str, column: str) -> str:
    """The rows of a result that a flag marks, as something that steps may depend on."""
    return f"{result}.{column}"


def diffs_present(step: ApplyDiffs, empty: frozenset[str]) -> frozenset[str]:
    """The base-table diffs that have rows, when some flags turned out to mark none."""
    return step.known | {diff for diff, log, mark in step.flags if flag(log, mark) not in empty}


def told_to_readers(script: Script, relation: str) -> Script:
    """The script, which logs what is different where it writes a relation anew that others read."""

    def told(step: Step) -> Step:
        match step:
            case ReplaceMain() if step.relation == relation:
                return replace(step, compared=True)
            case EvaluateFixpoint():
                return replace(step, compared=frozenset({relation}))
            case _:
                return step

    return tuple(told(step) for step in script)


def is_needed(step: Step, empty: frozenset[str]) -> bool:
    """Whether a step can have an effect, when some results turned out to be empty."""
    match step:
        case EvaluateFixpoint():
            return True
        case ApplyDiffs():
            return bool(diffs_present(step, empty))
        case Compute() if step.name in empty:
            return False
        case Compute() | AppendLayer() | ReplaceMain() | MaintainFixpoint():
            return not step.only_from or not empty.issuperset(step.only_from)
