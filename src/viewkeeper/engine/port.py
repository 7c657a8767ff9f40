"""What plans ask of an engine: open what is stored, run a physical plan, write what it gives.

Rows are frames of the engine, or are held on the driver; whoever passes them on need not know. Spark is the
engine of the pipeline (`spark/engine.py`); it has the local one run what is placed on the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeVar

from viewkeeper.algebra.schema import Column
from viewkeeper.engine.local.run import LookUp, nowhere
from viewkeeper.engine.rows import Held
from viewkeeper.planning.physical import Physical
from viewkeeper.storage.relation import DataFile

Frame = TypeVar("Frame")

Place = Mapping[str, int | bool]
"""Where a layer stands: columns that have one value in all its rows."""

FIRST: Place = MappingProxyType({})
"""No place: what is no layer of others."""


class Engine(Protocol[Frame]):
    """Runs plans over the files of one warehouse."""

    def open(
        self, relation: str, files: Iterable[DataFile], columns: Sequence[Column], most: int | None = None
    ) -> Frame | Held:
        """The rows of some files; those of few are held."""
        ...

    def run(
        self, physical: Physical, frames: Mapping[str, Frame | Held], look_up: LookUp = nowhere
    ) -> Frame | Held:
        """The rows of a physical plan over inputs by their names."""
        ...

    def write(
        self, rows: Frame | Held, relation: str, about: int | None = None, at: Place = FIRST
    ) -> tuple[DataFile, ...]:
        """Writes rows below a relation's folder, each with its place."""
        ...
