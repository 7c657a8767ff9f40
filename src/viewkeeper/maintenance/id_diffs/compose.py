"""Pass 3: rules composed into a Δ-script, with what they ask for taken from caches where there are any.

A rule used once is written into the rule that uses it. What stays a step of its own: the base-table
diffs, the diffs of stored relations (applied once all of them are computed), and shared results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.relations import Bound, Reference, Relation, Scan, State
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import rewrite, with_children
from viewkeeper.maintenance.id_diffs.caches import Caches
from viewkeeper.maintenance.id_diffs.diffs import Diff
from viewkeeper.maintenance.id_diffs.ids import Subview, subviews
from viewkeeper.maintenance.id_diffs.instantiate import InstantiatedRule, RuleDag
from viewkeeper.maintenance.id_diffs.script import Apply, ComputeDiff, KeptRelation, Script, Step


def compose(dag: RuleDag, view_name: str, visible: tuple[str, ...], caches: Caches) -> Script:
    composer = _Composer(dag, view_name, caches)
    view = KeptRelation(view_name, dag.top.plan, dag.top.ids, "view")
    return Script(view, composer.caches(), visible, tuple(composer.steps()), dag.base)


@dataclass
class _Composer:
    dag: RuleDag
    view_name: str
    chosen: Caches

    def __post_init__(self) -> None:
        self.views = {view.name: view for view in subviews(self.dag.top)}
        self.targets = {**self.chosen.stored, self.dag.top.name: self.view_name}
        self.written: dict[str, Relation] = {}
        self.used = self._used()

    def caches(self) -> tuple[KeptRelation, ...]:
        return tuple(
            KeptRelation(
                name, self.at(self.views[subview], State.NEW, own=False), self.views[subview].ids, "cache"
            )
            for subview, name in self.chosen.stored.items()
            if name != self.view_name
        )

    def steps(self) -> Iterator[Step]:
        """Rules in order; the diffs of a stored relation are applied after the last of its rules."""
        rules = [rule for rule in self.dag.rules if rule.name in self.used]
        last = {rule.subview: rule.name for rule in rules}
        for rule in rules:
            query = rewrite(rule.query, self._resolved)
            if self._is_step(rule):
                yield ComputeDiff(rule.name, query, rule.schema, rule.explicit)
                self.written[rule.name] = Reference(rule.name, query.columns)
            else:
                self.written[rule.name] = query
            if rule.subview in self.targets and last[rule.subview] == rule.name:
                yield from self._applications(rule.subview, rules)

    def _applications(self, subview: str, rules: list[InstantiatedRule]) -> Iterator[Step]:
        for rule in rules:
            if rule.subview == subview and rule.schema is not None:
                yield Apply(self.targets[subview], Diff(rule.name, rule.schema))

    def _is_step(self, rule: InstantiatedRule) -> bool:
        return rule.shared or rule.subview not in self.views or rule.subview in self.targets

    def _used(self) -> set[str]:
        """The rules that some applied diff depends on."""
        used = {r.name for r in self.dag.rules if r.schema is not None and r.subview in self.targets}
        for rule in reversed(self.dag.rules):
            if rule.name in used:
                used.update(rule.inputs)
        return used

    def _resolved(self, node: Relation) -> Relation:
        if not isinstance(node, Reference):
            return node
        if "@" in node.name:
            subview, state = node.name.split("@")
            return self.at(self.views[subview], State(state))
        return self.written.get(node.name, node)

    def at(self, view: Subview, state: State, own: bool = True) -> Relation:
        """The data of a subview at a state: stored ones where they are, or its plan over its inputs.

        The view's own new state is what the script is making, so only its old one can be read.
        """
        if own and view.name in self.chosen.stored:
            return _scan(self.chosen.stored[view.name], view, state)
        if own and state is State.OLD and view.name == self.dag.top.name:
            return _scan(self.view_name, view, state)
        if own and state is State.OLD and view.name == self.chosen.held:
            return self._held(view)
        if isinstance(view.plan, Scan):
            return replace(view.plan, at=state)
        return with_children(view.plan, tuple(self.at(below, state) for below in view.inputs))

    def _held(self, view: Subview) -> Relation:
        names = self.chosen.in_view
        assert names is not None
        stored = _scan(self.view_name, self.dag.top, State.OLD)
        return projected(stored, (Named(name, column(names[name])) for name in view.columns))


def _scan(name: str, view: Subview, state: State) -> Scan:
    types: Mapping[str, str] = view.types
    bound = tuple(Bound(column, Column(column, types.get(column, ""))) for column in view.columns)
    return Scan(name, bound, state)
