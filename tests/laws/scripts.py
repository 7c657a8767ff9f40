"""Whole Δ-scripts on DuckDB: stored relations with their layers are tables, and steps run as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tests.laws.databases import Bag
from tests.laws.harness import connection, explicit_value, sql_of
from viewkeeper.algebra.build import restricted_to, union_all
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import Named, Scalar, column, literal, same
from viewkeeper.algebra.merge.layers import (
    REPLACES,
    SEQUENCE,
    bag_whole,
    counted_bag,
    from_whole,
    layer_columns,
    merged,
)
from viewkeeper.algebra.merge.spec import MergeSpec
from viewkeeper.algebra.relations import Filter, Project, Reference, Relation
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.maintenance.recompute import Recompute
from viewkeeper.maintenance.steps import (
    BESIDE,
    AppendLayer,
    Compute,
    ReplaceMain,
    Script,
    delta_name,
    flag,
    is_needed,
)
from viewkeeper.maintenance.strategy import Batch, View

SPARK_TYPES = {
    "BIGINT": "bigint",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "double",
    "FLOAT": "float",
    "HUGEINT": "decimal(38,0)",
    "INTEGER": "int",
    "SMALLINT": "smallint",
    "TIMESTAMP": "timestamp_ntz",
    "TINYINT": "tinyint",
    "VARCHAR": "string",
}


class NoType(Exception):
    """A column of a type that Spark has under no such name."""


@dataclass
class Stored:
    """One relation: what was written as a whole, and the layers since; `keyed` is how they merge."""

    name: str
    keyed: MergeSpec | None
    columns: tuple[Column, ...] = ()
    layers: list[Reference] = field(default_factory=list)
    whole: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def main(self) -> Reference:
        return Reference(f"{self.name}__main", self.names)

    def written(self, rows: Relation) -> None:
        """All rows anew; what was there before can still be read."""
        keep(self.main.name, rows)
        described = connection().execute(f'DESCRIBE "{self.main.name}"').fetchall()
        self.columns = tuple(Column(name, spark_type(kind)) for name, kind, *_ in described)
        self.layers, self.whole = [], False
        self.show("", self.main)

    def appended(self, step: AppendLayer) -> int:
        """One layer more; how many rows it has."""
        layer = Reference(f"{self.name}__layer{len(self.layers)}", step.plan.columns)
        keep(layer.name, step.plan if self.keyed is None else self._placed(step))
        if self.keyed is not None:
            layer = Reference(layer.name, (*step.plan.columns, SEQUENCE, REPLACES))
        if step.whole:
            self.layers, self.whole = [], True
        self.layers.append(layer)
        self.show("", self._now())
        return size(layer.name)

    def _placed(self, step: AppendLayer) -> Relation:
        place = (Named(SEQUENCE, exp.cast(literal(len(self.layers) + 1), "bigint")),)
        replaces = Named(REPLACES, exp.true() if step.replaces else exp.false())
        return Project(step.plan, (*same(step.plan.columns), *place, replaces))

    def _now(self) -> Relation:
        if self.keyed is None:
            return bag_whole(self.main, union_all(self.layers, (*self.names, COUNT)))
        names = layer_columns(self.keyed)
        layers = union_all((restricted_to(layer, names) for layer in self.layers), names)
        if self.whole:
            return from_whole(layers, self.keyed, self.columns, len(self.layers) > 1)
        return merged(self.main, layers, self.keyed, self.columns, True)

    def show(self, state: str, rows: Relation) -> None:
        """Makes a state readable, as rows and with counts; and what has changed since the old one."""
        name = f"{self.name}__{state}" if state else self.name
        keep(name, restricted_to(rows, self.names))
        keep(f"{name}__counted", counted_bag(Reference(name, self.names), None))
        if not state and self.layers:
            keep(f"{self.name}__delta", self._change())

    def _change(self) -> Relation:
        if self.keyed is None:
            return union_all(self.layers, (*self.names, COUNT))
        sides = (f"{self.name}__old", -1), (self.name, 1)
        both = [
            Project(Reference(side, self.names), (*same(self.names), Named(COUNT, literal(sign))))
            for side, sign in sides
        ]
        return union_all(both, (*self.names, COUNT))

    def unchanged(self) -> None:
        """Its change is known to be empty."""
        rows = counted_bag(Reference(self.name, self.names), None)
        keep(delta_name(self.name), Filter(rows, exp.false()))

    def fold(self) -> None:
        """Main is what is seen now."""
        keep(f"{self.name}__seen", Reference(self.name, self.names))
        self.written(Reference(f"{self.name}__seen", self.names))
        self.show("old", self.main)
        self.unchanged()


def spark_type(kind: str) -> str:
    if kind.endswith("[]"):
        return f"array<{spark_type(kind[:-2])}>"
    found = kind.lower() if re.match(r"DECIMAL", kind) else SPARK_TYPES.get(kind)
    if found is None:
        raise NoType(kind)
    return found


def types_of(child: Relation, asked: Sequence[Scalar]) -> tuple[str, ...]:
    """The types of expressions over a relation, as DuckDB has them."""
    named = tuple(Named(f"c{place}", one) for place, one in enumerate(asked))
    described = connection().execute(f"DESCRIBE {sql_of(plain(Project(child, named)))}").fetchall()
    return tuple(spark_type(kind) for _, kind, *_ in described)


def keep(name: str, explicit: Relation) -> None:
    connection().execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {sql_of(explicit)}')


def size(name: str, where: str = "TRUE") -> int:
    [(rows,)] = connection().execute(f'SELECT COUNT(*) FROM "{name}" WHERE {where}').fetchall()
    return int(rows)


class Player:
    """The stored relations of a view, filled and then taken through scripts."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.stored = {one.name: Stored(one.name, one.merge) for one in view.strata}
        self.empty: set[str] = set()
        self.run(Recompute().plan(view, Batch({})))
        self.fold()

    @property
    def columns(self) -> dict[str, tuple[Column, ...]]:
        return {name: one.columns for name, one in self.stored.items()}

    def run(self, script: Script) -> None:
        """All steps, but for those that only depend on what is empty."""
        self.empty = set()
        for step in script:
            if is_needed(step, frozenset(self.empty)):
                self._run(step)
            else:
                self._nothing(step)

    def fold(self) -> None:
        for one in self.stored.values():
            one.fold()

    def seen(self) -> Bag:
        """What readers of the view see."""
        assert self.view.query is not None
        shown = restricted_to(
            Reference(self.view.name, self.stored[self.view.name].names), self.view.query.columns
        )
        return explicit_value(weighted(shown))

    def _run(self, step: object) -> None:
        match step:
            case Compute():
                keep(step.name, step.plan)
                self._mark(step.name, step.flags)
            case AppendLayer():
                rows = self.stored[step.relation].appended(step)
                if step.kept:
                    self._keep_beside(step)
                elif not rows and self.stored[step.relation].keyed is None:
                    self.empty.add(f"{step.relation}__delta")
            case ReplaceMain():
                assert step.plan is not None
                self.stored[step.relation].written(step.plan)
            case _:
                raise AssertionError(step)

    def _keep_beside(self, step: AppendLayer) -> None:
        """What is written beside a layer, as a result."""
        one = self.stored[step.relation]
        assert one.keyed is not None
        layer = one.layers[-1]
        more = [name for name in layer.columns if name.startswith(BESIDE) or name in step.flags]
        outputs = (*same((*one.keyed.key, *step.flags)), *_renamed(more))
        keep(step.kept, Project(layer, outputs))
        self._mark(step.kept, step.flags)

    def _mark(self, name: str, flags: Iterable[str]) -> None:
        if not size(name):
            self.empty.add(name)
        self.empty |= {flag(name, mark) for mark in flags if not size(name, f'"{mark}" = 1')}

    def _nothing(self, step: object) -> None:
        match step:
            case Compute():
                self.empty |= {step.name, *(flag(step.name, mark) for mark in step.flags)}
                for one in self.stored.values():
                    if step.name == delta_name(one.name):
                        one.unchanged()
            case AppendLayer(kept=kept) if kept:
                self.empty |= {kept, *(flag(kept, mark) for mark in step.flags)}


def _renamed(names: Iterable[str]) -> Iterable[Named]:
    return [Named(name.removeprefix(BESIDE), column(name)) for name in names if name.startswith(BESIDE)]
