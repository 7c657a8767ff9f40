"""A view as a program of strata: gupta93 section 3 applied to SQL.

Every recursion, aggregate and duplicate elimination whose state can be kept becomes a stratum of its
own, stored and maintained; what stands above reads it as a table. So do groups and partitions that are
computed anew (`delta/stored_answer.py`), and counts of values where the view asks for them
(`delta/value_counts.py`). The view itself is the last:

    SELECT s, MAX(total) FROM (SELECT s, d, SUM(p) AS total FROM sales GROUP BY s, d) GROUP BY s
      → __v_1 = state of SUM by (s, d) over sales
        v     = state of MAX by (s) over __v_1

A view that is an aggregate is stored as its state: hidden columns that changes merge into, and its
visible columns derived from them. Any other view is a bag of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from viewkeeper.algebra.build import bound_columns, fresh, projected
from viewkeeper.algebra.canonical import canonical
from viewkeeper.algebra.expressions import Named, Scalar, column, literal, replace_columns, same
from viewkeeper.algebra.merge.layers import parsed_expression
from viewkeeper.algebra.merge.spec import MergeSpec, Operator
from viewkeeper.algebra.prune import pruned
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Fixpoint,
    Join,
    Project,
    Relation,
    Scan,
    TopK,
)
from viewkeeper.algebra.walk import children, with_children
from viewkeeper.delta.aggregate_state import ROWS_NAME, AggregateState, aggregate_state
from viewkeeper.delta.parts import PartKind, when
from viewkeeper.delta.stored_answer import inside_core, is_computed_anew, stored_answer
from viewkeeper.delta.summary_delta import full_state
from viewkeeper.delta.value_counts import BAG, with_value_counts
from viewkeeper.maintenance.recursion.stored_strata import (
    fixpoint_shown,
    is_storable,
    recursive_strata,
)
from viewkeeper.maintenance.strategy import Stratum
from viewkeeper.maintenance.top_k import buffer_of
from viewkeeper.rewrite.needed_groups import with_needed_groups
from viewkeeper.rewrite.stored_keys import keys_worth_storing, met_by_keys
from viewkeeper.sql.render import render_expression

_OPERATORS = {PartKind.MIN: Operator.MIN, PartKind.MAX: Operator.MAX}


@dataclass
class _Strata:
    """The strata found so far, inputs first."""

    view: str
    found: list[Stratum] = field(default_factory=list)

    def stored(self, rel: Relation) -> Relation:
        """`rel` with every aggregate and recursion inside it, itself included, read as a stratum."""
        inner = self.inside(rel)
        if isinstance(inner, Fixpoint):
            return self._recursion(inner)
        if isinstance(inner, TopK):
            return self._first_rows(inner)
        if isinstance(inner, Join):
            keys = keys_worth_storing(inner, frozenset(stratum.name for stratum in self.found))
            return inner if keys is None else met_by_keys(inner, self._aggregate(keys))
        return self._aggregate(inner)

    def _aggregate(self, inner: Relation) -> Relation:
        """An aggregate whose state can be kept as its stratum; anything else as it is."""
        aggregate = _as_aggregate(inner)
        state = aggregate_state(aggregate) if aggregate is not None else None
        if state is None:
            return self._answer(inner) if is_computed_anew(inner) else inner
        known = self._known(state.aggregate)
        if known is not None:
            return known
        name = f"__{self.view}_{len(self.found) + 1}"
        visible = _derived(state, same(state.aggregate.columns))
        self.found.append(Stratum(name, state.aggregate.child, state, merge_spec(state, visible)))
        return Scan(name, bound_columns(state.aggregate.columns))

    def _answer(self, inner: Relation) -> Scan:
        """Groups or partitions that are computed anew, as rows: what stands above reads stored ones."""
        name = f"__{self.view}_{len(self.found) + 1}"
        self.found.append(Stratum(name, inner))
        return Scan(name, bound_columns(inner.columns))

    def _known(self, aggregate: Aggregate) -> Scan | None:
        """The stratum that stores the same aggregate already, whatever its text calls the columns."""
        wanted = canonical(aggregate)
        for stratum in self.found:
            stored = canonical(stratum.state.aggregate) if stratum.state is not None else None
            if stratum.state is not None and stored is not None and stored.plan == wanted.plan:
                sources = dict(zip(stored.columns, stratum.state.aggregate.columns, strict=True))
                own = zip(aggregate.columns, wanted.columns, strict=True)
                meant = {mine: sources[name] for mine, name in own}
                return Scan(stratum.name, bound_columns(aggregate.columns, meant))
        return None

    def _first_rows(self, top: TopK) -> Relation:
        """A TopK over its buffer; one that shows very many rows keeps none."""
        buffer = buffer_of(top)
        if buffer is None:
            return top
        name = f"__{self.view}_{len(self.found) + 1}"
        self.found.append(Stratum(name, top.child, buffer=buffer))
        return replace(top, child=Scan(name, bound_columns(top.columns)))

    def inside(self, rel: Relation) -> Relation:
        if isinstance(rel, Fixpoint):
            return with_children(rel, tuple(self._recursions(body) for body in children(rel)))
        return with_children(rel, tuple(self.stored(child) for child in children(rel)))

    def _recursions(self, rel: Relation) -> Relation:
        """`rel`, which is inside a recursion, with the recursions below it read as strata."""
        if isinstance(rel, Fixpoint):
            return self.stored(rel)
        return with_children(rel, tuple(self._recursions(child) for child in children(rel)))

    def _recursion(self, fixpoint: Fixpoint) -> Relation:
        """The scan of a recursion's stratum; one recursion is stored once, wherever it is read."""
        if not is_storable(fixpoint):
            return fixpoint
        known = (s for s in self.found if s.fixpoint and s.fixpoint.definitions == fixpoint.definitions)
        relations = next((dict(stratum.relations) for stratum in known), None)
        if relations is None:
            first = len(self.found) + 1
            relations = {d.name: f"__{self.view}_{first + n}" for n, d in enumerate(fixpoint.definitions)}
            self.found += recursive_strata(fixpoint, relations)
        return Scan(relations[fixpoint.result], bound_columns(fixpoint.columns))


