"""The nodes of the algebra.

Every node denotes a *signed bag*: a map from rows to integer counts. A stored relation at OLD or
NEW has positive counts only; a DELTA may have negative ones. Filter, Project, Join (inner),
UnionAll, Lateral and Negate are linear in the counts and so mean the same over both. The other
operators are defined over bags (positive counts); the rules of `delta/` apply them to nothing else.

Output columns have unique names, and the two sides of a join share none: the front ends rename.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar
from viewkeeper.algebra.node import MalformedPlan, Node, known, same_width, unique
from viewkeeper.algebra.schema import COUNT, Column


class State(Enum):
    """Which state of a stored relation a scan reads."""

    OLD = "old"
    NEW = "new"
    DELTA = "delta"


class Form(Enum):
    """In which form a scan reads a stored relation."""

    ROWS = "rows"
    """One row per copy."""
    SIGNED = "signed"
    """Rows with `__count`, whose sum is the relation: nothing is merged for it."""
    CHANGES = "changes"
    """Rows with `__count` that came and went between two states."""


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


class SameColumns(Node):
    """A node whose output has the columns of its input."""

    child: Relation

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.child.columns


@dataclass(frozen=True)
class Bound:
    """An output column of a scan: `name` in the plan, `source` in the stored relation."""

    name: str
    source: Column


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """A stored relation at a state. `counted`: its stored form carries the column `__count`."""

    table: str
    bound: tuple[Bound, ...]
    at: State = State.NEW
    counted: bool = False

    def __post_init__(self) -> None:
        unique(self.columns, f"scan of {self.table}")

    @cached_property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(bound.name for bound in self.bound)

    @property
    def form(self) -> Form:
        """What the scan reads: the same relation in another form is another thing to read."""
        if self.at is State.DELTA:
            return Form.CHANGES
        return Form.SIGNED if self.counted or COUNT in self.columns else Form.ROWS


@dataclass(frozen=True, eq=False)
class Reference(Node):
    """A result that has a name: a step of a Δ-script, or a predicate inside a fixpoint."""

    name: str
    columns: tuple[str, ...]
    counted: bool = False


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Literal rows; no rows: the empty relation."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...] = ()

    def __post_init__(self) -> None:
        unique(self.columns, "values")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise MalformedPlan("values: a row has another number of columns than the relation")


@dataclass(frozen=True, eq=False)
class Filter(SameColumns):
    child: Relation
    condition: Scalar

    def __post_init__(self) -> None:
        known(self.condition, self.child.columns, "filter")


@dataclass(frozen=True, eq=False)
class Project(Node):
    """Duplicate-preserving projection with expressions."""

    child: Relation
    outputs: tuple[Named, ...]

    def __post_init__(self) -> None:
        unique(self.columns, "project")
        for output in self.outputs:
            known(output.expr, self.child.columns, "project")

    @cached_property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(output.name for output in self.outputs)


@dataclass(frozen=True, eq=False)
class Join(Node):
    """A join on any condition; a cross join is an inner join on TRUE.

    SEMI keeps the rows of the left side that match some row of the right side, ANTI those that
    match none; `NOT IN` is an ANTI join whose condition also holds where the comparison is NULL.
    """

    left: Relation
    right: Relation
    kind: JoinKind
    on: Scalar

    def __post_init__(self) -> None:
        both = (*self.left.columns, *self.right.columns)
        unique(both, f"{self.kind.value} join")
        known(self.on, both, f"{self.kind.value} join")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.columns
        return (*self.left.columns, *self.right.columns)


@dataclass(frozen=True, eq=False)
class Lateral(Node):
    """Each row of the child beside the rows that a generator such as `explode(xs)` makes of it."""

    child: Relation
    generator: Scalar
    produced: tuple[str, ...]
    outer: bool = False

    def __post_init__(self) -> None:
        unique(self.columns, "lateral view")
        known(self.generator, self.child.columns, "lateral view")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.child.columns, *self.produced)


@dataclass(frozen=True, eq=False)
class Aggregate(Node):
    """Groups by `keys`; each aggregate is one call, perhaps with DISTINCT or FILTER.

    Without keys there is exactly one group, even over no rows. `exact`: rows are added up, and −0.0 makes
    another row than 0.0 (`zeros`).
    """

    child: Relation
    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]
    exact: bool = False

    def __post_init__(self) -> None:
        unique(self.columns, "aggregate")
        for item in (*self.keys, *self.aggregates):
            known(item.expr, self.child.columns, "aggregate")

    @cached_property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(item.name for item in (*self.keys, *self.aggregates))

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.keys)


@dataclass(frozen=True, eq=False)
class Distinct(SameColumns):
    """The set of rows; `exact`: of rows as they are, −0.0 being another than 0.0."""

    child: Relation
    exact: bool = False


@dataclass(frozen=True, eq=False)
class UnionAll(Node):
    """Bag union; columns correspond by position and take the first input's names."""

    inputs: tuple[Relation, ...]

    def __post_init__(self) -> None:
        if not self.inputs:
            raise MalformedPlan("union: no inputs")
        same_width(self.inputs, "union")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inputs[0].columns


