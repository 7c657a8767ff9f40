"""Results that several views of one refresh use: the first that needs one computes it, the others wait."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from viewkeeper.maintenance.steps import Compute
from viewkeeper.planning.shared_work import SharedWork
from viewkeeper.spark.execute import Execution, Result


@dataclass
class SharedResults:
    """The common parts of some scripts, and those results that are there already."""

    work: SharedWork = field(default_factory=SharedWork)
    done: dict[str, Result] = field(default_factory=dict)
    passes: dict[str, Execution] = field(default_factory=dict)
    locks: dict[str, threading.Lock] = field(init=False)

    def __post_init__(self) -> None:
        self.locks = {part.name: threading.Lock() for part in self.work.parts}

    def supply(self, view: str, execution: Execution) -> None:
        """Gives a view's script the common parts that it uses, inputs first."""
        for part in self.work.parts_of(view):
            with self.locks[part.name]:
                if part.held:
                    self._hand_out(part, view, execution)
                elif part.name in self.done:
                    execution.supply(part.name, self.done[part.name])
                else:
                    execution.run((part,))
                    self.done[part.name] = execution.result(part.name)

    def _hand_out(self, part: Compute, view: str, execution: Execution) -> None:
        """Gives a script what the driver holds. The first of the users is said to have read what was read for
        it, whichever came first."""
        if part.name not in self.passes:
            self.passes[part.name] = Execution(execution.engine, execution.draft, execution.old)
            self.passes[part.name].run((part,))
        done = self.passes[part.name]
        execution.supply(part.name, done.result(part.name))
        if view == self.work.users[part.name][0]:
            execution.rows_read += done.rows_read
            execution.reads |= done.reads
