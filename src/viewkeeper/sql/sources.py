"""FROM: tables, derived tables, joins of every form, lateral subqueries and generators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    function,
    is_true,
    same,
)
from viewkeeper.algebra.relations import Join, JoinKind, Lateral, Values
from viewkeeper.errors import InvalidSQL, UnknownColumn
from viewkeeper.sql.block import Block, OuterValues, enter, join_condition, where
from viewkeeper.sql.context import Context, Translated, fields_of
from viewkeeper.sql.generators import generate, is_generator, table_function
from viewkeeper.sql.known_relations import did_you_mean
from viewkeeper.sql.scope import Field, Scope, Untranslatable

ONE_ROW = Values((), ((),))
_SIDES = {"LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}


def from_clause(context: Context, select: exp.Select, domain: OuterValues | None) -> Block:
    """The plan of FROM and its joins, before WHERE."""
    block = enter(context, domain) or Block(context, ONE_ROW, Scope(parent=context.parent))
    source = select.args.get("from_")
    joins = select.args.get("joins") or []
    if source is None:
        return block
    if domain is not None and any(join.side in ("RIGHT", "FULL") for join in joins):
        _cross(block, _apart(block, source.this, joins))
    else:
        _add(block, source.this, joins)
    for lateral in select.args.get("laterals") or []:
        lateral_view(block, lateral)
    return block


def _add(block: Block, first: exp.Expr, joins: Sequence[exp.Join]) -> None:
    _cross(block, source_block(block, first))
    for join in joins:
        add_join(block, join)


def _apart(block: Block, first: exp.Expr, joins: Sequence[exp.Join]) -> Block:
    """A group of joins as a block of its own, which does not see the tables beside it."""
    inner = Block(block.context, ONE_ROW, _hollow(block))
    _add(inner, first, joins)
    return inner


def _hollow(block: Block) -> Scope:
    """The scope of a FROM item: what encloses the block, but nothing of the block's own tables."""
    return replace(block.scope, fields=[], aliases={}, free_allowed=False)


def _cross(block: Block, other: Block) -> None:
    if block.rel == ONE_ROW:
        block.rel = other.rel
    elif other.rel != ONE_ROW:
        block.join(other.rel, JoinKind.INNER, conjunction(other.ties))
    block.scope.fields.extend(other.scope.fields)


def source_block(block: Block, node: exp.Expr) -> Block:
    """One FROM item with its fields."""
    nested = node.args.get("joins")
    if nested:
        bare = node.copy()
        bare.set("joins", None)
        return _apart(block, bare, nested)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
        inner = _apart(block, node.this, [])
        return _realiased(inner, node) if node.alias else inner
    if isinstance(node, exp.Lateral):
        raise Untranslatable("LATERAL at the beginning of FROM")
    answer = source(block, node)
    fields = fields_of(answer, *_alias(node, answer))
    return Block(block.context, answer.rel, Scope(fields), ties=_ties(block, answer))


def _realiased(inner: Block, node: exp.Expr) -> Block:
    fields = [Field(node.alias, f.name, f.column) for f in inner.scope.star()]
    return Block(inner.context, inner.rel, Scope(fields))


def _alias(node: exp.Expr, answer: Translated) -> tuple[str | None, tuple[str, ...]]:
    columns = tuple(node.alias_column_names)
    if columns and len(columns) != len(answer.names):
        raise InvalidSQL(
            f"{node.alias or 'A derived table'} has {len(answer.names)} columns,"
            f" but its alias lists {len(columns)}.",
            columns=columns,
        )
    return node.alias_or_name or None, columns


def source(block: Block, node: exp.Expr) -> Translated:
    """The rows of a FROM item."""
    _refuse(node)
    match node:
        case exp.Table(this=exp.Func()):
            return table_function(block.context, node.this)
        case exp.Table():
            return _table(block.context, node)
        case exp.Values():
            from viewkeeper.sql.query import values

            return values(block.context, node)
        case exp.Subquery():
            return _derived(block, node)
        case _:
            raise Untranslatable(f"{node.key.upper()} in FROM")