@dataclass(frozen=True, eq=False)
class Difference(Node):
    """EXCEPT, or EXCEPT ALL when `all`; columns correspond by position."""

    left: Relation
    right: Relation
    all: bool

    def __post_init__(self) -> None:
        same_width((self.left, self.right), "except")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.left.columns


@dataclass(frozen=True, eq=False)
class Intersection(Node):
    """INTERSECT, or INTERSECT ALL when `all`; columns correspond by position."""

    left: Relation
    right: Relation
    all: bool

    def __post_init__(self) -> None:
        same_width((self.left, self.right), "intersect")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.left.columns


@dataclass(frozen=True, eq=False)
class Window(Node):
    """Adds window functions that share one PARTITION BY, which is a list of columns."""

    child: Relation
    partition: tuple[str, ...]
    functions: tuple[Named, ...]

    def __post_init__(self) -> None:
        unique(self.columns, "window")
        if not set(self.partition) <= set(self.child.columns):
            raise MalformedPlan(f"window: unknown partition columns in {self.partition}")
        for item in self.functions:
            known(item.expr, self.child.columns, "window")
            if not isinstance(item.expr, exp.Window):
                raise MalformedPlan(f"window: {item.expr.sql()} is no window function")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.child.columns, *(item.name for item in self.functions))


@dataclass(frozen=True, eq=False)
class TopK(SameColumns):
    """ORDER BY … LIMIT … OFFSET. Rows that tie are ordered by all columns, so that it is exact."""

    child: Relation
    order: tuple[exp.Ordered, ...]
    limit: int
    offset: int = 0

    def __post_init__(self) -> None:
        if self.limit < 0 or self.offset < 0:
            raise MalformedPlan("limit and offset are not negative")
        for item in self.order:
            known(item, self.child.columns, "order by")


@dataclass(frozen=True)
class Definition:
    """One predicate of a fixpoint: its base and recursive rules as one body (a union)."""

    name: str
    columns: tuple[str, ...]
    body: Relation


@dataclass(frozen=True, eq=False)
class Fixpoint(Node):
    """The least fixpoint of mutually recursive definitions; `result` names the one it yields.

    Bodies refer to definitions by `Reference`. `distinct`: UNION (set semantics); otherwise
    UNION ALL, where each round joins only the rows of the round before.
    """

    definitions: tuple[Definition, ...]
    result: str
    distinct: bool

    def __post_init__(self) -> None:
        if self.result not in {definition.name for definition in self.definitions}:
            raise MalformedPlan(f"fixpoint: no definition of {self.result}")

    @cached_property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return next(d.columns for d in self.definitions if d.name == self.result)


@dataclass(frozen=True, eq=False)
class Negate(SameColumns):
    """The same rows with the opposite counts."""

    child: Relation


@dataclass(frozen=True, eq=False)
class Consolidate(SameColumns):
    """Equal to the child as a signed bag; stored with one entry per row and none of count zero."""

    child: Relation


@dataclass(frozen=True, eq=False)
class Affected(Node):
    """The set of values of `columns` that a delta mentions, whatever its counts.

    It may mention values whose counts cancel: it only ever restricts where a rule looks.
    """

    child: Relation
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if not set(self.columns) <= set(self.child.columns):
            raise MalformedPlan(f"affected: {self.columns} are not columns of {self.child.columns}")


@dataclass(frozen=True, eq=False)
class Expand(Node):
    """Turns the explicit column `__count` of its child into that many copies of the row."""

    child: Relation

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in self.child.columns if name != "__count")


Relation: TypeAlias = (
    Scan
    | Reference
    | Values
    | Filter
    | Project
    | Join
    | Lateral
    | Aggregate
    | Distinct
    | UnionAll
    | Difference
    | Intersection
    | Window
    | TopK
    | Fixpoint
    | Negate
    | Consolidate
    | Affected
    | Expand
)