def program(view: str, rel: Relation, by_value: bool = False) -> tuple[Stratum, ...]:
    """The strata of a view, in the order in which they are maintained; `by_value`: functions of bags of
    values stand over stored counts of these."""
    rel = with_needed_groups(rel)
    rel = with_value_counts(rel) if by_value else rel
    strata = _Strata(view)
    outputs, aggregate = _top(rel)
    if aggregate is not None:
        inner = strata.inside(aggregate)
        assert isinstance(inner, (Aggregate, Distinct))
        named = _named_by_view(_as_aggregate(inner), outputs)
        state = aggregate_state(named[1])
        if state is not None:
            spec = merge_spec(state, _derived(state, named[0]))
            return (*strata.found, Stratum(view, state.aggregate.child, state, spec))
    strata = _Strata(view)
    return (*_with_bag(strata, rel),)


def counts_values(stratum: Stratum) -> bool:
    """Whether a stratum stores how often values occur."""
    return stratum.state is not None and any(key.startswith(BAG) for key in stratum.state.keys)


def without_unused(rel: Relation) -> Relation:
    """The plan without columns that nothing uses: they would be stored, and may not even have a value.

    Two parts that are one stratum stay one, though each of them uses other columns of it.
    """
    lean = pruned(rel)
    return lean if lean == rel or len(program("", lean)) <= len(program("", rel)) else rel


def _with_bag(strata: _Strata, rel: Relation) -> list[Stratum]:
    shown = fixpoint_shown(rel)
    if shown is not None:
        inner = strata.inside(shown)
        if isinstance(inner, Fixpoint) and is_storable(inner):
            return [*strata.found, *_as_view(strata, inner)]
    if stored_answer(rel) is not None:
        query = inside_core(rel, strata.inside)
    else:
        query = strata.stored(rel) if not _is_aggregate(rel) else strata.inside(rel)
    return [*strata.found, Stratum(strata.view, query)]


def _as_view(strata: _Strata, fixpoint: Fixpoint) -> tuple[Stratum, ...]:
    """A view that is a recursion; the other definitions are state."""
    others = [d.name for d in fixpoint.definitions if d.name != fixpoint.result]
    first = len(strata.found) + 1
    names = {name: f"__{strata.view}_{first + number}" for number, name in enumerate(others)}
    return recursive_strata(fixpoint, {**names, fixpoint.result: strata.view})


