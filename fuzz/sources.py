"""Random sources of a SELECT: tables, views, queries, joins, exploded arrays; and what is in scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from fuzz.expressions import Ref, equality, predicate, value
from fuzz.query import Derived, Exploded, Expr, Join, Named, Query, Source
from fuzz.values import family_of

Columns = Sequence[tuple[str, str]]

JOINS = ("INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL", "FULL", "LEFT SEMI", "LEFT ANTI", "CROSS")


@dataclass
class Draw:
    """Where random choices come from: the relations that may be read, and fresh names."""

    rng: Random
    relations: Mapping[str, Columns]
    subquery: Callable[[Draw, int], tuple[Query, list[Ref]]]
    number: int = 0
    ctes: dict[str, Columns] = field(default_factory=dict)

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"


@dataclass(frozen=True)
class Scoped:
    """A source and its columns."""

    source: Source
    scope: tuple[Ref, ...]


def random_source(draw: Draw, depth: int) -> Scoped:
    """One relation, or several that are joined; now and then with an array spread out."""
    found = _single(draw, depth)
    while draw.rng.random() < (0.45 if found.source.__class__ is Named else 0.2):
        found = _joined(draw, found, _single(draw, depth - 1))
    return _exploded(draw, found) if draw.rng.random() < 0.08 else found


def _single(draw: Draw, depth: int) -> Scoped:
    if depth > 0 and draw.rng.random() < 0.3:
        alias = draw.fresh("q")
        query, columns = draw.subquery(draw, depth - 1)
        scope = tuple(Ref(f"{alias}.{ref.text}", ref.family, ref.type) for ref in columns)
        return Scoped(Derived(query, alias), scope)
    relations = {**draw.relations, **draw.ctes}
    name = draw.rng.choice(sorted(relations))
    alias = draw.fresh("r")
    case = str.upper if draw.rng.random() < 0.03 else str
    scope = tuple(
        Ref(f"{alias}.{case(quoted(column))}", family_of(kind), kind) for column, kind in relations[name]
    )
    return Scoped(Named(name, alias), scope)


def _joined(draw: Draw, left: Scoped, right: Scoped) -> Scoped:
    rng, kind = draw.rng, draw.rng.choice(JOINS)
    scope = left.scope if kind in ("LEFT SEMI", "LEFT ANTI") else (*left.scope, *right.scope)
    if kind == "CROSS":
        return Scoped(Join(kind, left.source, right.source), scope)
    using = _using(left, right)
    if using and rng.random() < 0.2 and isinstance(left.source, Named):
        return Scoped(Join(kind, left.source, right.source, (), (rng.choice(using),)), scope)
    on = [equality(rng, left.scope, right.scope)]
    if rng.random() < 0.12:
        on.append(equality(rng, left.scope, right.scope))
    if rng.random() < 0.15:
        on.append(predicate(rng, (*left.scope, *right.scope), 0))
    return Scoped(Join(kind, left.source, right.source, tuple(on)), scope)


def quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z]\w*|`.*`", name) else "`" + name.replace("`", "``") + "`"


def _using(left: Scoped, right: Scoped) -> list[str]:
    """Columns of both sides that have one name and one family."""
    ours = {ref.text.split(".")[1]: ref.family for ref in left.scope}
    theirs = {ref.text.split(".")[1]: ref.family for ref in right.scope}
    return [name for name in sorted(ours) if ours[name] == theirs.get(name)]


def _exploded(draw: Draw, found: Scoped) -> Scoped:
    rng = draw.rng
    arrays = [ref for ref in found.scope if ref.family == "array"]
    ref = rng.choice(arrays) if arrays else rng.choice(found.scope)
    other = value(rng, found.scope, 0, (ref.family,))
    spread = ref.expr if arrays else Expr("array({0}, {1})", (ref.expr, other), "array")
    family = family_of(ref.type[6:-1]) if arrays and ref.type else ref.family
    alias, column = draw.fresh("l"), draw.fresh("y")
    exploded = Exploded(found.source, spread, alias, column, rng.random() < 0.3)
    return Scoped(exploded, (*found.scope, Ref(f"{alias}.{column}", family)))
