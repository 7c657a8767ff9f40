"""Pass 1, the traversal: each operator's IDs from those of its inputs, missing ones added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjuncts,
    literal,
    map_named,
    rename_columns,
    same,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.algebra.walk import nodes
from viewkeeper.delta.numbers import is_addable
from viewkeeper.maintenance.id_diffs.exactness import exact_type, is_exact
from viewkeeper.maintenance.id_diffs.ids import Component, Subview, columns_compared, same_type
from viewkeeper.maintenance.id_diffs.normalize import Fresh, Measures, measures, normalized
from viewkeeper.maintenance.refused import Refused
from viewkeeper.report import Reason

ID_PREFIX = "__id_"


def infer_ids(plan: Relation, schemas: Mapping[str, TableSchema]) -> Subview | Reason:
    """The plan of a view, extended so that every subview holds its IDs."""
    plan = normalized(plan)
    try:
        return _Inference(plan, schemas).view()
    except Refused as refused:
        return refused.reason


@dataclass(frozen=True)
class _Extended:
    """A subview, and the columns of the plan that are now called otherwise in it."""

    view: Subview
    names: Mapping[str, str]

    def of(self, expr: Scalar) -> Scalar:
        return rename_columns(expr, self.names) if self.names else expr

    def named(self, items: Iterable[Named]) -> tuple[Named, ...]:
        return map_named(items, self.of)


class _Inference:
    def __init__(self, plan: Relation, schemas: Mapping[str, TableSchema]) -> None:
        self.plan, self.schemas = plan, schemas
        self.fresh = Fresh(name for node in nodes(plan) for name in node.columns)
        self.numbers = 0
        self._absent: dict[str, Scalar] = {}

    def view(self) -> Subview:
        top = self.extend(self.plan, top=True)
        missing = [name for name in self.plan.columns if name in top.names]
        if not missing:
            return top.view
        return self._project(Project(self.plan, same(self.plan.columns)), top, top=True).view

    def extend(self, rel: Relation, top: bool = False) -> _Extended:
        """`top`: only projections stand above, so that the view can hold an aggregate's state."""
        match rel:
            case Scan():
                return self._scan(rel)
            case Filter():
                return self._filter(rel)
            case Project():
                return self._project(rel, self.extend(rel.child, top), top)
            case Join(kind=JoinKind.INNER):
                return self._join(rel)
            case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
                return self._semijoin(rel)
            case UnionAll():
                return self._union(rel)
            case Aggregate():
                return self._aggregate(rel, top)
            case Join():
                raise Refused("outer-join", f"A {rel.kind.value} outer join has no ID-based rules.")
            case _:
                what = type(rel).__name__
                raise Refused("operator", f"The operator {what} has no ID-based rules.")

    def _name(self) -> str:
        self.numbers += 1
        return f"n{self.numbers}"

    def _scan(self, scan: Scan) -> _Extended:
        schema = self.schemas.get(scan.table)
        if schema is None or not schema.key:
            raise Refused("no-key", f"The table {scan.table} has no primary key to tell its rows apart.")
        bound = {b.source.name.lower(): b for b in scan.bound}
        for name in schema.key:
            if name.lower() not in bound:
                bound[name.lower()] = Bound(self.fresh(ID_PREFIX + name), schema.column(name))
        plan = Scan(scan.table, tuple(bound.values()), scan.at, scan.counted)
        ids = tuple(bound[name.lower()].name for name in schema.key)
        rest = tuple(name for name in plan.columns if name not in ids)
        types = {b.name: b.source.type.lower() for b in plan.bound}
        return _Extended(Subview(self._name(), plan, ids, (Component(ids, rest),), types=types), {})

    def _filter(self, rel: Filter) -> _Extended:
        below = self.extend(rel.child)
        view = below.view
        plan = Filter(view.plan, below.of(rel.condition))
        new = Subview(self._name(), plan, view.ids, view.components, (view,), types=view.types)
        return _Extended(new, below.names)

    def _project(self, rel: Project, below: _Extended, top: bool) -> _Extended:
        view = below.view
        outputs = list(below.named(rel.outputs))
        ids = tuple(self._carried(name, outputs) for name in view.ids)
        if top and _holds_aggregate(view):
            for name in view.attributes:
                self._carried(name, outputs)
        plan = Project(view.plan, tuple(outputs))
        types = {o.name: exact_type(o.expr, view.types) for o in outputs}
        components = _projected_components(view, outputs, ids)
        return _Extended(Subview(self._name(), plan, ids, components, (view,), types=types), {})

    def _carried(self, name: str, outputs: list[Named]) -> str:
        """The output that passes `name` on; a hidden one is added when there is none."""
        for output in outputs:
            if output.is_column and output.expr.name == name:
                return output.name
        taken = {output.name.lower() for output in outputs}
        hidden = name if name.startswith("__") and name.lower() not in taken else self.fresh(ID_PREFIX + name)
        outputs.append(Named(hidden, column(name)))
        return hidden

    def _join(self, rel: Join) -> _Extended:
        left, right = self.extend(rel.left), self.extend(rel.right)
        names = {**left.names, **right.names}
        on = rename_columns(rel.on, names)
        merged = _equal_ids(on, left.view, right.view)
        plan = Join(left.view.plan, right.view.plan, JoinKind.INNER, on)
        ids = (*left.view.ids, *(name for name in right.view.ids if name not in merged))
        components = (*left.view.components, *_renamed_components(right.view, merged))
        types = {**left.view.types, **right.view.types}
        view = Subview(self._name(), plan, ids, components, (left.view, right.view), merged, types)
        names = {old: merged.get(new, new) for old, new in names.items()}
        return _Extended(view, {**merged, **names})

    def _semijoin(self, rel: Join) -> _Extended:
        left, right = self.extend(rel.left), self.extend(rel.right)
        on = rename_columns(rel.on, {**left.names, **right.names})
        plan = Join(left.view.plan, right.view.plan, rel.kind, on)
        below = (left.view, right.view)
        view = Subview(self._name(), plan, left.view.ids, left.view.components, below, types=left.view.types)
        return _Extended(view, left.names)

    def _union(self, rel: UnionAll) -> _Extended:
        branches = [self.extend(child) for child in rel.inputs]
        places = [[b.names.get(n, n) for n in child.columns] for b, child in zip(branches, rel.inputs)]
        shared = [
            position
            for position, _ in enumerate(rel.columns)
            if all(place[position] in b.view.ids for place, b in zip(places, branches))
        ]
        hidden = [
            {
                name: self.fresh(ID_PREFIX + name.removeprefix(ID_PREFIX))
                for name in b.view.ids
                if name not in {place[position] for position in shared}
            }
            for place, b in zip(places, branches)
        ]
        mark = self.fresh("__branch")
        for own, branch in zip(hidden, branches):
            self._absent.update({new: _null_of(branch.view.types.get(old, "")) for old, new in own.items()})
        views = [
            self._branch(number, branch, place, rel.columns, hidden, mark, [rel.columns[p] for p in shared])
            for number, (branch, place) in enumerate(zip(branches, places))
        ]
        ids = (*(rel.columns[p] for p in shared), *(new for own in hidden for new in own.values()), mark)
        plan = UnionAll(tuple(view.plan for view in views))
        rest = tuple(name for name in plan.columns if name not in ids)
        types = {n: t for n, t in views[0].types.items() if all(v.types.get(n) == t for v in views)}
        return _Extended(
            Subview(self._name(), plan, ids, (Component(ids, rest),), tuple(views), types=types), {}
        )

    def _branch(
        self,
        number: int,
        branch: _Extended,
        place: list[str],
        columns: tuple[str, ...],
        hidden: list[dict[str, str]],
        mark: str,
        shared: list[str],
    ) -> Subview:
        """An input of a union beside the IDs of all branches: the others' are NULL in its rows."""
        view = branch.view
        outputs = [Named(new, column(old)) for new, old in zip(columns, place)]
        absent = self._absent
        for other, own in enumerate(hidden):
            for old, new in own.items():
                outputs.append(Named(new, column(old) if other == number else absent[new]))
        outputs.append(Named(mark, literal(number)))
        of_position = {old: new for new, old in zip(columns, place) if new in shared}
        ids = tuple(hidden[number].get(name) or of_position[name] for name in view.ids)
        types = {o.name: exact_type(o.expr, view.types) for o in outputs}
        plan = Project(view.plan, tuple(outputs))
        components = _projected_components(view, outputs, ids)
        return Subview(self._name(), plan, ids, components, (view,), types=types)

    def _aggregate(self, rel: Aggregate, top: bool) -> _Extended:
        below = self.extend(rel.child)
        keys, calls = below.named(rel.keys), below.named(rel.aggregates)
        found = measures(calls, self.fresh)
        if found is not None and not all(_can_be_added(item, below.view) for item in found.stored):
            found = None
        stored = found.stored if found else calls
        source = self._needed(below.view, keys, stored)
        plan = Aggregate(source.plan, keys, stored)
        ids = plan.key_names
        types = {k.name: exact_type(k.expr, source.types) for k in keys} | _measure_types(stored)
        rest = tuple(item.name for item in stored)
        view = Subview(self._name(), plan, ids, (Component(ids, rest),), (source,), types=types)
        return self._shown(rel, view, found, top)

    def _needed(self, view: Subview, keys: tuple[Named, ...], calls: tuple[Named, ...]) -> Subview:
        """Only the IDs and what the aggregate looks at: all that a cache of its input must hold."""
        used = {name for item in (*keys, *calls) for name in columns_of(item.expr)} | set(view.ids)
        names = [name for name in view.columns if name in used]
        if len(names) == len(view.columns):
            return view
        return self._project(Project(view.plan, same(names)), _Extended(view, {}), top=False).view

    def _shown(self, rel: Aggregate, view: Subview, found: Measures | None, top: bool) -> _Extended:
        if found is None or all(item.is_column and item.expr.name == item.name for item in found.shown):
            return _Extended(view, {})
        above = Project(view.plan, (*same(view.ids), *found.shown))
        return self._project(above, _Extended(view, {}), top)