def _top(rel: Relation) -> tuple[tuple[Named, ...], Relation | None]:
    """The visible columns of a view over the aggregate that it is, if it is one."""
    if _is_aggregate(rel):
        return same(rel.columns), rel
    if isinstance(rel, Project) and _is_aggregate(rel.child):
        return rel.outputs, rel.child
    return (), None


def _is_aggregate(rel: Relation) -> bool:
    return isinstance(rel, (Aggregate, Distinct))


def _as_aggregate(rel: Relation) -> Aggregate | None:
    """Duplicate elimination is grouping by all columns; its state is the number of derivations."""
    if isinstance(rel, Distinct):
        return Aggregate(rel.child, same(rel.columns), ()) if rel.columns else None
    return rel if isinstance(rel, Aggregate) else None


def _named_by_view(
    aggregate: Aggregate | None, outputs: tuple[Named, ...]
) -> tuple[tuple[Named, ...], Aggregate]:
    """Group-by columns under the names that the view gives them, hidden where it shows them not."""
    assert aggregate is not None
    shown = {o.expr.name: o.name for o in reversed(outputs) if o.is_column}
    taken = [output.name for output in outputs]
    names: dict[str, str] = {}
    for key in aggregate.keys:
        names[key.name] = shown.get(key.name) or fresh(f"__key_{key.name}", (*taken, *names.values()))
    keys = tuple(Named(names[key.name], key.expr) for key in aggregate.keys)
    calls = {item.name: f"__value_{number}" for number, item in enumerate(aggregate.aggregates)}
    values = tuple(Named(calls[item.name], item.expr) for item in aggregate.aggregates)
    meaning = {old: column(new) for old, new in {**names, **calls}.items()}
    renamed_outputs = tuple(Named(o.name, replace_columns(o.expr, meaning)) for o in outputs)
    return renamed_outputs, replace(aggregate, keys=keys, aggregates=values)


def _derived(state: AggregateState, outputs: tuple[Named, ...]) -> tuple[Named, ...]:
    """The visible columns over the stored ones; group-by columns are stored themselves."""
    values = {output.name: output.expr for output in state.outputs}
    return tuple(
        Named(o.name, replace_columns(o.expr, values).unnest()) for o in outputs if o.name not in state.keys
    )


def merge_spec(state: AggregateState, visible: tuple[Named, ...]) -> MergeSpec:
    """How layers merge into the state: counts and sums add, extremes compete."""
    operators, holders = [], []
    for part, name in state.names:
        operators.append((name, _OPERATORS.get(part.kind, Operator.ADD)))
        if part.is_extreme:
            operators.append((state.at(part), Operator.HOLDERS))
            holders.append((state.at(part), name))
    derived = [(output.name, render_expression(output.expr)) for output in (*_nulls(state), *visible)]
    alive = ROWS_NAME if state.keys else None
    limits = tuple((name, part.limit) for part, name in state.names if part.limit)
    return MergeSpec(state.keys, tuple(operators), alive, tuple(derived), tuple(holders), limits=limits)


def _nulls(state: AggregateState) -> tuple[Named, ...]:
    """A sum of no values is NULL, also when there were some once."""
    return tuple(
        Named(name, when(_positive(state.counter(part)), column(name)))
        for part, name in state.names
        if part.kind is PartKind.SUM
    )


def _positive(name: str) -> Scalar:
    return exp.GT(this=column(name), expression=literal(0))


def stored_query(stratum: Stratum, source: Relation) -> Relation:
    """All stored columns of an aggregate's stratum, computed from all rows of its input."""
    assert stratum.state is not None
    return with_visible(stratum, full_state(stratum.state, source))


def with_visible(stratum: Stratum, rows: Relation) -> Relation:
    """The whole state of an aggregate's stratum with the visible columns that follow from it."""
    assert stratum.state is not None
    assert stratum.merge is not None
    hidden = stratum.state.columns
    shown = [
        Named(name, parsed_expression(text)) for name, text in stratum.merge.derived if name not in hidden
    ]
    return projected(rows, (*same(hidden), *shown))
