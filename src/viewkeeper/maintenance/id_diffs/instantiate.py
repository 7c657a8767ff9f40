"""Pass 2: the rules of every operator on the way of every base-table diff (katsis15, section 4).

The result is the rule DAG (Figure 6): a rule's query refers to the diffs that its operator received
by name, and to its operator's data as `n3@old` or `n3@new`. Non-blocking operators take one diff at a
time; an aggregate is blocking and takes all diffs of its input together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from viewkeeper.algebra.build import empty, is_empty, projected
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.algebra.walk import nodes
from viewkeeper.maintenance.id_diffs.caches import Caches, ChangeSource
from viewkeeper.maintenance.id_diffs.combine import gathered
from viewkeeper.maintenance.id_diffs.diffs import Diff, DiffSchema, named_by, pre
from viewkeeper.maintenance.id_diffs.ids import Subview, subviews
from viewkeeper.maintenance.id_diffs.rules.aggregation import (
    computed_again,
    recomputation,
    touched_groups,
    whole_groups,
)
from viewkeeper.maintenance.id_diffs.rules.change import Propagated
from viewkeeper.maintenance.id_diffs.rules.join import join
from viewkeeper.maintenance.id_diffs.rules.projection import projection
from viewkeeper.maintenance.id_diffs.rules.selection import selection
from viewkeeper.maintenance.id_diffs.rules.semijoin import semijoin
from viewkeeper.maintenance.id_diffs.rules.sums import (
    beside_output,
    is_additive,
    moved,
    moved_by_update,
    moves,
    sums,
)
from viewkeeper.maintenance.id_diffs.rules.touched import (
    Fate,
    asked_twice,
    fate_of_groups,
    inserted_rows,
    signed_changes,
    stay_in_their_groups,
    straight_from_the_tables,
    touched_rows,
    updated_rows,
)
from viewkeeper.maintenance.id_diffs.rules.tuples import complete_update, tuple_join
from viewkeeper.maintenance.id_diffs.rules.union import union
from viewkeeper.maintenance.id_diffs.schemas import base_diffs, base_tables, instances, modification_log

_WORDS = {DiffKind.INSERT: "ins", DiffKind.DELETE: "del", DiffKind.UPDATE: "upd", DiffKind.MOVE: "mov"}


@dataclass(frozen=True)
class InstantiatedRule:
    """An instantiated rule: `name` is its result, a diff of `subview` or a help on the way to one.

    `explicit`: the query has explicit counts already. `shared`: several rules use the result.
    """

    name: str
    subview: str
    query: Relation
    schema: DiffSchema | None = None
    blocking: bool = False
    explicit: bool = False
    shared: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The results that this rule uses, each once."""
        found = (node.name for node in nodes(self.query) if isinstance(node, Reference))
        return tuple(dict.fromkeys(name for name in found if "@" not in name))


@dataclass(frozen=True)
class RuleDag:
    """The rules in an order in which each comes after those it uses."""

    top: Subview
    rules: tuple[InstantiatedRule, ...]
    base: tuple[Diff, ...]


def instantiate(
    top: Subview,
    schemas: Mapping[str, TableSchema],
    caches: Caches,
    changed: Collection[str] | None = None,
    *,
    tuple_based: bool = False,
    gather: bool = True,
    adds: bool = True,
    wide: bool = False,
) -> RuleDag:
    """The rules for the base-table diffs in `changed`, by default all of them.

    `gather`: diffs of stored relations that can be one are one. `adds`: where nobody asks for more, a view is
    told by how much its sums have moved, and not what they were and are. `wide`: no sum overflows on the way.
    """
    book = _Book(top, schemas, caches, changed, tuple_based, gather, adds, wide)
    for view in subviews(top):
        book.diffs[view.name] = book.propagate(view)
    return RuleDag(top, tuple(book.rules), tuple(book.all_base))


