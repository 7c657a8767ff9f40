"""Few rows that the driver holds: the modification log of a table, and plans that just pick from such rows.

    log(K, A_pre, A, was, is)    from the signed rows of a table, net of what cancels
    δ⁺, δ⁻                       the rows of a table that came, or went, each once
    π_C σ_c(log)                 columns are chosen and named; c tests flags, and whether values differ
    γ(cache ⋈ diff)              Spark looks keys of the diff up; what it finds is joined and summed up here

An update of columns that no condition looks at is nothing more than the third: its diff passes from the table
to the view as it is, and to ask Spark for it would take longer than all the rest of the refresh. Where such
columns are summed up, Spark is asked for a scan, and for nothing that would have to be planned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.prune import pruned
from viewkeeper.algebra.relations import (
    Bound,
    Distinct,
    Filter,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.algebra.walk import rewrite
from viewkeeper.limits import Limits
from viewkeeper.maintenance.id_diffs.diffs import pre
from viewkeeper.maintenance.id_diffs.schemas import IS, WAS, BaseTable
from viewkeeper.maintenance.steps import delta_name
from viewkeeper.spark.arrow import driver_type, empty_table
from viewkeeper.spark.engine import counted
from viewkeeper.spark.few_groups import plain_type
from viewkeeper.spark.few_rows import Look, rows_of
from viewkeeper.spark.held import Held
from viewkeeper.spark.scalars import holds

if TYPE_CHECKING:
    from viewkeeper.spark.execute import Execution


def few_changes(execution: Execution, table: str, columns: tuple[Column, ...]) -> pa.Table | None:
    """The signed rows that a table went through, where they are few and read here as by Spark."""
    state = execution.draft.relations[table]
    files = [file for layer in execution.layers(table) for file in layer.files]
    rows = execution.engine.few_rows(state.folder, files, counted(columns)) if state.merge is None else None
    if rows is not None:
        execution.note_read(delta_name(table), sum(file.rows for file in files))
    return rows


def log_of(rows: pa.Table, table: BaseTable) -> Held:
    """The net modifications of a table by key, from its signed rows: what `modification_log` is a plan of."""
    names, attributes = [column.name for column in table.columns], table.attributes
    places = {name: place for place, name in enumerate(names)}
    by_key: dict[tuple[Any, ...], list[Any]] = {}
    for row, count in _net(rows, names).items():
        sides = by_key.setdefault(tuple(row[places[name]] for name in table.key), [None, None])
        sides[count > 0] = row
    values: dict[str, list[Any]] = {name: [] for name in table.log.columns}
    for key, (old, new) in by_key.items():
        for name, value in zip(table.key, key, strict=True):
            values[name].append(value)
        for name in attributes:
            values[pre(name)].append(None if old is None else old[places[name]])
            values[name].append(None if new is None else new[places[name]])
        values[WAS].append(old is not None)
        values[IS].append(new is not None)
    columns = _log_columns(table)
    kinds = {**{name: rows.schema.field(name).type for name in names}, WAS: pa.bool_(), IS: pa.bool_()}
    kinds |= {pre(name): kinds[name] for name in attributes}
    return Held(pa.table({c.name: pa.array(values[c.name], kinds[c.name]) for c in columns}), columns)


def _net(rows: pa.Table, names: list[str]) -> Counter[tuple[Any, ...]]:
    """The rows with their counts, without those that cancel."""
    found: Counter[tuple[Any, ...]] = Counter()
    whole = zip(*(rows.column(name).to_pylist() for name in names), strict=True)
    for row, count in zip(whole, rows.column(COUNT).to_pylist(), strict=True):
        found[row] += count
    return Counter({row: count for row, count in found.items() if count})


def came_or_went(plan: Relation, signed: Callable[[Scan], pa.Table | None]) -> Held | None:
    """The rows of a plan that just asks which rows of a table came, or which went; None where it does more.

    `signed` gives the signed rows that a table went through, where they are few.
    """
    match plan:
        case Project():
            below = came_or_went(plan.child, signed)
            return None if below is None else _projected(plan, below)
        case Distinct(child=Scan(at=State.DELTA) as scan):
            return _with_sign(scan, signed(scan), 1)
        case Distinct(child=Negate(child=Scan(at=State.DELTA) as scan)):
            return _with_sign(scan, signed(scan), -1)
        case _:
            return None


def _with_sign(scan: Scan, rows: pa.Table | None, sign: int) -> Held | None:
    if rows is None:
        return None
    net = _net(rows, [item.source.name for item in scan.bound])
    found = [row for row, count in net.items() if count * sign > 0]
    values = list(zip(*found, strict=True)) if found else [()] * len(scan.bound)
    kinds = [rows.schema.field(item.source.name).type for item in scan.bound]
    table = pa.table([pa.array(v, k) for v, k in zip(values, kinds, strict=True)], names=list(scan.columns))
    return Held(table, tuple(Column(b.name, b.source.type, b.source.nullable) for b in scan.bound))


def _log_columns(table: BaseTable) -> tuple[Column, ...]:
    known = {column.name: column for column in table.columns}
    before = {pre(name): Column(pre(name), known[name].type) for name in table.attributes}
    after = {name: Column(name, known[name].type) for name in table.attributes}
    flags = {name: Column(name, "boolean", nullable=False) for name in (WAS, IS)}
    found = {**{name: known[name] for name in table.key}, **before, **after, **flags}
    return tuple(found[name] for name in table.log.columns)


def picked(plan: Relation, rows: Mapping[str, Held]) -> Held | None:
    """The rows of a plan that just picks from rows on the driver; None where it does more."""
    match plan:
        case Reference():
            return rows.get(plan.name)
        case Filter():
            below = picked(plan.child, rows)
            kept = None if below is None else holds(plan.condition, below.table)
            return None if below is None or kept is None else Held(below.table.filter(kept), below.columns)
        case Project():
            below = picked(plan.child, rows)
            return None if below is None else _projected(plan, below)
        case _:
            return None


def put_together(plan: Relation, rows: Mapping[str, Held], look: Look, limits: Limits) -> Held | None:
    """The rows of a plan that looks rows of the driver up in what is stored; None where it does more with
    what is found than the driver can, or where too much is found.

    `look` gives the rows of a plan that scans one relation for known keys.
    """
    typed, held = _typed(pruned(plan), rows)
    types = [(name, plain_type(typed, name)) for name in typed.columns]
    columns = tuple(Column(name, kind) for name, kind in types if kind and driver_type(kind))
    table = rows_of(typed, held.get, look, limits) if len(columns) == len(types) else None
    if table is None:
        return None
    return Held(table if table.num_rows else empty_table(columns), columns)


def _typed(plan: Relation, rows: Mapping[str, Held]) -> tuple[Relation, dict[Relation, pa.Table]]:
    """The plan with leaves of known types where the driver holds their rows, and these rows."""
    held: dict[Relation, pa.Table] = {}

    def typed(node: Relation) -> Relation:
        if not isinstance(node, Reference) or node.name not in rows:
            return node
        own = rows[node.name]
        kinds = {column.name: column for column in own.columns}
        leaf = Scan(node.name, tuple(Bound(name, kinds[name]) for name in node.columns))
        held[leaf] = own.table.select(list(node.columns))
        return leaf

    return rewrite(plan, typed), held


def flags_in(plan: Relation, rows: pa.Table) -> frozenset[str]:
    """The columns of 0 and 1 that a projection adds to rows on the driver, and that are 1 in some of them."""
    assert isinstance(plan, Project)
    tests = {o.name: o.expr.args["ifs"][0].this for o in plan.outputs if isinstance(o.expr, exp.Case)}
    found = {name: holds(test, rows) for name, test in tests.items()}
    return frozenset(name for name, where in found.items() if where is None or pc.any(where).as_py())


def _projected(plan: Project, below: Held) -> Held | None:
    if not all(output.is_column for output in plan.outputs):
        return None
    known = {column.name: column for column in below.columns}
    chosen = [(output.name, known[output.expr.name]) for output in plan.outputs]
    table = pa.table([below.table[c.name] for _, c in chosen], names=[name for name, _ in chosen])
    return Held(table, tuple(Column(name, c.type, c.nullable) for name, c in chosen))
