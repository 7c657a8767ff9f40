"""ID-based diffs (katsis15): updates that touch no base table.

    definition = define("v", plan, schemas)         # or a Reason
    script = definition.script()                    # all four passes
    script = definition.script(changed={"upd_parts"})  # only for the diffs that are not empty

Four passes make a Δ-script of a view: `infer.infer_ids` (1), `instantiate.instantiate` (2),
`compose.compose` (3) and `minimize.minimize` (4). All is algebra; nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.maintenance.id_diffs.caches import Caches, Caching, choose_caches
from viewkeeper.maintenance.id_diffs.compose import compose
from viewkeeper.maintenance.id_diffs.diffs import Diff
from viewkeeper.maintenance.id_diffs.ids import Subview
from viewkeeper.maintenance.id_diffs.infer import infer_ids
from viewkeeper.maintenance.id_diffs.instantiate import instantiate
from viewkeeper.maintenance.id_diffs.minimize import minimize
from viewkeeper.maintenance.id_diffs.script import Apply, ComputeDiff, KeptRelation, Script
from viewkeeper.report import Reason


@dataclass(frozen=True)
class IdView:
    """A view that can be kept up to date by i-diffs, as it is known when it is defined."""

    name: str
    visible: tuple[str, ...]
    top: Subview
    schemas: Mapping[str, TableSchema]
    caches: Caches
    tuple_based: bool = False
    adds: bool = True
    wide: bool = False
    _scripts: dict[frozenset[str] | None, Script] = field(default_factory=dict, repr=False, compare=False)

    def script(self, changed: Collection[str] | None = None) -> Script:
        """The Δ-script; `changed` names the base-table diffs that have rows, by default any."""
        wanted = None if changed is None else frozenset(changed)
        if wanted not in self._scripts:
            self._scripts[wanted] = self._made(wanted)
        return self._scripts[wanted]

    def _made(self, changed: Collection[str] | None) -> Script:
        dag = instantiate(
            self.top,
            self.schemas,
            self.caches,
            changed,
            tuple_based=self.tuple_based,
            adds=self.adds,
            wide=self.wide,
        )
        return minimize(compose(dag, self.name, self.visible, self.caches))

    @cached_property
    def widened(self) -> IdView:
        """The same, with scripts in which no sum overflows on the way. A sum may move by more than its own
        type has room for: new sums are told, and not how far they have moved."""
        return replace(self, adds=False, wide=True, _scripts={})

    def diffs_of(self, table: str) -> tuple[Diff, ...]:
        """The diffs of one table: insertions, deletions, and the updates."""
        return tuple(diff for diff in self.script(()).base if diff.schema.relation == table)

    def base_steps(self) -> tuple[ComputeDiff, ...]:
        """The logs of the tables and all diffs of them: which have rows decides on the script."""
        rules = instantiate(self.top, self.schemas, self.caches).rules
        base = (rule for rule in rules if rule.subview in self.schemas)
        return tuple(ComputeDiff(rule.name, rule.query, rule.schema, rule.explicit) for rule in base)


def define(
    name: str,
    plan: Relation,
    schemas: Mapping[str, TableSchema],
    *,
    caching: Caching = Caching.AUTO,
    tuple_based: bool = False,
    adds: bool = True,
) -> IdView | Reason:
    """The view extended by its IDs, and its caches; or why i-diffs cannot keep it up to date.

    Tuple-based scripts have no caches: the paper's compute all but the view from the base tables. With
    `adds=False` every diff has the paper's form: sums are told as they were and as they are.
    """
    top = infer_ids(plan, schemas)
    if isinstance(top, Reason):
        return top
    kept = Caching.NEVER if tuple_based else caching
    caches = choose_caches(top, name, kept, outputs=not tuple_based)
    return IdView(name, plan.columns, top, schemas, caches, tuple_based, adds)


__all__ = [
    "define",
    "IdView",
    "Reason",
    "Caching",
    "Script",
    "KeptRelation",
    "ComputeDiff",
    "Apply",
]
