"""The rounds of a recursion on Spark: every result has a name, and no lineage.

Small results are kept on the driver, larger ones are Parquet files. Either way their size is known, so
that plans stay as small as in the first round and Spark can broadcast what is small. Rounds over few rows are
put together on the driver, which has Spark look up what is stored (`place`): an action for each lookup. Of
other rounds one costs one action per definition, and one more where its candidates are looked up in something
large; a stored relation with pending layers one more action in all: it is merged once. `append` and `move`
only put results together or rename them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.counts import consolidated, plain, weighted
from viewkeeper.algebra.relations import Distinct, Reference, Relation, Scan
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.algebra.walk import rewrite, scans
from viewkeeper.engine.rows import Held
from viewkeeper.engine.types import driver_type
from viewkeeper.maintenance.dred.changed_subgoals import SetDelta
from viewkeeper.maintenance.recursion.port import Derivation, absent, before_absence, present
from viewkeeper.maintenance.recursion.strata import references
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.files import RESULTS
from viewkeeper.spark.frames import Answer, columns_of, counted
from viewkeeper.spark.known_inputs import Inputs
from viewkeeper.spark.read import Source
from viewkeeper.sql.render import state_name
from viewkeeper.storage.relation import DataFile

Lowering = Callable[[Relation], Relation]
"""Makes a plan speak of relations as they are stored."""


@dataclass(frozen=True)
class RoundResult:
    """Rows under a name: some in files, some on the driver."""

    columns: tuple[Column, ...]
    files: tuple[DataFile, ...] = ()
    local: pa.Table | None = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files) + (self.local.num_rows if self.local else 0)

    def with_rows(self, more: RoundResult) -> RoundResult:
        tables = [table for table in (self.local, more.local) if table is not None]
        local = pa.concat_tables(tables) if tables else None
        return replace(self, files=(*self.files, *more.files), local=local)


@dataclass(frozen=True)
class _Query:
    """A plan, the names of its leaves, and the columns of its result with what makes them of their types:
    alike in every round."""

    plan: Relation
    scans: tuple[tuple[str, Scan], ...]
    references: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    casts: tuple[str, ...] = ()


@dataclass
class SparkEvaluator:
    """Runs plans over stored relations and results.

    `types` are the stored columns of each definition. `prepared` makes a plan speak of relations as
    they are stored, and of the results in `given`. `held` gives stored rows and changes that the driver has;
    `in_pieces` makes of a stored relation the pieces that it is read from. `is_large`: results do not fit the
    driver.
    """

    engine: SparkEngine
    source: Callable[[Scan], Source]
    size: Callable[[Scan], int]
    types: Mapping[str, tuple[Column, ...]]
    prepared: Lowering
    given: Mapping[str, Answer]
    held: Callable[[Scan], Source | None]
    in_pieces: Lowering
    is_large: bool = False
    may_look_up: bool = True
    results: dict[str, RoundResult] = field(default_factory=dict)
    frames: dict[str, tuple[RoundResult, DataFrame]] = field(default_factory=dict)
    opened: Counter[str] = field(default_factory=Counter)
    gathered: dict[str, Source] = field(default_factory=dict)
    queries: dict[tuple[int, str], tuple[Derivation, _Query]] = field(default_factory=dict)

    def evaluate(self, plans: Mapping[str, Derivation]) -> Mapping[str, int]:
        done = {name: self._evaluated(name, derivation) for name, derivation in plans.items()}
        self.results |= done
        return {name: result.rows for name, result in done.items()}

    def append(self, name: str, more: str) -> None:
        added, known = self.results[more], self.results.get(name)
        total = added if known is None else known.with_rows(added)
        self.results[name] = total
        limits, held = self.engine.limits, total.local.num_rows if total.local is not None else 0
        if len(total.files) > limits.result_files or held > limits.round_held:
            files = self.engine.write_result(self._rows(name), total.rows)
            self.results[name] = RoundResult(total.columns, files)

    def move(self, name: str, to: str) -> None:
        self.results[to] = self.results.pop(name)
        if name in self.frames:
            self.frames[to] = self.frames.pop(name)

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self.results.pop(name, None)
            self.frames.pop(name, None)

    def frame(self, explicit: Relation) -> DataFrame:
        """The DataFrame of a plan with explicit counts."""
        return self._frame_of(_query(explicit))

    def signed_rows(self, name: str, change: SetDelta) -> Held | None:
        """The change of a definition as signed rows, where it is put together on the driver."""
        columns = counted(self.types[name])
        plan = weighted(self.prepared(change.signed))
        return self._here(plan, columns)

    def _frame_of(self, query: _Query, is_lookup: bool = False) -> DataFrame:
        named = {name: self._rows(name) for name in query.references}
        sources = {name: self._leaf(name, scan) for name, scan in query.scans}
        frame = Inputs(self.engine, sources, named).run(query.plan, is_lookup=is_lookup)
        return frame.selectExpr(*query.casts) if query.casts else frame

    def _leaf(self, name: str, scan: Scan) -> Source:
        """A stored relation. One that has pending layers is merged once, for all rounds after the second."""
        if name not in self.gathered:
            self.opened[name] += 1
            source = self.source(scan)
            if self.opened[name] <= 2 or not source.merged or source.rows > self.engine.limits.gathered:
                return source
            files = self.engine.write_result(source.frame, source.rows)
            frame = self.engine.files(RESULTS, files, columns_of(source.frame))
            self.gathered[name] = Source(frame, sum(file.rows for file in files))
        return self.gathered[name]

    def _evaluated(self, name: str, derivation: Derivation) -> RoundResult:
        if derivation.signed:
            return self._written(name, derivation, "signed", _signed)
        own = self._on_driver(name, _set(derivation))
        if own is not None and not (own.rows and derivation.is_compared):
            return own
        if own is not None:
            return self._compared(name, derivation, own)
        compared = [rel for rel in (derivation.within, *derivation.without) if rel is not None]
        if sum(self._size(rel) for rel in compared) <= self.engine.limits.candidates_stored:
            return self._written(name, derivation, "whole", _whole)
        return self._compared(name, derivation, self._written(name, derivation, "candidates", _candidates))

    def _on_driver(self, name: str, plan: Relation) -> RoundResult | None:
        """The rows of a plan, in the types of the definition that they belong to, where it is placed on the
        driver."""
        columns = self._types_of(name)
        if plan.columns != tuple(column.name for column in columns):
            return None
        own = self._here(plain(self.prepared(rewrite(plan, self.in_pieces))), columns)
        return None if own is None else RoundResult(own.columns, local=own.table)

    def _here(self, explicit: Relation, wanted: Sequence[Column]) -> Held | None:
        """The rows of a plan with explicit counts that is placed on the driver."""
        sources = {state_name(scan): source for scan in scans(explicit) if (source := self.held(scan))}
        results = {name: self._held_rows(name) for name in references(explicit)}
        frames = {name: rows for name, rows in results.items() if rows is not None}
        near = 0.0 if self.may_look_up else None
        inputs = Inputs(self.engine, sources, frames, near=near, look_up=self._look_up)
        return inputs.here(explicit, wanted)

    def _held_rows(self, name: str) -> Held | None:
        """The rows of a result that are on the driver."""
        result = self.results.get(name)
        if result is None or result.files or result.local is None:
            return None
        return Held(result.local, result.columns)

    def _look_up(self, plan: Relation) -> pa.Table | None:
        """The rows of one relation that known keys name; None where they are many, or not read here as by
        Spark."""
        frame = self._frame_of(_query(plan), is_lookup=True)
        if any(driver_type(column.type) is None for column in columns_of(frame)):
            return None
        most = self.engine.limits.round_held
        table = self.engine.collected(frame, most + 1)
        self.may_look_up = table.num_rows <= most
        return table if self.may_look_up else None

    def _compared(self, name: str, derivation: Derivation, candidates: RoundResult) -> RoundResult:
        """Of candidates that are known, those that are in `within` and in none of `without`: only what is
        near them is read of the others."""
        if not candidates.rows:
            return candidates
        found = f"{name}_candidates"
        self.results[found] = candidates

        def near(derivation: Derivation, prepared: Lowering) -> Relation:
            return plain(prepared(_near(derivation, found)))

        own = self._on_driver(name, _near(derivation, found))
        result = own or self._written(name, derivation, "near", near)
        self.results.pop(found)
        return result

    def _written(
        self, name: str, derivation: Derivation, form: str, of: Callable[[Derivation, Lowering], Relation]
    ) -> RoundResult:
        """The rows of a derivation in one of its forms. Its text is made, and its types are asked, once."""
        known, frame = self.queries.get((id(derivation), form)), None
        if known is None:
            query, frame = self._typed(name, _query(of(derivation, self.prepared)))
            self.queries[id(derivation), form] = known = derivation, query
        query = known[1]
        if is_empty(query.plan):
            return RoundResult(query.columns)
        if frame is None:
            frame = self._frame_of(query)
        if not self.is_large and all(driver_type(column.type) is not None for column in query.columns):
            limits = self.engine.limits
            table = self.engine.collected(frame, limits.round_fetched + 1)
            if table.num_rows <= limits.round_held:
                return RoundResult(query.columns, local=table)
            if table.num_rows <= limits.round_fetched:
                return RoundResult(query.columns, self.engine.write_result(Held(table, query.columns)))
            self.is_large = True
        return RoundResult(query.columns, self.engine.write_result(frame))

    def _typed(self, name: str, query: _Query) -> tuple[_Query, DataFrame]:
        """The query, and its frame, in the types of the definition that its result belongs to: rounds must
        not widen them."""
        columns = self._types_of(name)
        wanted = {COUNT: "bigint", **{column.name: column.type for column in columns}}
        frame = self._frame_of(query)
        found = columns_of(frame)
        typed = tuple(replace(column, type=wanted.get(column.name, column.type)) for column in found)
        if typed == found:
            return replace(query, columns=found), frame
        casts = tuple(f"CAST(`{column.name}` AS {column.type}) AS `{column.name}`" for column in typed)
        return replace(query, columns=typed, casts=casts), frame.selectExpr(*casts)

    def _types_of(self, name: str) -> tuple[Column, ...]:
        """The stored columns of the definition that a result belongs to."""
        owners = [definition for definition in self.types if name.startswith(f"{definition}__")]
        return self.types[max(owners, key=len)] if owners else ()

    def _size(self, rel: Relation) -> int:
        """At most how many rows a plan compares with: those behind its leaves."""
        stored = sum(self.size(scan) for scan in scans(rel))
        return stored + sum(self.results[name].rows for name in references(rel) if name in self.results)

    def _rows(self, name: str) -> DataFrame:
        if name in self.given and name not in self.results:
            return self.engine.frame(self.given[name])
        result = self.results[name]
        opened = self.frames.get(name)
        if opened is None or opened[0] is not result:
            self.frames[name] = opened = result, self._opened(result)
        return opened[1]

    def _opened(self, result: RoundResult) -> DataFrame:
        if result.local is None:
            return self.engine.files(RESULTS, result.files, result.columns)
        local = self.engine.local(result.local, result.columns)
        if not result.files:
            return local
        return self.engine.files(RESULTS, result.files, result.columns).union(local)


def _query(explicit: Relation) -> _Query:
    """A plan with explicit counts."""
    leaves = {state_name(scan): scan for scan in scans(explicit)}
    return _Query(explicit, tuple(leaves.items()), references(explicit))


def _near(derivation: Derivation, found: str) -> Relation:
    """What is left of the candidates, which are `found`; of what they are compared with, rows like them."""
    candidates: Relation = Reference(found, derivation.columns)

    def alike(known: Relation) -> Relation:
        return before_absence(known, lambda rel: present(rel, candidates))

    rel = candidates if derivation.within is None else present(candidates, alike(derivation.within))
    for known in derivation.without:
        rel = absent(rel, alike(known))
    return rel


def _signed(derivation: Derivation, prepared: Lowering) -> Relation:
    return consolidated(weighted(prepared(derivation.candidates)))


def _whole(derivation: Derivation, prepared: Lowering) -> Relation:
    return plain(prepared(derivation.relation))


def _candidates(derivation: Derivation, prepared: Lowering) -> Relation:
    return plain(prepared(_set(derivation)))


def _set(derivation: Derivation) -> Relation:
    return derivation.candidates if derivation.is_set else Distinct(derivation.candidates)