def _refuse(node: exp.Expr) -> None:
    for clause in ("pivots", "when", "version", "changes", "match_recognize"):
        if node.args.get(clause):
            raise Untranslatable(f"{clause.rstrip('s').upper()} in FROM")


def _table(context: Context, node: exp.Table) -> Translated:
    name = ".".join(part.name for part in node.parts)
    cte = context.ctes.get(name.lower())
    return cte(context) if cte else context.scan(name)


def _derived(block: Block, node: exp.Subquery) -> Translated:
    """A derived table; one that uses columns of an enclosing query is tied to the block's domain."""
    from viewkeeper.sql.subqueries import correlated

    if block.scope.parent is None:
        from viewkeeper.sql.query import translate

        return translate(block.context.inside(None), node.this)
    prefix = replace(block, scope=_hollow(block))
    return correlated(prefix, node.this)


def _ties(block: Block, answer: Translated) -> tuple[Scalar, ...]:
    """How a correlated derived table is tied to the domain of its block."""
    if not answer.links:
        return ()
    on = join_condition(answer)
    if answer.late is not None or not columns_of(on) <= {*block.rel.columns, *answer.rel.columns}:
        raise Untranslatable("a correlated derived table")
    return (on,)


def add_join(block: Block, join: exp.Join) -> None:
    """One JOIN clause, with ON, USING or NATURAL, over the block so far."""
    if isinstance(join.this, exp.Lateral):
        return _join_lateral(block, join)
    kind = _kind(join)
    right = source_block(block, join.this)
    left_fields, right_fields = list(block.scope.fields), list(right.scope.fields)
    names = _common_names(join, left_fields, right_fields)
    if names is not None:
        return _join_using(block, right, kind, names)
    condition = join.args.get("on")
    if condition is not None and kind is JoinKind.INNER:
        block.join(right.rel, kind, conjunction(right.ties))
        block.scope.fields.extend(right_fields)
        _inner_condition(block, condition)
        return None
    block.scope.fields.extend(right_fields)
    block.join(right.rel, kind, conjunction([*right.ties, *_condition(block, condition)]))
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        block.scope.fields[:] = left_fields
    return None


def _kind(join: exp.Join) -> JoinKind:
    if join.kind in ("SEMI", "ANTI"):
        return JoinKind[join.kind]
    return _SIDES.get(join.side, JoinKind.INNER)


def _inner_condition(block: Block, condition: exp.Expr) -> None:
    """ON of an inner join is a condition on the joined rows: WHERE's rules apply, subqueries too."""
    before = block.rel
    assert isinstance(before, Join)
    if condition.find(exp.Query) is None:
        on = conjunction([*conjuncts(before.on), block.resolve(condition)])
        block.rel = Join(before.left, before.right, JoinKind.INNER, on)
    else:
        where(block, condition)


def _condition(block: Block, condition: exp.Expr | None) -> list[Scalar]:
    if condition is None:
        return []
    if condition.find(exp.Query) is not None:
        raise Untranslatable("a subquery in the condition of an outer join")
    return [block.resolve(condition)]


def _common_names(join: exp.Join, left: list[Field], right: list[Field]) -> list[str] | None:
    """The columns of USING, or those a NATURAL join finds; None for other joins."""
    if join.args.get("using"):
        return [identifier.name for identifier in join.args["using"]]
    if join.method == "NATURAL":
        theirs = {f.name.lower() for f in right if f.visible}
        return [f.name for f in left if f.visible and f.name.lower() in theirs]
    return None


def _join_using(block: Block, right: Block, kind: JoinKind, names: list[str]) -> None:
    left = Scope(block.scope.fields)
    mine = [_field(left, name) for name in names]
    theirs = [_field(right.scope, name) for name in names]
    pairs = zip(mine, theirs, strict=True)
    on = [exp.EQ(this=column(one.column), expression=column(other.column)) for one, other in pairs]
    block.join(right.rel, kind, conjunction([*right.ties, *on]))
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        block.scope.fields[:] = _in_order(mine, [], block.scope.fields)
        return
    merged = [_merged(block, kind, one, other) for one, other in zip(mine, theirs, strict=True)]
    hidden = [field for field in (*mine, *theirs) if field not in merged]
    block.scope.fields[:] = _in_order(merged, hidden, [*block.scope.fields, *right.scope.fields])


