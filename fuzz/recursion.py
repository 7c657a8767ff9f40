"""Random recursive views and Datalog programs over a table seen as a graph.

Spark runs recursion by UNION ALL itself. For UNION and for Datalog the same rules are also written as
equations between relations, which the oracle evaluates naively.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from fuzz.case import Step, View
from fuzz.schemas import Table

_NODES = ("int", "bigint", "string", "date")


@dataclass(frozen=True)
class Graph:
    """Two columns of a table that hold nodes; `p` starts the names of what is derived."""

    table: str
    a: str
    b: str
    p: str

    def edges(self, x: str = "x", y: str = "y") -> str:
        return f"SELECT {self.a} AS {x}, {self.b} AS {y} FROM {self.table}"

    def step(self, known: str, x: str = "x", y: str = "y") -> str:
        """One edge more behind what is known."""
        return f"SELECT r.{x}, e.{self.b} FROM {known} r JOIN {self.table} e ON r.{y} = e.{self.a}"


def random_recursion(rng: Random, name: str, tables: tuple[Table, ...]) -> View | None:
    """A recursive view, where some table has two columns of one type of nodes."""
    graphs = [
        Graph(table.name, a.name, b.name, name)
        for table in tables
        for a in table.columns
        for b in table.columns
        if a.name != b.name and a.type == b.type and a.type in _NODES
    ]
    return rng.choice(FORMS)(rng, rng.choice(graphs)) if graphs else None


def closure(rng: Random, g: Graph) -> View:
    """Paths, by edges at their end or by paths; summed up, joined with the edges again, or as they are."""
    reach = f"{g.p}_r"
    step = g.step(reach)
    if rng.random() < 0.3:
        step = f"SELECT r.x, s.y FROM {reach} r JOIN {reach} s ON r.y = s.x"
    body = rng.choice(
        (
            f"SELECT x, y FROM {reach}",
            f"SELECT x, COUNT(*) AS n FROM {reach} GROUP BY x",
            f"SELECT r.x, e.{g.b} AS z FROM {reach} r JOIN {g.table} e ON r.y = e.{g.a}",
            f"SELECT e.{g.a} AS z, r.y FROM {g.table} e LEFT JOIN {reach} r ON r.x = e.{g.b}",
        )
    )
    equation = f"{g.edges()} UNION {step}"
    return View(
        g.p, f"WITH RECURSIVE {reach}(x, y) AS ({equation}) /* body */ {body}", equations=((reach, equation),)
    )


def mutual(rng: Random, g: Graph) -> View:
    """Paths of odd and of even length; now and then the first reads the second, which comes after it."""
    odd, even = f"{g.p}_odd", f"{g.p}_even"
    odds, evens = f"{g.edges()} UNION {g.step(even)}", g.step(odd).replace(f"e.{g.b}", f"e.{g.b} AS y")
    both = [(odd, odds), (even, evens)]
    ctes = ", ".join(f"{name}(x, y) AS ({text})" for name, text in both)
    text = f"WITH RECURSIVE {ctes} /* body */ SELECT x, y FROM {rng.choice((odd, even))}"
    return View(g.p, text, equations=tuple(both))


def walks(rng: Random, g: Graph) -> View:
    """Walks of a few steps, with duplicates: recursion by UNION ALL."""
    walk = f"{g.p}_w"
    step = f"SELECT r.x, e.{g.b}, n + 1 FROM {walk} r JOIN {g.table} e ON r.y = e.{g.a} WHERE n < 3"
    body = rng.choice(
        (f"SELECT x, y, n FROM {walk}", f"SELECT y, MIN(n) AS n, COUNT(*) AS c FROM {walk} GROUP BY y")
    )
    start = f"SELECT {g.a} AS x, {g.b} AS y, 1 AS n FROM {g.table}"
    return View(g.p, f"WITH RECURSIVE {walk}(x, y, n) AS ({start} UNION ALL {step}) {body}")


def program(rng: Random, g: Graph) -> View:
    """A Datalog program: a closure, and what is negated or counted above it."""
    reach, edge = f"{g.p}_reach", f"{g.table}({g.a}: {{}}, {g.b}: {{}})"
    rules = [
        f"{reach}(X, Y) :- {edge.format('X', 'Y')}.",
        f"{reach}(X, Y) :- {reach}(X, Z), {edge.format('Z', 'Y')}.",
    ]
    equations = [(reach, f"{g.edges()} UNION {g.step(reach)}")]
    if rng.random() < 0.6:
        lone = f"{g.p}_lone"
        rules.append(f"{lone}(X) :- {g.table}({g.a}: X), not {reach}(_, X).")
        inner = f"SELECT 1 FROM {reach} r WHERE r.y = t.{g.a}"
        equations.append((lone, f"SELECT t.{g.a} AS x FROM {g.table} t WHERE NOT EXISTS ({inner})"))
    if rng.random() < 0.6:
        degree = f"{g.p}_degree"
        rules.append(f"{degree}(X, N) :- groupby({reach}(X, Y), [X], N = count()).")
        equations.append((degree, f"SELECT x, COUNT(*) AS n FROM {reach} GROUP BY x"))
    return View(g.p, "\n".join(rules), equations=tuple(equations), language="datalog")


_EDGE = re.compile(r"(\w+)\(X, Y\) :- (\w+)\((\w+): X, (\w+): Y\)")


def changed_rules(rng: Random, view: View) -> tuple[Step, View]:
    """A rule more or a rule less of the closure of a program, and the program that this makes."""
    match = _EDGE.match(view.text)
    assert match is not None
    reach, g = match.group(1), Graph(match.group(2), match.group(3), match.group(4), view.name)
    edge = f"{g.table}({g.a}: {{}}, {g.b}: {{}})"
    rules = {
        f"{reach}(X, Y) :- {edge.format('Y', 'X')}.": f"SELECT {g.b} AS x, {g.a} AS y FROM {g.table}",
        f"{reach}(X, Y) :- {edge.format('X', 'Z')}, {reach}(Z, Y).": (
            f"SELECT e.{g.a}, r.y FROM {g.table} e JOIN {reach} r ON e.{g.b} = r.x"
        ),
        f"{reach}(X, Y) :- {reach}(X, Z), {reach}(Z, Y).": (
            f"SELECT r.x, s.y FROM {reach} r JOIN {reach} s ON r.y = s.x"
        ),
        f"{reach}(X, Y) :- {reach}(X, Z), {edge.format('Z', 'Y')}.": g.step(reach),
    }
    rule = rng.choice(list(rules))
    lines, (name, equation), others = view.text.split("\n"), view.equations[0], view.equations[1:]
    change = "drop" if rule in lines else "add"
    if change == "drop":
        lines.remove(rule)
        branches = [branch for branch in equation.split(" UNION ") if branch != rules[rule]]
    else:
        lines.append(rule)
        branches = [*equation.split(" UNION "), rules[rule]]
    changed = replace(view, text="\n".join(lines), equations=((name, " UNION ".join(branches)), *others))
    step = {"do": "rules", "view": view.name, "change": change, "rule": rule}
    return {**step, "text": changed.text, "equations": changed.equations}, changed


FORMS: tuple[Callable[[Random, Graph], View], ...] = (
    closure,
    closure,
    mutual,
    walks,
    walks,
    program,
    program,
)
