"""The next state of a warehouse while it is being made: nothing of it exists before its commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from viewkeeper import limits
from viewkeeper.algebra.merge.spec import IdDiff
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.report import FollowedReport
from viewkeeper.storage.commits import Applied, Entry
from viewkeeper.storage.relation import DataFile, Layer, RelationState, layers_between, sequence


def propagated_name(view: str) -> str:
    """The relation that holds the next state of a view, propagated and not yet published."""
    return f"__propagated__{view}"


@dataclass
class Draft:
    """A mutable builder of the entry that follows `base`; views are refreshed by several threads."""

    base: Entry
    operation: str
    catalog: Catalog = field(init=False)
    relations: dict[str, RelationState] = field(init=False)
    streams: dict[str, Applied] = field(init=False)
    report: dict[str, Any] = field(default_factory=dict)
    redefined: dict[str, ViewDefinition] = field(default_factory=dict)
    """Views whose rows still are those of an earlier definition, with that definition."""
    followed: dict[str, FollowedReport] = field(default_factory=dict)
    """Followed tables that were brought to another version, and what that was."""
    net: dict[tuple[DataFile, ...], tuple[DataFile, ...]] = field(default_factory=dict)
    """Changes of followed tables, by the files that the log names, and the files that hold them net for
    now."""
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.catalog = self.base.catalog
        self.relations = dict(self.base.relations)
        self.streams = dict(self.base.streams)

    @property
    def version(self) -> int:
        return self.base.version + 1

    @property
    def position(self) -> int:
        """The version whose base tables the draft has: its own when it changes some itself."""
        tables = self.catalog.tables
        changed = any(self.relations.get(name) != self.base.relations.get(name) for name in tables)
        return self.version if changed else self.base.version

    def append(
        self,
        name: str,
        files: Iterable[DataFile],
        replaces: bool = False,
        diff: IdDiff | None = None,
        updates: tuple[str, ...] | None = None,
        last_copies: bool = False,
        whole: bool = False,
    ) -> None:
        """Adds a layer to a relation; a change of no rows leaves it as it was."""
        layer = Layer(self.version, tuple(files), replaces, diff, updates, last_copies, whole)
        if not layer.rows:
            return
        state = self.relations[name]
        self.relations[name] = replace(state, overlay=(*state.overlay, layer), log=(*state.log, layer))

    def log_difference(self, name: str, before: RelationState, files: Iterable[DataFile]) -> None:
        """Logs what a relation that was written anew has become: the log goes on from the state before."""
        state = self.relations[name]
        layer = Layer(self.version, tuple(files), replaces=state.merge is not None)
        log = (*before.log, layer) if layer.rows else before.log
        self.relations[name] = replace(state, log=log, complete_since=before.complete_since)

    def next_sequence(self, name: str) -> int:
        """The place of a relation's next layer in the order of its layers."""
        own = [layer for layer in self.relations[name].log if layer.commit == self.version]
        return sequence(self.version, len(own))

    def between(self, old: RelationState, new: RelationState) -> tuple[Layer, ...]:
        """The changes that lead from one state of a relation to another, net where that is known."""
        layers = layers_between(old, new)
        return tuple(replace(one, files=self.net.get(one.files, one.files)) for one in layers)

    def put(self, name: str, state: RelationState) -> None:
        self.relations[name] = state

    def copied(self) -> Draft:
        """The same draft, to go back to."""
        copy = Draft(self.base, self.operation, dict(self.report), dict(self.redefined))
        copy.catalog, copy.relations, copy.streams = self.catalog, dict(self.relations), dict(self.streams)
        copy.followed, copy.net = self.followed, self.net
        return copy

    def go_back(self, copy: Draft) -> None:
        """Undoes what was done since the copy was made."""
        self.catalog, self.relations = copy.catalog, dict(copy.relations)
        self.report, self.redefined = dict(copy.report), dict(copy.redefined)

    def put_view(self, view: ViewDefinition) -> None:
        with self._lock:
            self.catalog = self.catalog.with_view(view)

    def drop(self, name: str) -> None:
        self.catalog = self.catalog.without(name)
        self.relations.pop(name, None)
        self.relations.pop(propagated_name(name), None)
        self.streams = {stream: one for stream, one in self.streams.items() if one.table != name}

    def changed_relations(self) -> tuple[str, ...]:
        return tuple(n for n, s in self.relations.items() if self.base.relations.get(n) != s)

    def entry(self) -> Entry:
        relations = dict(self.relations)
        for name in self.changed_relations():
            relations[name] = relations[name].forgetting(self._horizon(name))
        operation, report = self.operation, self.report
        return Entry(self.version, self.catalog, relations, operation, report=report, streams=self.streams)

    def _horizon(self, relation: str) -> int:
        """Up to which commit a relation's log is forgotten: no view needs it, and it is long past."""
        return min([self.version - limits.LIMITS.commits_logged, *self.catalog.versions_needed(relation)])
