"""Runs the steps of a recursion: first evaluation, and maintenance by DRed or by levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from viewkeeper.algebra.build import is_empty, minus, restricted_to, union_all
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import column, literal
from viewkeeper.algebra.merge.net_effect import net_effect
from viewkeeper.algebra.relations import Bound, Filter, Reference, Relation, Scan, State
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.algebra.walk import rewrite, scans
from viewkeeper.engine.rows import Held
from viewkeeper.maintenance.dred.algorithm import Abandoned, maintain
from viewkeeper.maintenance.dred.changed_subgoals import Changes, SetDelta
from viewkeeper.maintenance.recursion.levels import evaluate_levels, maintain_levels
from viewkeeper.maintenance.recursion.port import Run, absent
from viewkeeper.maintenance.recursion.seminaive import evaluate_fixpoint, unrolled
from viewkeeper.maintenance.recursion.stored_strata import stored_rows
from viewkeeper.maintenance.steps import EvaluateFixpoint, MaintainFixpoint, delta_name
from viewkeeper.maintenance.strategy import bound
from viewkeeper.spark.anew import write_anew
from viewkeeper.spark.evaluator import SparkEvaluator
from viewkeeper.spark.frames import columns_of
from viewkeeper.spark.read import Reader, Source
from viewkeeper.sql.render import relation_name

if TYPE_CHECKING:
    from viewkeeper.spark.execute import Execution


def run_evaluation(execution: Execution, step: EvaluateFixpoint) -> None:
    """Writes every relation of a recursion anew."""
    recursion = _Recursion(execution, step)
    rows = recursion.from_scratch()
    for name, relation in step.relations:
        frame = recursion.evaluator.frame(plain(rows[name]))
        write_anew(execution, relation, frame, relation in step.compared)


def run_maintenance(execution: Execution, step: MaintainFixpoint) -> None:
    """Appends its exact change to every relation of a recursion."""
    recursion = _Recursion(execution, step)
    sets = recursion.changed_by_set(step) if step.fixpoint.distinct else {}
    changed = recursion.signed(sets) if sets else recursion.changed_by_level(step)
    for name, relation in step.relations:
        if is_empty(changed[name]):
            execution.mark_unchanged(relation)
        elif sets and (rows := recursion.evaluator.signed_rows(name, sets[name])) is not None:
            execution.write_rows(relation, rows, is_set=True)
        else:
            frame = recursion.evaluator.frame(changed[name])
            execution.write_change(relation, frame, is_set=step.fixpoint.distinct)


@dataclass
class _Piece:
    """A part of a stored definition: what reads it, and its rows where the driver holds them; `of`: the name
    under which it is reported that it was read."""

    of: str
    rows: int
    source: Source | None = None
    laid: Held | None = None
    is_read: bool = False


@dataclass
class _Recursion:
    execution: Execution
    step: EvaluateFixpoint | MaintainFixpoint

    def __post_init__(self) -> None:
        relations, limits = self.execution.draft.relations, self.execution.engine.limits
        self.computed = self.step.computed if isinstance(self.step, MaintainFixpoint) else frozenset[str]()
        stored = stored_rows(self.step.fixpoint, self.step.relations)
        self.stored = {name: _typed(scan, relations[scan.table].columns) for name, scan in stored.items()}
        self.pieces: dict[str, _Piece] = {}
        self.evaluator = SparkEvaluator(
            self.execution.engine,
            self._source,
            self._size,
            {name: relations[relation].columns for name, relation in self.step.relations} or self._types(),
            self._prepared,
            self.execution.frames,
            self._held,
            self._base_in_pieces,
            is_large=isinstance(self.step, EvaluateFixpoint) and self._input_rows() > limits.round_held,
        )
        self.run = Run(self.evaluator, self.step.limit, self.execution.progress, self._stored_pieces())

    def _stored_pieces(self) -> dict[str, Relation]:
        """What is stored in pieces; what is written anew does not read it."""
        stored = self.stored if isinstance(self.step, MaintainFixpoint) else {}
        found = {name: self._in_pieces(scan) for name, scan in stored.items()}
        return {name: rel for name, rel in found.items() if rel is not None}

    def _base_in_pieces(self, node: Relation) -> Relation:
        """A base table that has pending layers, as its pieces."""
        if not isinstance(node, Scan) or node.at is State.DELTA or node.table in self.pieces:
            return node
        is_base = node.table in self.execution.draft.catalog.tables
        return (self._in_pieces(node) if is_base else None) or node

    def _in_pieces(self, stored: Scan) -> Relation | None:
        """A stored relation as main and what came over it, each a relation of its own to the evaluator."""
        state = self.execution.draft.relations[stored.table]
        state = self.execution.old.get(stored.table, state) if stored.at is State.OLD else state
        whole = tuple(item.source.name for item in stored.bound) == state.names
        engine = self.execution.engine
        found = Reader(engine).pieces(state) if whole and not engine.is_netting else None
        if found is None:
            return None
        of = relation_name(stored)
        names = f"{of}__main", f"{of}__laid"
        if names[0] not in self.pieces:
            self.pieces[names[0]] = _Piece(of, found[0].rows, source=found[0])
            self.pieces[names[1]] = _Piece(of, state.overlay_rows, laid=found[1])
        main = replace(stored, table=names[0], at=State.NEW)
        count = Bound(COUNT, Column(COUNT, "bigint", nullable=False))
        laid = replace(main, table=names[1], bound=(*main.bound, count))
        new, gone = (
            restricted_to(Filter(laid, sign(this=column(COUNT), expression=literal(0))), main.columns)
            for sign in (exp.GT, exp.LT)
        )
        return union_all((absent(main, gone), new), main.columns)

    def _held(self, scan: Scan) -> Source | None:
        """The rows of a piece, or of a change, that the driver holds."""
        if scan.at is State.DELTA:
            return self.execution.source(scan) if scan.table not in self.computed else None
        piece = self.pieces.get(scan.table)
        return None if piece is None or piece.laid is None else self._source(scan)

    def _source(self, scan: Scan) -> Source:
        piece = self.pieces.get(scan.table)
        if piece is None:
            return self.execution.source(scan)
        self._note_read(piece)
        if piece.source is None and (laid := piece.laid) is not None:
            piece.source = Source(lambda: self.execution.engine.frame(laid), piece.rows, held=laid)
        assert piece.source is not None
        return piece.source

    def _note_read(self, piece: _Piece) -> None:
        if not piece.is_read:
            piece.is_read = True
            self.execution.note_read(piece.of, piece.rows)

    def _size(self, scan: Scan) -> int:
        piece = self.pieces.get(scan.table)
        return self.execution.size(scan) if piece is None else piece.rows

    def _prepared(self, rel: Relation) -> Relation:
        """Counts where stored rows carry them, and changes that were computed read from there."""

        def refer(node: Relation) -> Relation:
            if isinstance(node, Scan) and node.at is State.DELTA and node.table in self.computed:
                return Reference(delta_name(node.table), node.columns, counted=True)
            return node

        return rewrite(bound(rel, self.step.counted), refer)

    def _input_rows(self) -> int:
        return sum(self.execution.size(scan) for scan in scans(self.step.fixpoint))

    def _types(self) -> dict[str, tuple[Column, ...]]:
        """The types of definitions that are not stored anywhere."""
        found = {}
        for definition in self.step.fixpoint.definitions:
            body = unrolled(replace(self.step.fixpoint, result=definition.name))
            found[definition.name] = columns_of(self.execution.frame(plain(self._prepared(body))))
        return found

    def from_scratch(self) -> Mapping[str, Relation]:
        """Every definition's rows over the new state."""
        if self.step.fixpoint.distinct:
            return evaluate_fixpoint(self.step.fixpoint, self.run)
        return {self.step.fixpoint.result: evaluate_levels(self.step.fixpoint, self.run)}

    def changed_by_set(self, step: MaintainFixpoint) -> Mapping[str, SetDelta]:
        done = maintain(
            step.fixpoint, self.stored, self._changes(step), self.run, step.before, self._enough(step)
        )
        if isinstance(done, Abandoned):
            self.execution.recomputed += [relation for _, relation in step.relations]
            return self._compared(self.from_scratch())
        return done.deltas

    def signed(self, changes: Mapping[str, SetDelta]) -> dict[str, Relation]:
        """Changes as plans of signed rows, with explicit counts."""
        return {name: weighted(self._prepared(change.signed)) for name, change in changes.items()}

    def changed_by_level(self, step: MaintainFixpoint) -> dict[str, Relation]:
        name = step.fixpoint.result
        if step.before is not None:
            change = minus(self.from_scratch()[name], self.stored[name])
            return {name: net_effect(self._prepared(change))}
        done = maintain_levels(step.fixpoint, self.stored[name], self._changes(step).changed, self.run)
        return {name: net_effect(self._prepared(done.levels))}

    def _compared(self, rows: Mapping[str, Relation]) -> dict[str, SetDelta]:
        """The change that leads from what is stored to the given rows."""
        return {
            name: SetDelta(absent(now, self.stored[name]), absent(self.stored[name], now))
            for name, now in rows.items()
        }

    def _changes(self, step: MaintainFixpoint) -> Changes:
        """The changed inputs, as far as it is known by now which way they changed."""
        tables = self.execution.draft.relations
        quiet = {name for name in step.inserted if delta_name(name) in self.execution.empty}
        growing = {name for name in step.deleted if self.execution.only_gained(name)}
        shrinking = {name for name in step.inserted if self.execution.only_lost(name)}
        keys = {name: tables[name].key for name in step.inserted if tables[name].key}
        return Changes(
            step.inserted - quiet - shrinking, step.deleted - quiet - growing, {**keys, **dict(step.keys)}
        )

    def _enough(self, step: MaintainFixpoint) -> int | None:
        if step.share is None:
            return None
        stored = sum(self.execution.size(scan) for scan in self.stored.values())
        return max(self.execution.engine.limits.overdeleted, int(step.share * stored))


def _typed(scan: Scan, columns: tuple[Column, ...]) -> Scan:
    """The scan with its columns as they are stored."""
    known = {column.name: column for column in columns}
    bound = (Bound(item.name, known.get(item.source.name, item.source)) for item in scan.bound)
    return replace(scan, bound=tuple(bound))