@dataclass
class _Book:
    """The rules so far, and the diffs of each subview."""

    top: Subview
    schemas: Mapping[str, TableSchema]
    caches: Caches
    changed: Collection[str] | None
    tuple_based: bool
    gather: bool
    adds: bool
    wide: bool
    rules: list[InstantiatedRule] = field(default_factory=list)
    diffs: dict[str, tuple[Diff, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base: dict[str, tuple[Diff, ...]] = {}
        self.all_base: list[Diff] = []
        for table in base_tables(self.top, self.schemas):
            log = modification_log(table)
            self.rules.append(InstantiatedRule(table.log.name, table.name, log, explicit=True, shared=True))
            changes = (Propagated(s, instances(table, s)) for s in base_diffs(self.top, table))
            found = self.record(table.name, changes)
            self.all_base.extend(found)
            self.base[table.name] = tuple(d for d in found if self.changed is None or d.name in self.changed)

    def record(self, subview: str, changes: Iterable[Propagated], blocking: bool = False) -> tuple[Diff, ...]:
        diffs = []
        if self.gather and (subview in self.caches.stored or subview == self.top.name):
            changes = gathered(changes)
        for change in changes:
            if is_empty(change.query):
                continue
            diff = Diff(self._name(subview, change.schema.kind), change.schema)
            self.rules.append(InstantiatedRule(diff.name, subview, change.query, change.schema, blocking))
            diffs.append(diff)
        return tuple(diffs)

    def help(self, subview: str, wish: str, query: Relation, explicit: bool = False) -> Relation:
        """A result that several rules of a blocking operator use."""
        if is_empty(query):
            return query
        name = f"{wish}_{subview}"
        self.rules.append(InstantiatedRule(name, subview, query, None, True, explicit, shared=True))
        return Reference(name, query.columns)

    def _name(self, subview: str, kind: DiffKind) -> str:
        word = _WORDS[kind]
        own = (rule.schema for rule in self.rules if rule.subview == subview and rule.schema is not None)
        taken = sum(schema.kind is kind for schema in own)
        return f"{word}_{subview}" if not taken else f"{word}{taken + 1}_{subview}"

    def propagate(self, view: Subview) -> tuple[Diff, ...]:
        match view.plan:
            case Scan():
                changes = (_scanned(view, diff) for diff in self.base[view.plan.table])
                return self.record(view.name, (change for change in changes if change is not None))
            case Aggregate():
                return self._aggregate(view)
            case Filter() | Project() | UnionAll() | Join():
                return self.record(view.name, self._non_blocking(view))
            case _:
                raise AssertionError(f"pass 1 accepted {type(view.plan).__name__}")

    def _non_blocking(self, view: Subview) -> Iterator[Propagated]:
        for side, below in enumerate(view.inputs):
            for diff in self.diffs[below.name]:
                yield from self._one(view, diff, side)

    def _one(self, view: Subview, diff: Diff, side: int) -> Iterator[Propagated]:
        match view.plan:
            case Filter():
                return selection(view, diff)
            case Project():
                return projection(view, diff)
            case UnionAll():
                return union(view, diff, side)
            case Join(kind=JoinKind.INNER) if self.tuple_based:
                return tuple_join(view, diff, side)
            case Join(kind=JoinKind.INNER):
                return join(view, diff, side)
            case Join():
                return semijoin(view, diff, side)
            case _:
                raise AssertionError(f"{type(view.plan).__name__} is no non-blocking operator")

    def _aggregate(self, view: Subview) -> tuple[Diff, ...]:
        direct = self.caches.sources[view.name] is ChangeSource.TABLES
        whole = [] if direct else self._whole_groups(view)
        rest = [diff for diff in self.diffs[view.inputs[0].name] if diff not in [d for d, _ in whole]]
        fate = fate_of_groups(view, rest)
        stored = self.caches.sources[view.name] is ChangeSource.STORED
        if stored and not whole and is_additive(view) and stay_in_their_groups(view, rest):
            touched = self.help(view.name, "touched", updated_rows(view.inputs[0], rest[0]))
            groups = moved_by_update(view, touched, self.wide)
            if self._is_whole_view(view):
                added = moves(view, groups, fate, self.top, self.caches.in_view or {})
                self.record(self.top.name, [added], blocking=True)
                return ()
            return self._sums(view, groups, fate)
        changes = self.help(view.name, "changes", *self._signed(view, rest, [diff for diff, _ in whole]))
        if is_empty(changes):
            return self.record(view.name, (change for _, change in whole), blocking=True)
        if is_additive(view):
            return self._sums(view, moved(view, changes, self.wide), fate, (change for _, change in whole))
        groups = self.help(view.name, "groups", touched_groups(view, changes))
        now = self.help(view.name, "again", computed_again(view, groups))
        found = recomputation(view, groups, now, fate)
        return self.record(view.name, (*(change for _, change in whole), *found), blocking=True)

    def _is_whole_view(self, view: Subview) -> bool:
        """Whether the view is the groups of an aggregate, and nothing else."""
        names = self.caches.in_view if self.adds and self.caches.held == view.name else None
        return bool(view.ids) and names is not None and set(names.values()) == set(self.top.columns)

    def _sums(
        self, view: Subview, by_how_much: Relation, fate: Fate, others: Iterable[Propagated] = ()
    ) -> tuple[Diff, ...]:
        groups = self.help(view.name, "moved", by_how_much)
        found = sums(view, self.help(view.name, "beside", beside_output(view, groups)), fate, self.wide)
        return self.record(view.name, (*others, *found), blocking=True)

    def _whole_groups(self, view: Subview) -> list[tuple[Diff, Propagated]]:
        found = ((diff, whole_groups(view, diff)) for diff in self.diffs[view.inputs[0].name])
        return [(diff, change) for diff, change in found if change is not None]

    def _signed(self, view: Subview, diffs: list[Diff], whole: list[Diff]) -> tuple[Relation, bool]:
        """The signed changes of an aggregate's input, without the groups that go as a whole."""
        below = view.inputs[0]
        match self.caches.sources[view.name]:
            case _ if not diffs:
                return empty(below.columns), False
            case ChangeSource.TABLES:
                return straight_from_the_tables(below, {name for name, own in self.base.items() if own}), True
            case ChangeSource.QUERIED:
                told = complete_update(below, diffs) if self.tuple_based else None
                changes = asked_twice(below, diffs) if told is None else told
            case ChangeSource.STORED:
                new = self.help(view.name, "inserted", inserted_rows(below, diffs))
                touched = self.help(view.name, "touched", touched_rows(below, diffs, new))
                changes = signed_changes(below, touched, new)
            case source:
                assert_never(source)
        for diff in whole if not is_empty(changes) else ():
            changes = named_by(changes, diff.rows, diff.schema.ids, JoinKind.ANTI)
        return changes, False


def _scanned(view: Subview, diff: Diff) -> Propagated | None:
    """A table's diff under the names that the scan gives its columns; columns not read are dropped."""
    assert isinstance(view.plan, Scan)
    names = {bound.source.name: bound.name for bound in view.plan.bound}
    schema = diff.schema

    def kept(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in columns if name in names)

    if schema.kind is DiffKind.UPDATE and not kept(schema.updated):
        return None
    old = [(name, name) for name in schema.ids]
    old += [(pre(name), pre(names[name])) for name in kept(schema.pre)]
    pairs = [(source, names.get(source, new)) for source, new in old]
    pairs += [(name, names[name]) for name in kept(schema.post)]
    new = replace(
        schema,
        relation=view.name,
        ids=tuple(names[name] for name in schema.ids),
        pre=tuple(names[name] for name in kept(schema.pre)),
        post=tuple(names[name] for name in kept(schema.post)),
        updated=tuple(names[name] for name in kept(schema.updated)),
    )
    return Propagated(new, projected(diff.rows, (Named(name, column(source)) for source, name in pairs)))
