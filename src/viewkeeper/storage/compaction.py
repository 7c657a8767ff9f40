"""When layers are folded, and into what. Measured, not guessed: see docs/decisions.

A fold costs one Spark action; reading many layers costs a little each time. So a relation is
folded when its layers have become many, or a sizeable share of main.
"""

from __future__ import annotations

from enum import Enum

from viewkeeper.storage.relation import RelationState

MOST_LAYERS = 16
SMALL_MAIN = 100_000
SHARE_OF_MAIN = 0.2
LARGE_LAYER = 50_000


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
    many = len(state.overlay) >= MOST_LAYERS
    large = state.overlay_rows > SHARE_OF_MAIN * state.main_rows
    if large and (many or state.overlay_rows > SMALL_MAIN):
        return Fold.MAIN
    if not many:
        return Fold.NOTHING
    return Fold.MAIN if state.main_rows <= SMALL_MAIN else Fold.LAYERS


def _can_adopt(state: RelationState) -> bool:
    """Insert-only layers of a bag whose files are large enough to be files of main."""
    if state.merge is not None:
        return False
    return all(
        layer.only_inserts and layer.rows >= LARGE_LAYER * max(1, len(layer.files)) for layer in state.overlay
    )
