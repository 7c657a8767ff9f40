"""Plans over few rows, most of which the driver holds: it joins them, and has Spark look up the rest.

    N ⋈_y=u P ⋈_v=w C        N and C are on the driver: P is asked for the keys that N has, and joined here

A round of a recursion is about few rows, and an action costs as much for them as for a million. What Spark
is asked for is a scan of one relation for keys that are known (`planning.physical.in_lists`). Whatever is not
a choice of columns, a union, a duplicate elimination, a join by equal columns or a sum of whole numbers
(`few_groups`) is left to Spark, and so are values that are compared here in other ways than there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.expressions import conjuncts
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    UnionAll,
)
from viewkeeper.algebra.walk import children
from viewkeeper.limits import LIMITS, Limits
from viewkeeper.planning.physical.in_lists import with_known_keys
from viewkeeper.planning.physical.keys import TYPES, Keys
from viewkeeper.rewrite.equalities import Equality, column_equalities
from viewkeeper.spark.arrow import spark_type
from viewkeeper.spark.few_groups import grouped, has_plain_groups
from viewkeeper.spark.scalars import holds
from viewkeeper.storage.overlay import has_plain_equality

Held = Callable[[Scan | Reference], pa.Table | None]
Look = Callable[[Relation], pa.Table | None]

_JOINS = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left outer",
    JoinKind.SEMI: "left semi",
    JoinKind.ANTI: "left anti",
}

_TESTED = (exp.Paren, exp.And, exp.Or, exp.Not, exp.Is, exp.Null, exp.LT, exp.GT, exp.NEQ, exp.Literal)


def rows_of(plan: Relation, held: Held, look: Look, limits: Limits = LIMITS) -> pa.Table | None:
    """The rows of a plan; None where only Spark can tell. No rows may come without their types.

    `held` gives the rows of a leaf that the driver has, and `look` those of a plan that scans one relation
    for known keys; Spark is not asked where the rest would be left to it all the same.
    """
    few = FewRows(held, look if _is_plain(plan) else _unknown, limits)
    return few.rows(few.asking(plan))


def _is_plain(plan: Relation) -> bool:
    """Whether nothing in a plan is left to Spark but to look rows up."""
    match plan:
        case Scan():
            return plan.at is not State.DELTA
        case Reference():
            return not plan.counted
        case Project():
            own = all(output.is_column for output in plan.outputs)
        case Filter():
            tested = (*_TESTED, exp.Column, exp.Identifier)
            own = all(isinstance(part, tested) for part in plan.condition.walk())
        case Join():
            by = column_equalities(plan.on, plan.left.columns, plan.right.columns)
            own = plan.kind in _JOINS and 0 < len(by) == len(list(conjuncts(plan.on)))
        case Aggregate():
            own = has_plain_groups(plan)
        case _:
            own = is_empty(plan) or isinstance(plan, Distinct | UnionAll)
    return own and all(_is_plain(child) for child in children(plan))


def _unknown(_: Relation) -> pa.Table | None:
    return None


@dataclass
class FewRows:
    """What is known of plans, and of the parts that they have in common."""

    held: Held
    look: Look = _unknown
    limits: Limits = LIMITS
    _known: dict[Relation, pa.Table | None] = field(default_factory=dict)
    _asked: set[Relation] = field(default_factory=set)

    def asking(self, plan: Relation) -> Relation:
        """The plan, its relations asked for the keys that the driver knows. What it looks up itself it comes
        to know before it needs the keys of a join."""
        return with_known_keys(plan, self.keys, self._is_large, self._asked, through_joins=False)

    def rows(self, plan: Relation) -> pa.Table | None:
        if plan not in self._known:
            self._known[plan] = self._found(plan)
        return self._known[plan]

    def _is_large(self, rel: Relation) -> bool:
        return self.rows(rel) is None

    def keys(self, rel: Relation, name: str) -> Keys | None:
        table = self.rows(rel)
        if table is None or not table.num_rows:
            return None
        values, kind = table[name].unique(), spark_type(table[name].type)
        if kind not in TYPES or len(values) > self.limits.in_list:
            return None
        return Keys(tuple(values.drop_null().to_pylist()), kind, values.null_count > 0)

    def _found(self, plan: Relation) -> pa.Table | None:
        if is_empty(plan):
            return _nothing(plan)
        if self._is_look(plan):
            return self.look(plan)
        match plan:
            case Scan() | Reference():
                return self.held(plan)
            case Project():
                return _projected(plan, self.rows(plan.child))
            case Filter():
                return _filtered(plan, self.rows(plan.child))
            case Distinct():
                return _distinct(self.rows(plan.child))
            case Aggregate():
                return _grouped(plan, self.rows(plan.child))
            case UnionAll():
                return self._union(plan)
            case Join():
                return self._join(plan)
            case _:
                return None

    def _is_look(self, plan: Relation) -> bool:
        """Whether a plan only chooses from one relation, which the driver does not hold, what keys name."""
        node, is_asked = plan, False
        while isinstance(node, Filter | Project):
            is_asked |= node in self._asked
            node = node.child
        return is_asked and isinstance(node, Scan | Reference) and self.held(node) is None

    def _union(self, plan: UnionAll) -> pa.Table | None:
        found: list[pa.Table] = []
        for each in plan.inputs:
            table = self.rows(each)
            if table is None:
                return None
            found.append(table.rename_columns(list(plan.columns)))
        there = [table for table in found if table.num_rows]
        if any(table.schema != there[0].schema for table in there):
            return None
        return pa.concat_tables(there) if there else found[0]

    def _join(self, join: Join) -> pa.Table | None:
        left, right = self.rows(join.left), self.rows(join.right)
        empties = (left, right) if join.kind in (JoinKind.INNER, JoinKind.SEMI) else (left,)
        if join.kind in _JOINS and any(_is_nothing(side) for side in empties):
            return _nothing(join)
        if left is None or right is None:
            return None
        return _joined(join, left, right, self.limits.driver_join)


def _is_nothing(table: pa.Table | None) -> bool:
    return table is not None and table.num_rows == 0


def _nothing(plan: Relation) -> pa.Table:
    return pa.table({name: pa.array([], pa.null()) for name in plan.columns})


def _projected(plan: Project, table: pa.Table | None) -> pa.Table | None:
    if table is None or not all(output.is_column for output in plan.outputs):
        return _nothing(plan) if _is_nothing(table) else None
    return pa.table([table[o.expr.name] for o in plan.outputs], names=list(plan.columns))


def _filtered(plan: Filter, table: pa.Table | None) -> pa.Table | None:
    if table is None or not table.num_rows:
        return table
    kept = holds(plan.condition, table)
    return None if kept is None else table.filter(kept)


def _distinct(table: pa.Table | None) -> pa.Table | None:
    if table is None or not has_plain_equality(table.schema):
        return table if _is_nothing(table) else None
    names = table.column_names
    return table.group_by(names, use_threads=False).aggregate([]).select(names)


def _grouped(plan: Aggregate, table: pa.Table | None) -> pa.Table | None:
    if _is_nothing(table):
        return _nothing(plan) if plan.keys else None
    return None if table is None else grouped(plan, table)


def _joined(join: Join, left: pa.Table, right: pa.Table, most: int) -> pa.Table | None:
    by = column_equalities(join.on, left.column_names, right.column_names)
    if join.kind not in _JOINS or not by or len(by) != len(list(conjuncts(join.on))):
        return None
    if not right.num_rows and join.kind is JoinKind.ANTI:
        return left
    if not all(_compare_alike(one, left, right) for one in by):
        return None
    mine, theirs = [one.left.name for one in by], [one.right.name for one in by]
    if len({*mine}) < len(mine) or len({*theirs}) < len(theirs):
        return None  # Arrow takes a column for a key once
    if join.kind in (JoinKind.INNER, JoinKind.LEFT) and _pairs(left, mine, right, theirs) > most:
        return None
    kind = _JOINS[join.kind]
    found = left.join(right, mine, theirs, join_type=kind, coalesce_keys=False, use_threads=False)
    return found.select(list(join.columns))


def _compare_alike(by: Equality, left: pa.Table, right: pa.Table) -> bool:
    """Whether columns are equal here where Spark finds them equal; here NULL is equal to nothing."""
    mine, theirs = left[by.left.name], right[by.right.name]
    if mine.type != theirs.type or not has_plain_equality(pa.schema([("key", mine.type)])):
        return False
    return not (by.null_safe and mine.null_count and theirs.null_count)


def _pairs(left: pa.Table, mine: list[str], right: pa.Table, theirs: list[str]) -> int:
    """How many rows of both sides have equal keys."""
    one = left.group_by(mine, use_threads=False).aggregate([([], "count_all")])
    other = right.group_by(theirs, use_threads=False).aggregate([([], "count_all")])
    both = one.join(
        other.rename_columns([*(f"__{name}" for name in theirs), "__times"]),
        mine,
        [f"__{name}" for name in theirs],
        join_type="inner",
        use_threads=False,
    )
    return pc.sum(pc.multiply(both["count_all"], both["__times"])).as_py() or 0
