"""A fixpoint has no delta rule: gupta93 section 7 maintains it as a whole, by DRed."""

from __future__ import annotations

from typing import NoReturn

from viewkeeper.algebra.relations import Fixpoint
from viewkeeper.errors import CannotMaintain

RECURSIVE = "recursive"
"""The reason code of the refusal."""


def refuse_fixpoint(rel: Fixpoint) -> NoReturn:
    raise CannotMaintain(
        f"The recursive definition of {rel.result} has no delta rule.",
        "A change may travel through it any number of rounds, so no fixed expression is its delta.",
        "Maintain it by deletion and rederivation (strategy dred), or recompute it.",
        code=RECURSIVE,
    )
