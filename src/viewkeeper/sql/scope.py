"""Names in scope, and the columns of the plan that they stand for.

Within one view every column of the plan has a name of its own, so that the two sides of a join
share none and a correlated column cannot be mistaken for a local one. A `Field` is what the user
sees; a `Scope` is the list of fields of one SELECT, inside the scope of the SELECT around it.

A name of an enclosing SELECT can be used in two ways. *Free*: it stays a column of the outer plan;
this is possible only inside conditions that move up into a join with the outer plan. *Bound*: the
inner plan contains the outer values as a domain of its own (the distinct values that occur).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, column, columns_of
from viewkeeper.errors import AmbiguousColumn, UnknownColumn
from viewkeeper.sql.known_relations import did_you_mean


class Untranslatable(Exception):
    """Valid Spark SQL that the algebra has no expression for; the reason is its text."""


class NeedsDomain(Exception):
    """A correlated column was used where only a bound one can be."""

    def __init__(self, scope: Scope) -> None:
        super().__init__("a correlated column outside of WHERE")
        self.scope = scope


@dataclass(frozen=True)
class Field:
    """A column as the user names it. `visible`: also without its table's name, and in `*`."""

    table: str | None
    name: str
    column: str
    visible: bool = True

    def is_of(self, table: str) -> bool:
        return self.table is not None and self.table.lower() == table.lower()


@dataclass
class Scope:
    """The fields of one SELECT and, by `parent`, of those around it.

    `bound` maps columns of the enclosing plan to columns of this one's domain; `asked` collects the
    columns that inner queries wanted; `aliases` are the outputs named so far in the select list.
    """

    fields: list[Field] = field(default_factory=list)
    parent: Scope | None = None
    bound: Mapping[str, str] | None = None
    free_allowed: bool = False
    asked: set[str] = field(default_factory=set)
    aliases: dict[str, Scalar] = field(default_factory=dict)

    def lookup(self, parts: tuple[str, ...], alias_first: bool = False, inner: bool = False) -> Scalar:
        """The expression that a name with its qualifiers stands for."""
        if alias_first and len(parts) == 1 and parts[0].lower() in self.aliases:
            return self.aliases[parts[0].lower()].copy()
        found = self._own(parts)
        if found is not None:
            return found
        if not inner and parts[0].lower() in self.aliases:
            return _fields_of(self.aliases[parts[0].lower()].copy(), parts[1:])
        if self.parent is None:
            raise self._unknown(parts)
        return self.captured(self._outer(parts), inner)

    def captured(self, outer: Scalar, inner: bool = False) -> Scalar:
        """An expression over the enclosing plan, as this scope may use it."""
        assert self.parent is not None
        self.parent.asked |= columns_of(outer)
        if self.bound is not None:
            return _renamed(outer, self.bound)
        if self.free_allowed and not inner:
            return outer
        raise NeedsDomain(self)

    def _outer(self, parts: tuple[str, ...]) -> Scalar:
        assert self.parent is not None
        try:
            return self.parent.lookup(parts, inner=True)
        except UnknownColumn:
            raise self._unknown(parts) from None

    def _own(self, parts: tuple[str, ...]) -> Scalar | None:
        if len(parts) > 1:
            matches = [f for f in self.fields if f.is_of(parts[0]) and f.name.lower() == parts[1].lower()]
            if matches:
                return _fields_of(self._only(matches, ".".join(parts[:2])), parts[2:])
        matches = [f for f in self.fields if f.visible and f.name.lower() == parts[0].lower()]
        return _fields_of(self._only(matches, parts[0]), parts[1:]) if matches else None

    def _only(self, matches: list[Field], name: str) -> Scalar:
        if len({match.column for match in matches}) > 1:
            tables = [f"{match.table}.{match.name}" if match.table else match.name for match in matches]
            raise AmbiguousColumn(
                f"The column {name} is ambiguous.",
                f"It could be {' or '.join(tables)}.",
                "Write the name of its table before it.",
                columns=(name,),
            )
        return column(matches[0].column)

    def _unknown(self, parts: tuple[str, ...]) -> UnknownColumn:
        name = ".".join(parts)
        tables = {f.table.lower() for f in self.fields if f.table}
        if len(parts) > 1 and parts[0].lower() in tables:
            known = [f.name for f in self.fields if f.is_of(parts[0])]
        else:
            known = [f.name for f in self.fields if f.visible]
        return UnknownColumn(
            f"There is no column {name} in scope.", hint=did_you_mean(parts[-1], known), columns=(name,)
        )

    def star(self, table: str | None = None) -> list[Field]:
        """The fields that `*` or `table.*` stands for."""
        if table is None:
            return [f for f in self.fields if f.visible]
        found = [f for f in self.fields if f.is_of(table)]
        if not found:
            known = [f.table for f in self.fields if f.table]
            raise UnknownColumn(f"There is no table {table} in scope.", hint=did_you_mean(table, known))
        return found


def _fields_of(base: Scalar, names: Iterable[str]) -> Scalar:
    """`base.a.b`: fields of a struct."""
    for name in names:
        base = exp.Dot(this=base, expression=exp.to_identifier(name))
    return base


def _renamed(expr: Scalar, names: Mapping[str, str]) -> Scalar:
    def swap(node: exp.Expr) -> exp.Expr:
        return column(names[node.name]) if isinstance(node, exp.Column) else node

    return expr.transform(swap)