def _in_order(keys: list[Field], hidden: list[Field], fields: list[Field]) -> list[Field]:
    """The fields as a star shows them: the columns of USING, then the others.

    Columns that only their table's name reaches come before all, where Spark's `t.*` finds them first.
    """
    rest = [field for field in fields if field not in keys and field not in hidden]
    shown = [field for field in rest if field.visible]
    reached = [*(replace(field, visible=False) for field in hidden), *(f for f in rest if not f.visible)]
    return [*reached, *keys, *shown]


def _field(scope: Scope, name: str) -> Field:
    found = [f for f in scope.star() if f.name.lower() == name.lower()]
    if not found:
        known = [f.name for f in scope.star()]
        raise UnknownColumn(
            f"USING names the column {name}, which one side does not have.",
            hint=did_you_mean(name, known),
            columns=(name,),
        )
    scope.lookup((name,))
    return found[0]


def _merged(block: Block, kind: JoinKind, left: Field, right: Field) -> Field:
    """The one column that USING makes of two: the side that has no missing rows, or the first non-NULL."""
    if kind is JoinKind.FULL:
        both = function("coalesce", column(left.column), column(right.column))
        return Field(None, left.name, block.add_column(left.name, both))
    return right if kind is JoinKind.RIGHT else left


def _join_lateral(block: Block, join: exp.Join) -> None:
    node = join.this
    outer = join.side == "LEFT"
    condition = join.args.get("on")
    if is_generator(node.this):
        lateral_view(block, node, outer)
        if condition is not None and not is_true(condition):
            _generator_condition(block, condition, outer)
        return
    _lateral_subquery(block, node, condition, outer)


def _generator_condition(block: Block, condition: exp.Expr, outer: bool) -> None:
    if outer:
        raise Untranslatable("LEFT JOIN LATERAL of a generator with a condition")
    where(block, condition)


def _lateral_subquery(block: Block, node: exp.Lateral, condition: exp.Expr | None, outer: bool) -> None:
    """Each row of the block beside the rows of a query that may use the row's columns."""
    from viewkeeper.sql.subqueries import correlated

    answer = correlated(block, node.this.unnest())
    trivial = condition is None or is_true(condition)
    if answer.late is not None and outer and not trivial:
        raise Untranslatable("LEFT JOIN LATERAL of an aggregate with a condition")
    fields = fields_of(answer, *_alias(node, answer))
    on = join_condition(answer)
    if answer.late is not None:
        block.join(answer.rel, JoinKind.LEFT, on)
        late = tuple(Named(name, expr) for name, expr in answer.late.items())
        block.rel = projected(block.rel, (*same(block.rel.columns), *late))
        block.scope.fields.extend(fields)
    elif outer:
        block.scope.fields.extend(fields)
        extra = [] if trivial or condition is None else [block.resolve(condition)]
        block.join(answer.rel, JoinKind.LEFT, conjunction([on, *extra]))
        return
    else:
        block.join(answer.rel, JoinKind.INNER, on)
        block.scope.fields.extend(fields)
    if condition is not None and not trivial:
        where(block, condition)


def lateral_view(block: Block, node: exp.Lateral, outer: bool = False) -> None:
    """LATERAL VIEW [OUTER] explode(…) alias AS columns."""
    generator = block.resolve(node.this)
    outer = outer or bool(node.args.get("outer"))
    names = generate(node.this, tuple(node.alias_column_names))
    produced = tuple(block.context.fresh(name) for name in names)
    block.rel = Lateral(block.rel, generator, produced, outer)
    alias = node.alias or None
    block.scope.fields.extend(Field(alias, n, c) for n, c in zip(names, produced, strict=True))
