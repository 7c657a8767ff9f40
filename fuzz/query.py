"""Queries as trees: written as Spark SQL, and made smaller part by part.

Trees need not be well typed. Spark is asked about every text, and what it rejects is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Expr:
    """An expression: a text with holes for its arguments, `{0} + {1}`; `family` is a guess at its type."""

    text: str
    args: tuple[Expr | Query, ...] = ()
    family: str = ""

    def __str__(self) -> str:
        holes = self.text
        for number, arg in enumerate(self.args):
            holes = holes.replace(f"{{{number}}}", str(arg))
        return holes


@dataclass(frozen=True)
class Item:
    """A column of a SELECT; without a name it is called as Spark calls it."""

    value: Expr
    name: str = ""

    def __str__(self) -> str:
        return f"{self.value} AS {self.name}" if self.name else str(self.value)


@dataclass(frozen=True)
class Named:
    """A table, a view or a CTE under another name."""

    name: str
    alias: str

    def __str__(self) -> str:
        return f"{self.name} {self.alias}"


@dataclass(frozen=True)
class Derived:
    """A query in FROM."""

    query: Query
    alias: str

    def __str__(self) -> str:
        return f"({self.query}) {self.alias}"


@dataclass(frozen=True)
class Join:
    """`kind` is written before JOIN; `using` names columns of both sides instead of a condition."""

    kind: str
    left: Source
    right: Source
    on: tuple[Expr, ...] = ()
    using: tuple[str, ...] = ()

    def __str__(self) -> str:
        condition = f" ON {' AND '.join(map(str, self.on))}" if self.on else ""
        condition = f" USING ({', '.join(self.using)})" if self.using else condition
        return f"{self.left} {self.kind} JOIN {self.right}{condition}"


@dataclass(frozen=True)
class Exploded:
    """A source and the elements of an array of it: LATERAL VIEW."""

    source: Source
    value: Expr
    alias: str
    column: str
    outer: bool = False

    def __str__(self) -> str:
        word = "LATERAL VIEW OUTER" if self.outer else "LATERAL VIEW"
        return f"{self.source} {word} explode({self.value}) {self.alias} AS {self.column}"


Source = Named | Derived | Join | Exploded


@dataclass(frozen=True)
class Select:
    items: tuple[Item, ...]
    source: Source
    where: tuple[Expr, ...] = ()
    group: tuple[Expr, ...] = ()
    grouping: str = ""
    having: tuple[Expr, ...] = ()
    distinct: bool = False
    order: tuple[Expr, ...] = ()
    limit: int = 0

    def __str__(self) -> str:
        parts = [f"SELECT {'DISTINCT ' * self.distinct}{', '.join(map(str, self.items))} FROM {self.source}"]
        parts += [f"WHERE {' AND '.join(map(str, self.where))}"] if self.where else []
        parts += [self._group()] if self.group else []
        parts += [f"HAVING {' AND '.join(map(str, self.having))}"] if self.having else []
        parts += [f"ORDER BY {', '.join(map(str, self.order))}"] if self.order else []
        parts += [f"LIMIT {self.limit}"] if self.limit else []
        return " ".join(parts)

    def _group(self) -> str:
        keys = ", ".join(map(str, self.group))
        if self.grouping == "GROUPING SETS":
            sets = ", ".join(f"({key})" for key in map(str, self.group))
            return f"GROUP BY GROUPING SETS ({sets}, ({keys}), ())"
        return f"GROUP BY {self.grouping} ({keys})" if self.grouping else f"GROUP BY {keys}"


@dataclass(frozen=True)
class SetOp:
    word: str
    left: Query
    right: Query

    def __str__(self) -> str:
        return f"({self.left}) {self.word} ({self.right})"


@dataclass(frozen=True)
class With:
    name: str
    inner: Query
    body: Query

    def __str__(self) -> str:
        return f"WITH {self.name} AS ({self.inner}) {self.body}"


@dataclass(frozen=True)
class Text:
    """A query that is only known as it is written."""

    text: str

    def __str__(self) -> str:
        return self.text


Query = Select | SetOp | With | Text


def smaller(node: Any) -> Iterator[Any]:
    """Trees with one part less, those that lose most first."""
    yield from _replaced_by_part(node)
    if not is_dataclass(node):
        return
    for field in fields(node):
        value = getattr(node, field.name)
        for less in _smaller_value(node, field.name, value):
            yield replace(node, **{field.name: less})  # type: ignore[type-var]


def _replaced_by_part(node: Any) -> Iterator[Any]:
    match node:
        case SetOp(_, left, right):
            yield from (left, right)
        case With(_, inner, body):
            yield from (inner, body)
        case Join(_, left, right):
            yield from (left, right)
        case Exploded(source):
            yield source
        case Derived(Select() as query, alias) if isinstance(query.source, Named):
            yield replace(query.source, alias=alias)
        case Expr(_, args):
            yield from (arg for arg in args if isinstance(arg, Expr))


def _smaller_value(node: Any, name: str, value: Any) -> Iterator[Any]:
    """Fewer elements of a list, or one of them smaller; a smaller tree; nothing where nothing is needed."""
    if isinstance(value, tuple) and not isinstance(node, Expr):
        least = 1 if name == "items" or (name == "group") else 0
        if len(value) > least:
            yield from (value[:n] + value[n + 1 :] for n in reversed(range(len(value))))
        if name == "group" and len(value) == 1:
            yield ()
    if isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from ((*value[:number], less, *value[number + 1 :]) for less in smaller(part))
    elif is_dataclass(value):
        yield from smaller(value)
    elif name == "distinct" and value:
        yield False
    elif name in ("grouping", "limit") and value:
        yield type(value)()


def size(node: Any) -> int:
    return len(str(node))
