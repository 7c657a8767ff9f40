"""A program's views over an in-memory database, maintained by DRed, and the same evaluated naively."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tests.datalog.fixpoints import as_fixpoint
from tests.datalog.interpreter import Bag, Database
from tests.datalog.programs import CATALOG, TABLES
from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.relations import Fixpoint, Reference, Relation, Scan
from viewkeeper.algebra.walk import rewrite
from viewkeeper.datalog.syntax import Program
from viewkeeper.datalog.translate import DerivedPredicate, translate
from viewkeeper.maintenance.dred.algorithm import Maintained, maintain
from viewkeeper.maintenance.dred.changed_subgoals import Changes
from viewkeeper.maintenance.recursion.port import Run
from viewkeeper.maintenance.recursion.seminaive import evaluate_fixpoint

TABLE_COLUMNS = {name: schema.names for name, schema in TABLES.items()}


Columns = Mapping[str, tuple[str, ...]]


@lru_cache(maxsize=1000)
def _translated(program: Program, columns: tuple[tuple, ...]) -> tuple[DerivedPredicate, ...]:
    return translate(program, CATALOG, dict(columns))


def translated(program: Program, columns: Columns | None = None) -> tuple[DerivedPredicate, ...]:
    return _translated(program, tuple((columns or {}).items()))


def fixpoints(program: Program, columns: Columns | None = None) -> list[Fixpoint]:
    """One fixpoint per component, lower strata first."""
    found: dict[tuple[str, ...], Fixpoint] = {}
    for predicate in translated(program, columns):
        found.setdefault(predicate.component, as_fixpoint(predicate.name, predicate.relation))
    return list(found.values())


def together(program: Program) -> Fixpoint:
    """All components as one fixpoint, as a SQL query with several recursive names is one."""
    definitions = [d for fixpoint in fixpoints(program) for d in fixpoint.definitions]
    columns = {d.name: d.columns for d in definitions}

    def refer(node: Relation) -> Relation:
        if isinstance(node, Scan) and node.table in columns:
            outputs = (Named(bound.name, column(bound.source.name)) for bound in node.bound)
            return projected(Reference(node.table, columns[node.table]), outputs)
        return node

    whole = tuple(replace(d, body=rewrite(d.body, refer)) for d in definitions)
    return Fixpoint(whole, whole[-1].name, distinct=True)


def columns_of(predicates: tuple[DerivedPredicate, ...]) -> dict[str, tuple[str, ...]]:
    return {predicate.name: predicate.columns for predicate in predicates}


def naive(program: Program, tables: Mapping[str, Bag]) -> dict[str, Bag]:
    """Each component by applying all rules to everything until nothing changes."""
    predicates = translated(program)
    db = Database(tables, {**TABLE_COLUMNS, **columns_of(predicates)})
    for fixpoint in fixpoints(program):
        rows: dict[str, Bag] = {d.name: {} for d in fixpoint.definitions}
        while True:
            db.bags.update(rows)
            derived = {d.name: dict.fromkeys(db.value(d.body), 1) for d in fixpoint.definitions}
            if derived == rows:
                break
            rows = derived
    return {predicate.name: db.bags[predicate.name] for predicate in predicates}


@dataclass
class Views:
    """The views of a program, kept fresh stratum by stratum as a warehouse would."""

    program: Program
    tables: dict[str, Bag]
    rows: dict[str, Bag] = field(default_factory=dict)
    work: list[Maintained] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        self.columns = columns_of(translated(self.program))
        for fixpoint in fixpoints(self.program):
            db = Database({**self.tables, **self.rows}, {**TABLE_COLUMNS, **self.columns})
            where = evaluate_fixpoint(fixpoint, Run(db, limit=200))
            self.rows.update({name: db.value(rel) for name, rel in where.items()})

    def change(self, deltas: Mapping[str, Bag], program: Program | None = None) -> None:
        """Applies signed changes of tables, and perhaps a changed program, and maintains the views."""
        before = {d.name: d for f in fixpoints(self.program, self.columns) for d in f.definitions}
        program = program or self.program
        self.columns = columns_of(translated(program, self.columns))
        db = Database({**self.tables, **self.rows}, {**TABLE_COLUMNS, **self.columns})
        changes = Changes()
        for table, delta in deltas.items():
            changes = changed(db, table, delta, changes)
        self.tables = {name: db.bags[name] for name in self.tables}
        for fixpoint in fixpoints(program, self.columns):
            changes = self._maintain(db, fixpoint, before, changes)
        self.program = program

    def _maintain(self, db: Database, fixpoint: Fixpoint, before: dict, changes: Changes) -> Changes:
        names = [d.name for d in fixpoint.definitions]
        stored = {d.name: Reference(f"{d.name}__stored", d.columns) for d in fixpoint.definitions}
        db.bags.update({f"{name}__stored": self.rows.get(name, {}) for name in names})
        known = tuple(before[name] for name in names if name in before)
        earlier = Fixpoint(known, known[0].name, True) if known else None
        calls = db.calls
        done = maintain(fixpoint, stored, changes, Run(db, limit=200), before=earlier)
        self.calls = db.calls - calls
        assert isinstance(done, Maintained)
        self.work.append(done)
        exact = {name: db.value(done.deltas[name].signed) for name in names}
        for name in names:
            assert set(exact[name].values()) <= {1, -1}
            changes = changed(db, name, exact[name], changes)
            self.rows[name] = db.bags[name]
        db.drop([*done.temporary, *(f"{name}__stored" for name in names)])
        return changes


def changed(db: Database, name: str, delta: Bag, changes: Changes) -> Changes:
    """Gives the relation its three states in the database and notes in which way it changed."""
    old = db.bags.get(name, {})
    new = {row: n for row in {**old, **delta} if (n := old.get(row, 0) + delta.get(row, 0))}
    assert all(n > 0 for n in new.values()), f"{name} lost rows that it did not have"
    db.bags.update({name: new, f"{name}__old": old, f"{name}__delta": {r: n for r, n in delta.items() if n}})
    inserted = frozenset([name]) if any(n > 0 for n in delta.values()) else frozenset()
    deleted = frozenset([name]) if any(n < 0 for n in delta.values()) else frozenset()
    return Changes(changes.inserted | inserted, changes.deleted | deleted, changes.keys)
