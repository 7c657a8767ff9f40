"""From a plan to a physical plan, by passes that anyone can read.

    signs         rows are told apart by the signs of their zeros
    in_lists      large inputs are asked for keys that are known
    gather        inputs of few rows, or of which few rows are wanted, are read by one task
    broadcast     small results are sent to the inputs of large joins
    materialize   chains of unions are cut
    share         what is used twice, sent or cut is a fragment of its own
    co_locate     joins whose sides are in one task are made there
    place         few rows that the driver holds are put together there

A pass takes a physical plan and what is known of its inputs, and gives another one of the same meaning. The
plan is checked after each. Every plan goes through all of them, whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from viewkeeper.algebra.relations import Relation
from viewkeeper.limits import LIMITS, Limits
from viewkeeper.planning.physical.broadcast import broadcast
from viewkeeper.planning.physical.co_locate import co_locate
from viewkeeper.planning.physical.gather import gather
from viewkeeper.planning.physical.in_lists import in_lists
from viewkeeper.planning.physical.materialize import materialize
from viewkeeper.planning.physical.place import place
from viewkeeper.planning.physical.plan import (
    Facts,
    Fragment,
    Input,
    KnownTypes,
    KnownValues,
    Pass,
    Physical,
    check,
    shown,
)
from viewkeeper.planning.physical.share import share
from viewkeeper.planning.physical.signs import signs

__all__ = [
    "LIMITS",
    "PASSES",
    "Facts",
    "Fragment",
    "Input",
    "KnownTypes",
    "KnownValues",
    "Limits",
    "Physical",
    "lowered",
    "shown",
]

PASSES: tuple[Pass, ...] = (signs, in_lists, gather, broadcast, materialize, share, co_locate, place)


def lowered(
    plan: Relation, facts: Facts, is_part: bool = False, in_lists: Iterable[Relation] = ()
) -> Physical:
    """The physical plan of a plan with explicit counts.

    `is_part`: its result is part of other plans. `in_lists` are filters of it that are IN-lists already.
    """
    physical = Physical((Fragment("", plan, is_part),), in_lists=frozenset(in_lists))
    for one in PASSES:
        physical = check(one(physical, facts), plan.columns)
    return physical
