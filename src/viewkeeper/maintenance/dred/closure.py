"""The phases of DRed for a plain transitive closure, which need few rounds however long the paths are.

    p(X, Y) :- e(X, Y).    p(X, Y) :- p(X, Z), e(Z, Y).        or e(X, Z), p(Z, Y), or p(X, Z), p(Z, Y)

What is stored is closed: a path that meets changed edges is made of them and of stored paths around them. One
look at what is stored finds all of those, N; everything else is about few rows.

    overdelete   δ⁻ = (1 + N) · δ⁻(e) · (1 + N)                        everything at OLD; no loop
    rederive     δʳ₀ = δ⁻ ∩ (1 + pᵛ) · eᵛ,     δʳₖ₊₁ = δ⁻ ∩ (δʳₖ · pᵛ ∪ pᵛ · δʳₖ)
    link         L₀ = δ⁺(e) · (1 + N) · δ⁺(e),     Lₖ₊₁ = Lₖ · (1 + N) · (δ⁺(e) ∪ L)
    insert       Δ = (1 + N) · (δ⁺(e) ∪ L) · (1 + N) − pᵛ                no loop

A rederived pair begins with the last pair of its path that is known, and one edge; what follows is stored or
rederived too. Linked are the ends of every way through several new edges; each begins with one that the round
before found, and goes on with whatever is known, if only a single edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from sqlglot import exp

from viewkeeper.algebra.build import (
    empty,
    filtered,
    is_empty,
    joined,
    named_like,
    projected,
    restricted_to,
    union_all,
)
from viewkeeper.algebra.expressions import Named, Scalar, column, equal, not_, null_safe_match, or_
from viewkeeper.algebra.relations import Definition, Distinct, JoinKind, Reference, Relation, Scan
from viewkeeper.maintenance.dred.changed_subgoals import is_named
from viewkeeper.maintenance.dred.delta_rules import sought
from viewkeeper.maintenance.dred.phases import INSERTED, OVERDELETED, REDERIVED, RecursiveStratum
from viewkeeper.maintenance.recursion.port import Derivation, absent, before_absence
from viewkeeper.maintenance.recursion.rules import Rule, plan
from viewkeeper.maintenance.recursion.seminaive import Loop, frontiers, propagated, recursive_inputs, totals

NODE = "__node"

LINKED = "linked"
"""The loop before the insertion."""


@dataclass(frozen=True)
class Closure:
    """A stratum that is the transitive closure of `edge`, whose two columns are in order."""

    stratum: RecursiveStratum
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

    def through(self, changed: Relation, near: Relation) -> Relation:
        """A changed edge with a path, or nothing, on either side of it."""
        return self.ended(self.begun(changed, near), near)

    def overdelete(self) -> Loop:
        """Every pair that had a path through an edge that is gone."""
        left = self.stratum.subgoals.left(self.edge)
        if is_empty(left):
            return self._nothing(OVERDELETED)
        changed, near = self._stored(OVERDELETED, "changed"), self._stored(OVERDELETED, "near")
        return replace(
            self._nothing(OVERDELETED),
            seeds={self.name: Derivation(self.through(changed, near))},
            begun=self._looked_up(changed, left, near, self.stratum.stored[self.name]),
        )

    def rederive(self) -> Loop:
        """What was overdeleted and still has a path: one edge at first, then whole paths."""
        name, columns, stratum = self.name, self.definition.columns, self.stratum
        gone, back = (totals(phase, stratum.definitions)[name] for phase in (OVERDELETED, REDERIVED))
        near = self._stored(REDERIVED, "near")
        known = stratum.after({name: near})
        by_edges = [
            sought(rule, gone, known) for rule in (self.rule(self.edge), self.rule(self.path, self.edge))
        ]
        again = propagated(
            (self.rule(self.path, self.path),),
            columns,
            stratum.after({name: union_all((near, back), columns)}),
            frontiers(REDERIVED, stratum.definitions),
        )
        left = absent(before_absence(stratum.stored[name], lambda path: _from(path, gone)), gone)
        return Loop(
            REDERIVED,
            {name: Derivation(union_all(by_edges, columns))},
            {name: Derivation(again, gone, (back,))},
            begun={near.name: Derivation(left, is_set=True)},
        )

    def insert(self, left: Mapping[str, Relation]) -> Loop:
        """Every pair that has a path through new edges; `left` is what the other phases left."""
        entered = self.stratum.subgoals.entered(self.edge)
        if is_empty(entered):
            return self._nothing(INSERTED)
        changed, near = self._stored(LINKED, "changed"), self._stored(LINKED, "near")
        linked = totals(LINKED, self.stratum.definitions)[self.name]
        ways = union_all((changed, linked), self.definition.columns)
        return replace(
            self._nothing(INSERTED),
            seeds={self.name: Derivation(self.through(ways, near), without=(left[self.name],))},
            first=replace(
                self._link(changed, near), begun=self._looked_up(changed, entered, near, left[self.name])
            ),
        )

    def _link(self, changed: Relation, near: Relation) -> Loop:
        """The first and the last node of every way through two new edges, then through more."""
        definitions, columns = self.stratum.definitions, self.definition.columns
        linked, arriving = (made(LINKED, definitions)[self.name] for made in (totals, frontiers))
        ways = union_all((changed, linked), columns)
        return Loop(
            LINKED,
            {self.name: Derivation(self._met(changed, near, changed), without=(changed,))},
            {self.name: Derivation(self._met(arriving, near, ways), without=(changed, linked))},
        )

    def _met(self, one: Relation, near: Relation, other: Relation) -> Relation:
        """One way after the other, with a path, or nothing, between them."""
        ways = (plan(self.rule(one, other)), plan(self.rule(one, near, other)))
        return union_all(ways, self.definition.columns)

    def _looked_up(
        self, changed: Reference, edges: Relation, near: Reference, path: Relation
    ) -> dict[str, Derivation]:
        """Changed edges, and the paths around them: the one look at what is stored."""
        around = before_absence(path, lambda stored: _around(stored, changed))
        return {
            changed.name: Derivation(named_like(edges, changed.columns), is_set=True),
            near.name: Derivation(around, is_set=True),
        }

    def _nothing(self, phase: str) -> Loop:
        nothing = {self.name: Derivation(empty(self.definition.columns))}
        return Loop(phase, nothing, nothing)

    def _stored(self, phase: str, what: str) -> Reference:
        return Reference(f"{self.name}__{phase}_{what}", self.definition.columns)


def _around(path: Relation, edges: Relation) -> Relation:
    """The paths that end where some edge begins, or begin where one ends; they are read once."""
    (start, end), (source, target) = path.columns, edges.columns
    marked = path
    for mine, node, mark in ((end, source, "__before"), (start, target, "__after")):
        nodes = Distinct(projected(edges, (Named(mark, column(node)),)))
        marked = joined(marked, nodes, JoinKind.LEFT, equal(column(mine), column(mark)))
    found = or_(*(not_(exp.Is(this=column(mark), expression=exp.null())) for mark in ("__before", "__after")))
    return restricted_to(filtered(marked, found), path.columns)


def _from(path: Relation, pairs: Relation) -> Relation:
    """The paths from any node that some pairs begin or end at."""
    ends = (projected(pairs, (Named(NODE, column(end)),)) for end in pairs.columns)
    nodes = Distinct(union_all(ends, (NODE,)))
    return joined(path, nodes, JoinKind.SEMI, null_safe_match([(path.columns[0], NODE)]))


def closure(stratum: RecursiveStratum) -> Closure | None:
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
