"""The rules ΔQ: algebra to algebra, exact for every operator, over signed bags."""

from viewkeeper.delta.minimal import minimal
from viewkeeper.delta.rules import delta
from viewkeeper.delta.states import at, old

__all__ = ["at", "delta", "minimal", "old"]
