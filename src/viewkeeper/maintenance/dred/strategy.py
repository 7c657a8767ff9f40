"""DRed as a strategy: views with recursion inside them (gupta93 section 7 over the strata of section 3).

    for each stratum, in order:   a recursion by deletion, rederivation and insertion (`dred`),
                                  or level by level (`levels`);   any other one by counting

The exact change of a recursion is what the strata above it read, as of any other stratum.
"""

from __future__ import annotations

from viewkeeper.algebra.relations import Fixpoint
from viewkeeper.algebra.walk import nodes
from viewkeeper.maintenance.counting import redefined, replaced_input
from viewkeeper.maintenance.strategy import Batch, ByDeltaRules, View
from viewkeeper.report import Reason

NOT_RECURSIVE = "not-recursive"
"""The reason code of the refusal of views without recursion."""


class Dred(ByDeltaRules):
    """Recursive strata by delete, rederive, insert; the others by counting."""

    name = "dred"

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        if not any(stratum.relations for stratum in view.strata):
            return _no_recursion(view)
        return _text_inside(view) or replaced_input(batch) or redefined(view)


def _no_recursion(view: View) -> Reason:
    return _text_inside(view) or Reason(NOT_RECURSIVE, "The view is not recursive.")


def _text_inside(view: View) -> Reason | None:
    """Recursions that rounds cannot maintain stay inside a stratum, for Spark itself to run."""
    for stratum in view.strata:
        if stratum.query is None:
            why = view.untranslatable or "its SQL has no plan"
            return Reason("untranslatable", f"The query cannot be written as a plan: {why}.")
        inner = [node for node in nodes(stratum.query) if isinstance(node, Fixpoint)]
        if any(node is not stratum.fixpoint for node in inner):
            why = "A UNION ALL recursion here is mutual, or reads itself more than once in a round."
            return Reason("not-linear", why)
    return None
