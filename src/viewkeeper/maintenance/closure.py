"""The phases of DRed for a plain transitive closure, which need few rounds however long the paths are.

    p(X, Y) :- e(X, Y).    p(X, Y) :- p(X, Z), e(Z, Y).        or e(X, Z), p(Z, Y), or p(X, Z), p(Z, Y)

What is stored is closed: a path that meets a changed edge is a stored path, or none, on either side of it.

    overdelete   δ⁻ = (1 + p) · δ⁻(e) · (1 + p)                        everything at OLD; no loop
    rederive     δʳ₀ = δ⁻ ∩ (1 + pᵛ) · eᵛ,     δʳₖ₊₁ = δ⁻ ∩ (δʳₖ · pᵛ ∪ pᵛ · δʳₖ)
    insert       Δ₀ = (1 + pᵛ) · δ⁺(e) · (1 + pᵛ) − pᵛ,     Δₖ₊₁ = Δₖ · Δ ∪ Δ · Δₖ − pᵛ

A rederived pair begins with the last pair of its path that is known, and one edge; what follows is stored or
rederived too. A new pair whose paths need several new edges is put together from two new pairs that meet
where a new edge begins: if one of them were stored, fewer new edges would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from sqlglot import exp

from viewkeeper.algebra.build import empty, is_empty, joined, named_like, projected, union_all
from viewkeeper.algebra.expressions import Named, Scalar, column, equal, null_safe_match
from viewkeeper.algebra.relations import Definition, Distinct, JoinKind, Reference, Relation, Scan
from viewkeeper.maintenance.changes import is_named
from viewkeeper.maintenance.delta_rules import sought
from viewkeeper.maintenance.dred_phases import INSERTED, OVERDELETED, REDERIVED, Stratum
from viewkeeper.maintenance.evaluator import Derivation, absent
from viewkeeper.maintenance.rules import Rule, Test, plan
from viewkeeper.maintenance.seminaive import Loop, frontiers, propagated, recursive_inputs, totals

NODE = "__node"


@dataclass(frozen=True)
class Closure:
    """A stratum that is the transitive closure of `edge`, whose two columns are in order."""

    stratum: Stratum
    edge: Scan

    @property
    def definition(self) -> Definition:
        return self.stratum.definitions[0]

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def path(self) -> Relation:
        return Reference(self.name, self.definition.columns)

    def rule(self, *steps: Relation) -> Rule:
        """One step after the other: each begins where the one before ends."""
        ends = [(f"__from{number}", f"__to{number}") for number in range(len(steps))]
        meet = [equal(column(to), column(start)) for (_, to), (start, _) in pairwise(ends)]
        start, end = self.definition.columns
        outputs = (Named(start, column(ends[0][0])), Named(end, column(ends[-1][1])))
        inputs = tuple(named_like(step, names) for step, names in zip(steps, ends, strict=True))
        return Rule(inputs, (), tuple(meet), outputs)

    def begun(self, changed: Relation, path: Relation) -> Relation:
        """A changed edge with a path, or nothing, before it."""
        paths = (plan(self.rule(changed)), plan(self.rule(path, changed), 1))
        return union_all(paths, self.definition.columns)

    def ended(self, begun: Relation, path: Relation) -> Relation:
        """What is begun, with a path, or nothing, after it."""
        return union_all((begun, plan(self.rule(begun, path))), self.definition.columns)

    def overdelete(self) -> Loop:
        """Every pair that had a path through an edge that is gone."""
        changed, path = self.stratum.subgoals.left(self.edge), self.stratum.stored[self.name]
        if is_empty(changed):
            return self._nothing(OVERDELETED)
        begun = self._stored(OVERDELETED, "begun")
        return replace(
            self._nothing(OVERDELETED),
            seeds={self.name: Derivation(self.ended(begun, path))},
            begun={begun.name: Derivation(self.begun(changed, path))},
        )

    def rederive(self) -> Loop:
        """What was overdeleted and still has a path: one edge at first, then whole paths."""
        name, columns, stratum = self.name, self.definition.columns, self.stratum
        gone, back = (totals(phase, stratum.definitions)[name] for phase in (OVERDELETED, REDERIVED))
        left = absent(stratum.stored[name], gone)
        known = stratum.after({name: left})
        by_edges = [
            sought(rule, gone, known) for rule in (self.rule(self.edge), self.rule(self.path, self.edge))
        ]
        near = self._stored(REDERIVED, "near")
        world = stratum.after({name: union_all((near, back), columns)})
        again = propagated(
            (self.rule(self.path, self.path),), columns, world, frontiers(REDERIVED, stratum.definitions)
        )
        return Loop(
            REDERIVED,
            {name: Derivation(union_all(by_edges, columns))},
            {name: Derivation(again, gone, (back,))},
            near={near.name: Derivation(_between(left, gone), is_set=True)},
        )

    def insert(self, left: Mapping[str, Relation]) -> Loop:
        """Every pair that has a path through new edges; `left` is what the other phases left."""
        changed, path = self.stratum.subgoals.entered(self.edge), left[self.name]
        if is_empty(changed):
            return self._nothing(INSERTED)
        begun, near = self._stored(INSERTED, "begun"), self._stored(INSERTED, "near")
        definitions = self.stratum.definitions
        new, arriving = (made(INSERTED, definitions)[self.name] for made in (totals, frontiers))
        by_more = self._put_together(arriving, new, changed)
        return Loop(
            INSERTED,
            {self.name: Derivation(self.ended(begun, near), without=(near,))},
            {self.name: Derivation(by_more, without=(near, new))},
            begun={
                begun.name: Derivation(self.begun(changed, path)),
                near.name: Derivation(_from(path, begun), is_set=True),
            },
        )

    def _nothing(self, phase: str) -> Loop:
        nothing = {self.name: Derivation(empty(self.definition.columns))}
        return Loop(phase, nothing, nothing)

    def _stored(self, phase: str, what: str) -> Reference:
        return Reference(f"{self.name}__{phase}_{what}", self.definition.columns)

    def _put_together(self, arriving: Relation, new: Relation, entered: Relation) -> Relation:
        """Two new pairs, one of them of the round before, that meet where a new edge begins."""
        at = Test(
            JoinKind.SEMI, named_like(entered, ("__at", "__on")), equal(column("__to0"), column("__at"))
        )
        pairs = [
            plan(replace(self.rule(*steps), tests=(at,)), first)
            for first, steps in enumerate(((arriving, new), (new, arriving)))
        ]
        return union_all(pairs, self.definition.columns)


def _from(path: Relation, pairs: Relation) -> Relation:
    """The paths from any node that some pairs begin or end at."""
    return joined(path, _nodes(pairs), JoinKind.SEMI, null_safe_match([(path.columns[0], NODE)]))


def _between(path: Relation, pairs: Relation) -> Relation:
    """The paths between any two nodes that some pairs begin or end at."""
    return joined(
        _from(path, pairs), _nodes(pairs), JoinKind.SEMI, null_safe_match([(path.columns[1], NODE)])
    )


def _nodes(pairs: Relation) -> Relation:
    ends = (projected(pairs, (Named(NODE, column(end)),)) for end in pairs.columns)
    return Distinct(union_all(ends, (NODE,)))


def closure(stratum: Stratum) -> Closure | None:
    """The stratum as a transitive closure; nothing when it is none, or its rules have changed."""
    if len(stratum.definitions) != 1 or any(stratum.dropped.values()) or any(stratum.added.values()):
        return None
    definition, names = stratum.definitions[0], stratum.names
    rules = stratum.kept[definition.name]
    recursive = [rule for rule in rules if recursive_inputs(rule, names)]
    base = [rule for rule in rules if not recursive_inputs(rule, names)]
    if len(base) != 1 or len(recursive) != 1 or len(definition.columns) != 2:
        return None
    edge = _edge(base[0])
    return Closure(stratum, edge) if edge and _extends(recursive[0], edge, names) else None


def _edge(rule: Rule) -> Scan | None:
    """The base relation, its two columns in order, when the rule is only a copy of it."""
    if len(rule.inputs) != 1 or rule.tests or rule.conditions or not isinstance(rule.inputs[0], Scan):
        return None
    scan = rule.inputs[0]
    names = tuple(output.expr.name for output in rule.outputs if output.is_column)
    bound = {item.name: item for item in scan.bound}
    return replace(scan, bound=tuple(bound[name] for name in names)) if len(set(names)) == 2 else None


def _extends(rule: Rule, edge: Scan, names: frozenset[str]) -> bool:
    """Whether the rule adds one edge to a path, at either end, or a path to a path, and does nothing else."""
    paths = {place for place, _ in recursive_inputs(rule, names)}
    if len(rule.inputs) != 2 or rule.tests or len(rule.conditions) != 1:
        return False
    ends = [
        rel.columns if place in paths and is_named(rel) else _edge_ends(rel, edge)
        for place, rel in enumerate(rule.inputs)
    ]
    if ends[0] is None or ends[1] is None:
        return False
    return _is_chain(rule, ends[0], ends[1]) or _is_chain(rule, ends[1], ends[0])


def _edge_ends(rel: Relation, edge: Scan) -> tuple[str, ...] | None:
    """What the rule calls the start and the end of an edge, where `rel` is the base relation."""
    if not isinstance(rel, Scan) or rel.table != edge.table:
        return None
    names = {item.source: item.name for item in rel.bound}
    if set(names) != {item.source for item in edge.bound}:
        return None
    return tuple(names[item.source] for item in edge.bound)


def _is_chain(rule: Rule, first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """`(first.start, second.end)` where first.end = second.start."""
    put_out = [output.expr.name for output in rule.outputs if output.is_column]
    return put_out == [first[0], second[1]] and _equates(rule.conditions[0], first[1], second[0])


def _equates(condition: Scalar, one: str, other: str) -> bool:
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else ()
    return [side.name for side in sides if isinstance(side, exp.Column)] in ([one, other], [other, one])
