"""How many rows a plan handles, guessed from the sizes of what it reads.

Each node has two sizes: `rows`, for this batch, and `whole`, as if every table it reads were read whole.
A join of foreign key and key has as many rows as the larger side; of a part of the one side it has that part:

    |L ⋈ R|  =  |L| · |R| / min(whole L, whole R)

so a change of n facts joined with their dimension stays n, and a change of one of d dimension rows meets
1/d of the facts. Adding up the counts of equal rows hardly makes them fewer; grouping does. How many groups
there are is known where they are stored: n rows touch g · (1 − e^(−n/g)) of g groups.

Nothing here is exact: what matters is which of two scripts handles fewer rows, and `calibration` corrects
what is wrong for a view every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp

from viewkeeper import limits
from viewkeeper.algebra.expressions import columns_of
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    JoinKind,
    Reference,
    Relation,
    Scan,
    State,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import children, nodes

KEPT = 0.5
"""The part of its input that a filter is thought to keep."""

GROUPED = 0.8
"""n rows are thought to form n to the power of this many groups."""

READ, PROBED, GROUPING, SHUFFLED, SORTED = 1.0, 1.0, 3.0, 6.0, 8.0
"""What a row costs at each operator, in units of reading one; grouping as much for each group too."""


@dataclass(frozen=True)
class Size:
    """The rows of a node in this batch, and if all tables were read whole."""

    rows: float
    whole: float


@dataclass
class Sizes:
    """The sizes of stored relations and of changes; results of earlier steps are added as they are met.

    `groups` says how many groups there are by some columns, where a stored relation has one row for each.
    The changes of `keyed` relations are looked up in what is stored, before and after. `seen` are the rows of
    relations that merge by a key, which may be stored in several layers each. `expected` are sizes of
    results that are known better than from their plans.
    """

    stored: Mapping[str, float]
    changes: Mapping[str, float]
    groups: Mapping[frozenset[str], float] = field(default_factory=dict)
    keyed: frozenset[str] = frozenset()
    seen: Mapping[str, float] = field(default_factory=dict)
    results: dict[str, Size] = field(default_factory=dict)
    expected: dict[str, Size] = field(default_factory=dict)
    largest: float = 0.0

    def __post_init__(self) -> None:
        self.largest = max([1.0, *self.stored.values()])

    def scan(self, scan: Scan) -> Size:
        whole = self.stored.get(scan.table, self.largest)
        if scan.at is not State.DELTA:
            rows = self.seen.get(scan.table, whole)
            return Size(rows, rows)
        return Size(self.changes.get(scan.table, 1.0), whole)

    def read(self, node: Relation, size: Size) -> float:
        """The rows read from storage for a node, beside its inputs."""
        if isinstance(node, Scan) and node.at is State.DELTA and node.table in self.keyed:
            return 2 * size.whole
        if isinstance(node, Scan) and node.at is not State.DELTA:
            return self.stored.get(node.table, size.rows)
        return size.rows if isinstance(node, (Scan, Reference)) else 0.0

    def result(self, name: str) -> Size:
        """The size of an earlier result; one that no step computed is a change of some input."""
        return self.results.get(name, Size(sum(self.changes.values()), self.largest))

    def grouped(self, rows: Size, keys: Iterable[str]) -> Size:
        """The groups that rows form by some columns."""
        known = self.groups.get(frozenset(keys))
        if known is None:
            return Size(rows.rows**GROUPED, max(1.0, rows.whole**GROUPED))
        return Size(known * (1 - exp(-rows.rows / max(1.0, known))), max(1.0, known))


@dataclass(frozen=True)
class Handled:
    """What evaluating a plan takes: rows read from storage, and the cost of all its operators."""

    size: Size
    read: float
    cost: float
    operators: int


def handled(plan: Relation, sizes: Sizes) -> Handled:
    """What one evaluation of a plan handles; a subtree that occurs twice is evaluated once."""
    found: dict[Relation, Size] = {}
    read = cost = 0.0
    for node in nodes(plan):
        inputs = [found[child] for child in children(node)]
        found[node] = _size(node, inputs, sizes)
        own = sizes.read(node, found[node])
        cost += own * READ + _cost(node, inputs, found[node])
        read += own
    return Handled(found[plan], read, cost, len(found))


def _size(node: Relation, inputs: list[Size], sizes: Sizes) -> Size:
    match node:
        case Scan():
            return sizes.scan(node)
        case Reference():
            return sizes.result(node.name)
        case Values():
            return Size(len(node.rows), max(1, len(node.rows)))
        case Join():
            return _joined(node, *inputs)
        case Filter() if COUNT in columns_of(node.condition):
            return inputs[0]
        case Filter():
            return Size(inputs[0].rows * KEPT, inputs[0].whole)
        case Aggregate() if COUNT in node.columns:
            return inputs[0]
        case Aggregate():
            return sizes.grouped(inputs[0], node.key_names)
        case Distinct() | Affected():
            return sizes.grouped(inputs[0], node.columns)
        case TopK():
            return Size(min(node.limit, inputs[0].rows), max(1, min(node.limit, inputs[0].whole)))
        case UnionAll():
            return Size(sum(one.rows for one in inputs), max([1.0, *(one.whole for one in inputs)]))
        case Difference():
            return inputs[0]
        case Intersection():
            return min(inputs, key=lambda one: one.rows)
        case Fixpoint():
            return Size(sizes.largest, sizes.largest)
        case _:
            return inputs[0]


def _joined(join: Join, left: Size, right: Size) -> Size:
    meeting = left.rows * right.rows / max(1.0, min(left.whole, right.whole))
    whole = max(left.whole, right.whole)
    match join.kind:
        case JoinKind.SEMI:
            return Size(min(left.rows, meeting), left.whole)
        case JoinKind.ANTI:
            return left
        case JoinKind.INNER:
            return Size(meeting, whole)
        case _:
            return Size(max(meeting, left.rows), whole)


def _cost(node: Relation, inputs: list[Size], output: Size) -> float:
    """What an operator costs beside its inputs and what it reads."""
    match node:
        case Join():
            few, many = sorted(one.rows for one in inputs)
            is_broadcast = few <= limits.LIMITS.priced_as_broadcast
            return many * PROBED if is_broadcast else (few + many) * SHUFFLED
        case Aggregate() | Distinct() | Consolidate() | Affected() | Difference() | Intersection():
            return (sum(one.rows for one in inputs) + output.rows) * GROUPING
        case Window() | TopK():
            return inputs[0].rows * SORTED
        case _:
            return 0.0


__all__ = ["Handled", "Size", "Sizes", "handled"]
