"""A plan with explicit counts as a syntax tree of Spark SQL; the text is `render`."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, columns_of, replace_columns
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Expand,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    JoinKind,
    Lateral,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import children, with_children
from viewkeeper.sql.select_parts import (
    SelectText,
    aliased,
    all_columns,
    identifier,
    join_clause,
    ordered,
    qualified,
    table,
    tidy,
)

_JOIN_WORDS = {
    JoinKind.INNER: ("", "INNER"),
    JoinKind.LEFT: ("LEFT", ""),
    JoinKind.RIGHT: ("RIGHT", ""),
    JoinKind.FULL: ("FULL", ""),
    JoinKind.SEMI: ("LEFT", "SEMI"),
    JoinKind.ANTI: ("LEFT", "ANTI"),
}


class Renderer:
    """Writes plans as Spark SQL, one SELECT for as many operators as fit into one."""

    has_semi_joins = True
    """Whether LEFT SEMI and LEFT ANTI JOIN take any condition."""

    def __init__(
        self,
        name_of: Callable[[Scan | Reference], str],
        in_place: Container[Relation],
        hashed: Container[Relation],
    ) -> None:
        self.name_of = name_of
        self.in_place = in_place
        self.hashed = hashed
        self.aliases = 0

    def query(self, rel: Relation) -> exp.Query:
        """A complete query for `rel`, with its columns in order."""
        match rel:
            case UnionAll():
                return self._set_operation(exp.Union, rel.inputs, distinct=False)
            case Difference():
                return self._set_operation(exp.Except, (rel.left, rel.right), distinct=not rel.all)
            case Intersection():
                return self._set_operation(exp.Intersect, (rel.left, rel.right), distinct=not rel.all)
            case Aggregate():
                return self._aggregate(rel)
            case Distinct():
                return self._select(self._gathered(self._block(rel.child))).distinct(copy=False)
            case TopK():
                return self._top_k(rel)
            case Values(rows=()):
                return self._empty(rel.columns)
            case Fixpoint():
                return self._fixpoint(rel)
            case _:
                return self._select(self._block(rel))

    def _block(self, rel: Relation) -> SelectText:
        """`rel` as a block that more filters, projections and joins can be written into."""
        match rel:
            case Scan():
                alias = self._alias(rel.table)
                return SelectText(
                    table(self.name_of(rel), alias),
                    {b.name: qualified(alias, b.source.name) for b in rel.bound},
                )
            case Reference():
                alias = self._alias(rel.name)
                return SelectText(
                    table(self.name_of(rel), alias),
                    {name: qualified(alias, name) for name in rel.columns},
                )
            case Filter():
                block = self._over(rel.child, columns_of(rel.condition))
                block.where.append(replace_columns(rel.condition, block.outputs))
                return block
            case Project():
                used = [name for output in rel.outputs for name in columns_of(output.expr)]
                plain_columns = all(output.is_column for output in rel.outputs)
                block = self._block(rel.child) if plain_columns else self._over(rel.child, used)
                block.outputs = {o.name: replace_columns(o.expr, block.outputs) for o in rel.outputs}
                return block
            case Join():
                return self._join(rel)
            case Lateral():
                return self._lateral(rel)
            case Window():
                return self._window(rel)
            case Expand():
                return self._expand(rel)
            case Values():
                return self._values(rel)
            case Aggregate() | Distinct() | UnionAll() | Difference() | Intersection() | TopK() | Fixpoint():
                return self._subquery(rel)
            case Negate() | Consolidate() | Affected():
                raise AssertionError(f"{type(rel).__name__} has no SQL: make its counts explicit first")
            case _:
                assert_never(rel)

    def _over(self, rel: Relation, used: Iterable[str]) -> SelectText:
        """A block in which the used columns are simple, so that no expression is written twice."""
        block = self._block(rel)
        return block if block.is_simple(used) else self._closed(block)

    def _closed(self, block: SelectText) -> SelectText:
        """The block as a subquery with plain columns."""
        alias = self._alias("t")
        names = list(block.outputs)
        source = self._select(block).subquery(identifier(alias), copy=False)
        return SelectText(source, {name: qualified(alias, name) for name in names})

    def _subquery(self, rel: Relation) -> SelectText:
        alias = self._alias("t")
        source = self.query(rel).subquery(identifier(alias), copy=False)
        return SelectText(source, {name: qualified(alias, name) for name in rel.columns})

    def _select(self, block: SelectText) -> exp.Select:
        outputs = [aliased(expr, name) for name, expr in block.outputs.items()]
        if not outputs:
            outputs = [aliased(exp.Literal.number(1), "__one")]
        select = exp.Select(expressions=outputs).from_(block.source, copy=False)
        for join in block.joins:
            select.append("joins", join)
        for lateral in block.laterals:
            select.append("laterals", lateral)
        if block.where:
            select.where(*[tidy(part) for part in block.where], copy=False)
        if block.hints:
            hints = [
                exp.Anonymous(this=h, expressions=list(map(identifier, n))) for h, n in block.hints.items()
            ]
            if block.is_scattered:
                hints.append(exp.Anonymous(this="COALESCE", expressions=[exp.Literal.number(1)]))
            select.set("hint", exp.Hint(expressions=hints))
        return select

    def _gathered(self, block: SelectText) -> SelectText:
        """The block as one of which Spark knows that it is one partition: after an inner join it forgets."""
        return self._closed(block) if block.is_scattered else block

    def _join(self, join: Join) -> SelectText:
        left = self._block(join.left)
        if join in self.in_place:
            left = self._gathered(left)
        if join.kind is not JoinKind.INNER and (left.where or left.laterals):
            left = self._closed(left)
        if join.kind in (JoinKind.RIGHT, JoinKind.FULL) and not all_columns(left):
            left = self._closed(left)
        only_asked = join.kind in (JoinKind.SEMI, JoinKind.ANTI)
        right = self._block(_with_duplicates(join.right) if only_asked else join.right)
        may_merge = right.is_single_source and (
            join.kind in (JoinKind.INNER, JoinKind.RIGHT) or all_columns(right)
        )
        if not may_merge or left.laterals:
            right = self._closed(right)
        if left.laterals:
            left = self._closed(left)
        on = tidy(replace_columns(join.on, {**left.outputs, **right.outputs}))
        side, kind = _JOIN_WORDS[join.kind]
        if only_asked and not self.has_semi_joins:
            return exists(join, left, right, on)
        left.joins.append(join_clause(right.source, side, kind, on))
        if join in self.in_place:
            hint = "SHUFFLE_HASH" if join in self.hashed else "MERGE"
            left.hints.setdefault(hint, []).append(right.source.alias)
            left.is_scattered = left.is_scattered or join.kind is JoinKind.INNER
        if not only_asked:
            left.outputs.update(right.outputs)
        return left

    def _lateral(self, rel: Lateral) -> SelectText:
        block = self._over(rel.child, columns_of(rel.generator))
        if block.where or block.joins:
            block = self._closed(block)
        generator = tidy(replace_columns(rel.generator, block.outputs))
        return self._generated(rel, block, generator, self._alias("g"))

    def _generated(self, rel: Lateral, block: SelectText, generator: Scalar, alias: str) -> SelectText:
        names = [identifier(name) for name in rel.produced]
        table_alias = exp.TableAlias(this=identifier(alias), columns=names)
        block.laterals.append(exp.Lateral(this=generator, view=True, outer=rel.outer, alias=table_alias))
        block.outputs.update({name: qualified(alias, name) for name in rel.produced})
        return block

    def _window(self, rel: Window) -> SelectText:
        used = [name for item in rel.functions for name in columns_of(item.expr)]
        block = self._gathered(self._over(rel.child, used))
        outputs = dict(block.outputs)
        for item in rel.functions:
            outputs[item.name] = replace_columns(item.expr, block.outputs)
        block.outputs = outputs
        return self._closed(block)

    def _expand(self, rel: Expand) -> SelectText:
        block, alias = self._over(rel.child, (COUNT,)), self._alias("copies")
        if block.joins or block.where or block.laterals:
            block = self._closed(block)
        self._copied(block, block.outputs[COUNT], alias)
        block.outputs = {name: expr for name, expr in block.outputs.items() if name != COUNT}
        return block

    def _copied(self, block: SelectText, count: Scalar, name: str) -> None:
        """Each row of the block as often as it counts."""
        copies = exp.func("sequence", exp.Literal.number(1), exp.cast(count.copy(), "int"), dialect="spark")
        alias = exp.TableAlias(this=identifier(name), columns=[identifier("__copy")])
        block.laterals.append(exp.Lateral(this=exp.Explode(this=copies), view=True, alias=alias))

    def _values(self, rel: Values) -> SelectText:
        if not rel.rows:
            return self._subquery(rel)
        if not rel.columns:
            return SelectText(
                exp.Select(expressions=[aliased(exp.Literal.number(1), "__one")]).subquery(self._alias("t")),
                {},
            )
        rows = [
            exp.Select(
                expressions=[aliased(value, name) for name, value in zip(rel.columns, row, strict=True)]
            )
            for row in rel.rows
        ]
        query: exp.Query = rows[0]
        for row in rows[1:]:
            query = exp.Union(this=query, expression=row, distinct=False)
        alias = self._alias("t")
        source = query.subquery(identifier(alias), copy=False)
        return SelectText(source, {name: qualified(alias, name) for name in rel.columns})

    def _empty(self, columns: tuple[str, ...]) -> exp.Select:
        outputs = [aliased(exp.null(), name) for name in columns]
        return exp.Select(expressions=outputs).where(exp.false(), copy=False)

    def _aggregate(self, rel: Aggregate) -> exp.Select:
        items = (*rel.keys, *rel.aggregates)
        used = [name for item in items for name in columns_of(item.expr)]
        block = self._gathered(self._over(rel.child, used))
        keys = [replace_columns(key.expr, block.outputs) for key in rel.keys]
        block.outputs = {item.name: replace_columns(item.expr, block.outputs) for item in items}
        select = self._select(block)
        for position, key in enumerate(keys, start=1):
            by = tidy(key) if isinstance(key, exp.Column) else exp.Literal.number(position)
            select.group_by(by, copy=False)
        return select

    def _top_k(self, rel: TopK) -> exp.Query:
        """Ties are ordered by all columns, but constants: a number would be the place of a column."""
        block = self._block(rel.child)
        if not block.is_simple(rel.columns):
            block = self._closed(block)
        given = [tidy(replace_columns(item, block.outputs)) for item in rel.order]
        told = {item.this.sql() for item in given}
        ties = [ordered(expr) for expr in block.outputs.values() if tidy(expr).sql() not in told]
        order = [item for item in (*given, *ties) if not isinstance(item.this, exp.Literal)]
        select = self._select(block).limit(rel.limit, copy=False)
        if order:
            select.order_by(*order, copy=False)
        return select.offset(rel.offset, copy=False) if rel.offset else select

    def _set_operation(
        self, operation: type[exp.SetOperation], inputs: tuple[Relation, ...], distinct: bool
    ) -> exp.Query:
        queries = [self._operand(rel) for rel in inputs]
        result = queries[0]
        for query in queries[1:]:
            result = operation(this=result, expression=query, distinct=distinct)
        return result

    def _operand(self, rel: Relation) -> exp.Query:
        query = self.query(rel)
        clauses = ("limit", "order", "offset", "with_")
        if isinstance(query, exp.Select) and not any(query.args.get(clause) for clause in clauses):
            return query
        alias = self._alias("t")
        outputs: list[exp.Expr] = [qualified(alias, name) for name in rel.columns]
        outputs = outputs or [aliased(exp.Literal.number(1), "__one")]
        return exp.Select(expressions=outputs).from_(query.subquery(identifier(alias)), copy=False)

    def _fixpoint(self, rel: Fixpoint) -> exp.Query:
        """WITH RECURSIVE; each definition in turn, the engine itself decides what it can run."""
        tables = []
        for definition in rel.definitions:
            body = self._recursive_body(definition.body, rel.distinct)
            names = [identifier(name) for name in definition.columns]
            alias = exp.TableAlias(this=identifier(definition.name), columns=names)
            tables.append(exp.CTE(this=body, alias=alias))
        outputs = [exp.Column(this=identifier(name)) for name in rel.columns]
        query = exp.Select(expressions=outputs).from_(identifier(rel.result).name, copy=False)
        query.set("with_", exp.With(expressions=tables, recursive=True))
        return query

    def _recursive_body(self, body: Relation, distinct: bool) -> exp.Query:
        if isinstance(body, UnionAll):
            return self._set_operation(exp.Union, body.inputs, distinct=distinct)
        return self.query(body)

    def _alias(self, wish: str) -> str:
        self.aliases += 1
        stem = re.sub(r"\W", "_", wish).strip("_") or "t"
        return f"{stem}_{self.aliases}"


def exists(join: Join, left: SelectText, right: SelectText, on: Scalar) -> SelectText:
    """A semi or anti join as a condition, which takes any other."""
    inner = exp.Select(expressions=[exp.Literal.number(1)]).from_(right.source, copy=False)
    test: Scalar = exp.Exists(this=inner.where(on, copy=False))
    left.where.append(test if join.kind is JoinKind.SEMI else exp.Not(this=test))
    return left


def _with_duplicates(rel: Relation) -> Relation:
    """The same rows, some more often: a semi-join only asks whether a row is there."""
    match rel:
        case Distinct():
            return _with_duplicates(rel.child)
        case Filter() | Project() | UnionAll():
            return with_children(rel, tuple(_with_duplicates(child) for child in children(rel)))
        case _:
            return rel