def _null_of(kind: str) -> Scalar:
    return exp.null() if kind in ("", "exact") else exp.cast(exp.null(), kind, dialect="spark")


def _holds_aggregate(view: Subview) -> bool:
    while isinstance(view.plan, Project):
        view = view.inputs[0]
    return isinstance(view.plan, Aggregate)


def _can_be_added(item: Named, view: Subview) -> bool:
    """Sums of floating-point numbers are recomputed: taking a NaN back does not give the rest. So are those
    of numbers so long that adding two sums would lose a digit."""
    if not isinstance(item.expr, exp.Sum):
        return True
    return is_exact(item.expr.this, view.types) and is_addable(item.expr.this)


def _measure_types(stored: tuple[Named, ...]) -> dict[str, str]:
    return {
        item.name: "bigint" if isinstance(item.expr, exp.Count) else "exact"
        for item in stored
        if isinstance(item.expr, (exp.Count, exp.Sum))
    }


def _equal_ids(on: Scalar, left: Subview, right: Subview) -> dict[str, str]:
    """IDs of the right side that the condition equates with an ID of the left side of the same type."""
    merged: dict[str, str] = {}
    for part in conjuncts(on):
        pair = columns_compared(part)
        if pair is None:
            continue
        mine, theirs = pair
        if theirs in left.ids:
            mine, theirs = theirs, mine
        is_free = theirs not in merged and mine not in merged.values()
        if mine in left.ids and theirs in right.ids and is_free and same_type(left, mine, right, theirs):
            merged[theirs] = mine
    return merged


def _renamed_components(view: Subview, names: Mapping[str, str]) -> tuple[Component, ...]:
    return tuple(
        Component(tuple(names.get(name, name) for name in part.ids), part.attributes)
        for part in view.components
    )


def _projected_components(view: Subview, outputs: list[Named], ids: tuple[str, ...]) -> tuple[Component, ...]:
    """An attribute depends on the components that its expression looks at."""
    new_name = dict(zip(view.ids, ids, strict=True))
    owner = {name: part.ids for part in view.components for name in part.attributes}
    found: dict[tuple[str, ...], list[str]] = {part.ids: [] for part in view.components}
    for output in outputs:
        if output.name not in ids:
            used = columns_of(output.expr)
            whole = {i for name in used for i in owner.get(name, (name,))}
            home = next((part for part in found if whole <= set(part)), None)
            key = home if home is not None else tuple(i for i in view.ids if i in whole)
            found.setdefault(key, []).append(output.name)
    return tuple(
        Component(tuple(new_name.get(i, i) for i in key), tuple(names)) for key, names in found.items()
    )
