"""When layers are folded, and into what. The sizes are in `limits.py`.

A fold costs one Spark action; reading many layers costs a little each time. So a relation is
folded when its layers have become many, or a sizeable share of main.
"""

from __future__ import annotations

from enum import Enum

from viewkeeper import limits
from viewkeeper.storage.relation import RelationState


class Fold(Enum):
    """What to do with a relation's overlay."""

    NOTHING = "nothing"
    ADOPT = "adopt the layers' files into main"
    LAYERS = "make one layer of many"
    MAIN = "write main anew"


def fold_of(state: RelationState, forced: bool) -> Fold:
    """The cheapest fold that keeps reads fast; `forced` folds everything into main."""
    if not state.overlay:
        return Fold.NOTHING
    if forced:
        return Fold.MAIN
    if _can_adopt(state):
        return Fold.ADOPT
    most = limits.LIMITS
    many = len(state.overlay) >= most.layers
    large = state.overlay_rows > most.layers_share * state.main_rows
    if large and (many or state.overlay_rows > most.main_written):
        return Fold.MAIN
    if not many:
        return Fold.NOTHING
    return Fold.MAIN if state.main_rows <= most.main_written else Fold.LAYERS


def _can_adopt(state: RelationState) -> bool:
    """Insert-only layers of a bag whose files are large enough to be files of main."""
    if state.merge is not None:
        return False
    rows = limits.LIMITS.layer_adopted
    return all(one.only_inserts and one.rows >= rows * max(1, len(one.files)) for one in state.overlay)
