"""Where a plan runs: few rows that the driver holds are put together there, everything else by Spark.

    γ_k(Δ)            on the driver, which holds Δ
    Δ ⋈_x=k stored    a lookup, σ_k∈π_x(Δ)(stored), by Spark; what it finds is joined on the driver

A plan runs on the driver if both engines mean the same by all of it (`agreement`), and if each of its inputs
is held there, or can be asked for keys that are. What is asked is a scan and nothing else, an action of its
own. How many rows it finds is estimated; where it finds too many all the same, Spark runs the plan as the
passes before have left it (`Physical.otherwise`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from viewkeeper.algebra.build import empty, is_empty
from viewkeeper.algebra.relations import (
    Aggregate,
    Consolidate,
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.walk import children, nodes, with_children
from viewkeeper.planning.physical.agreement import Types, agreed_types
from viewkeeper.planning.physical.keys import TYPES
from viewkeeper.planning.physical.plan import Facts, Fragment, Leaf, Lookup, Physical, leaves
from viewkeeper.rewrite.equalities import column_equalities
from viewkeeper.sql.render import state_name

PREFIX = "__here_"


def place(physical: Physical, facts: Facts) -> Physical:
    """The plan, told which of its fragments run on the driver."""
    if facts.wanted is not None and is_nothing(physical, facts):
        here = (Fragment("", empty(physical.result.plan.columns), here=True, types=facts.wanted),)
        return replace(physical, fragments=here, otherwise=physical.fragments)
    if facts.types is None or not _is_worth(physical, facts):
        return physical
    placing = _Placing(facts)
    if not all(placing.place(fragment) for fragment in physical.fragments):
        return physical
    if sum(bool(fragment.lookups) for fragment in placing.done) > facts.most_lookups:
        return physical
    return replace(physical, fragments=tuple(placing.done), otherwise=physical.fragments)


def is_nothing(physical: Physical, facts: Facts) -> bool:
    """Whether a plan has no rows because some of its inputs have none."""
    known = {name for name, one in facts.inputs.items() if one.held and one.rows == 0}
    for fragment in physical.fragments:
        if _has_no_rows(fragment.plan, known):
            known.add(fragment.name)
    return physical.result.name in known


def _has_no_rows(plan: Relation, known: Collection[str]) -> bool:
    found: set[Relation] = set()
    for node in nodes(plan):
        below = [child in found for child in children(node)]
        match node:
            case Join(kind=JoinKind.INNER | JoinKind.SEMI):
                is_void = any(below)
            case Join(kind=JoinKind.LEFT | JoinKind.ANTI):
                is_void = below[0]
            case Filter() | Project() | Distinct() | UnionAll() | Negate() | Consolidate() | Expand():
                is_void = all(below)
            case Aggregate():
                is_void = bool(node.keys) and all(below)
            case Scan() | Reference():
                is_void = state_name(node) in known
            case _:
                is_void = is_empty(node)
        if is_void:
            found.add(node)
    return plan in found


def _is_worth(physical: Physical, facts: Facts) -> bool:
    """Whether nothing has to be looked up, or few rows are likely to be found."""
    made = {fragment.name for fragment in physical.fragments}
    read = {leaf for fragment in physical.fragments for leaf in leaves(fragment.plan)}
    stored = [leaf for leaf in read if state_name(leaf) not in made and not facts.input(leaf).held]
    if facts.near is None:
        return not stored
    return sum(facts.input(leaf).read for leaf in stored) * facts.near <= facts.limits.diff_expected


@dataclass
class _Placing:
    """Fragments on their way to the driver: lookups, and what is made of the rows that they find."""

    facts: Facts
    done: list[Fragment] = field(default_factory=list)
    made: dict[str, Types] = field(default_factory=dict)

    def place(self, fragment: Fragment) -> bool:
        """Whether all of a fragment runs on the driver, but for lookups."""
        types = dict(agreed_types(fragment.plan, self._leaf_types))
        if fragment.plan not in types:
            return False
        plan = self._with_joins_looked_up(fragment.plan, types)
        if not self._is_here(plan):
            return False
        self._add(fragment.name, plan, types[fragment.plan])
        return True

    def _add(self, name: str, plan: Relation, types: Types, lookups: tuple[Lookup, ...] = ()) -> None:
        kinds = tuple((column, types[column]) for column in plan.columns)
        self.done.append(Fragment(name, plan, here=not lookups, lookups=lookups, types=kinds))
        self.made[name] = dict(kinds)

    def _leaf_types(self, leaf: Leaf) -> Types:
        assert self.facts.types is not None
        made = self.made.get(leaf.name) if isinstance(leaf, Reference) else None
        return self.facts.types.of_leaf(leaf) if made is None else made

    def _is_here(self, plan: Relation) -> bool:
        """Whether the driver has all rows that a plan reads."""
        return all(state_name(leaf) in self.made or self.facts.input(leaf).held for leaf in leaves(plan))

    def _with_joins_looked_up(self, plan: Relation, types: dict[Relation, Types]) -> Relation:
        """The plan, what is stored being looked up by the keys of what is here."""
        done: dict[Relation, Relation] = {}
        for node in nodes(plan):
            new = with_children(node, tuple(done[child] for child in children(node)))
            types[new] = types[node]
            done[node] = self._join(new, types) if isinstance(new, Join) else new
            types[done[node]] = types[node]
        return done[plan]

    def _join(self, join: Join, types: dict[Relation, Types]) -> Join:
        left, right = join.left, join.right
        if self._is_here(left) and join.kind is JoinKind.INNER:
            left, right = self._with_lookups(join, left, right, types)
        elif self._is_here(right) and join.kind in (JoinKind.INNER, JoinKind.SEMI):
            right, left = self._with_lookups(join, right, left, types)
        return replace(join, left=left, right=right)

    def _with_lookups(
        self, join: Join, few: Relation, stored: Relation, types: dict[Relation, Types]
    ) -> tuple[Relation, Relation]:
        """Both sides of a join, of which one is looked up by the keys of the other."""
        pairs = [
            (one, theirs, mine)
            for one in column_equalities(join.on, join.left.columns, join.right.columns)
            for mine, theirs in ((one.left.name, one.right.name), (one.right.name, one.left.name))
            if mine in few.columns and types[few][mine] in TYPES
        ]
        if self._is_here(stored) or not pairs:
            return few, stored
        held = self._named(few, types)
        lookups = tuple(Lookup(theirs, state_name(held), mine, one.null_safe) for one, theirs, mine in pairs)
        types[held] = types[few]
        return held, self._looked_up(stored, lookups, types)

    def _named(self, few: Relation, types: Mapping[Relation, Types]) -> Leaf:
        """A relation of the driver under a name, by which its keys are known."""
        if isinstance(few, Reference) and few.name in self.made:
            return few
        name = f"{PREFIX}{len(self.done) + 1}"
        self._add(name, few, types[few])
        return Reference(name, few.columns)

    def _looked_up(
        self, rel: Relation, lookups: tuple[Lookup, ...], types: dict[Relation, Types]
    ) -> Relation:
        """A stored relation looked up by keys; of pieces that are put together, each that is stored."""
        if self._is_here(rel):
            return rel
        new = rel
        match rel:
            case _ if _is_scan(rel):
                name = f"{PREFIX}{len(self.done) + 1}"
                self._add(name, rel, types[rel], lookups)
                new = Reference(name, rel.columns)
            case Filter() | Distinct():
                new = replace(rel, child=self._looked_up(rel.child, lookups, types))
            case Project() | Aggregate():
                items = rel.outputs if isinstance(rel, Project) else rel.keys
                names = {one.name: one.expr.name for one in items if one.is_column}
                below = tuple(
                    replace(one, column=names[one.column]) for one in lookups if one.column in names
                )
                new = replace(rel, child=self._looked_up(rel.child, below, types)) if below else rel
            case UnionAll():
                places = {name: place for place, name in enumerate(rel.columns)}
                own = (
                    tuple(replace(one, column=each.columns[places[one.column]]) for one in lookups)
                    for each in rel.inputs
                )
                each = zip(rel.inputs, own, strict=True)
                new = UnionAll(tuple(self._looked_up(piece, mine, types) for piece, mine in each))
            case Join(kind=JoinKind.ANTI | JoinKind.SEMI):
                new = self._join(replace(rel, left=self._looked_up(rel.left, lookups, types)), types)
        types[new] = types[rel]
        return new


def _is_scan(rel: Relation) -> bool:
    """Whether a plan only chooses from one relation."""
    while isinstance(rel, Filter | Project):
        rel = rel.child
    return not children(rel)
