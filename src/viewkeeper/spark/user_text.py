"""What Spark answers to a view's own text: the definition of right, and the only place that evaluates it.

The text is run as it was written, over plain rows of what it reads. Two things Spark cannot run, and a plain
fixpoint of the same text (`spark/naive.py`) stands for it: recursion by UNION, whose definitions are taken
out of the text and evaluated round by round, each by Spark; and Datalog, whose rules are written as SELECTs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from viewkeeper.algebra.clock import Clock, is_clock
from viewkeeper.algebra.schema import Column
from viewkeeper.catalog.catalog import DATALOG, ViewDefinition
from viewkeeper.datalog.as_sql import rules_query
from viewkeeper.datalog.parse import parse_program
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import slot
from viewkeeper.spark.naive import Equation, least_fixpoint
from viewkeeper.sql.clock import at_instant
from viewkeeper.sql.splice import spliced, tables_read
from viewkeeper.sql.with_text import Cte, components, first_with, needed, written
from viewkeeper.storage.clocks import time_of
from viewkeeper.storage.relation import RelationState
from viewkeeper.views import clocks_of

States = Mapping[str, RelationState]
Frames = Mapping[str, DataFrame]
"""Plain rows of tables and views, by their names in lower case."""


def answer(engine: SparkEngine, definition: ViewDefinition, inputs: Frames) -> DataFrame:
    """The rows that a view should have, given the rows of what its text names."""
    if definition.language == DATALOG:
        return _derived(engine, definition, inputs)
    if "recursive" not in definition.sql.lower():
        return run(engine, definition.sql, inputs)
    text = _Text(engine, dict(inputs))
    return run(engine, text.without_sets(definition.sql, {}), text.inputs)


def dated(definition: ViewDefinition, states: States) -> ViewDefinition:
    """The definition with what the clock showed, in these states, in the place of calls that read it."""
    clocks = clocks_of(definition)
    if not clocks:
        return definition
    tables = tuple(name for name in definition.tables if not is_clock(name))
    return replace(definition, sql=dated_text(definition.sql, clocks, states), tables=tables)


def dated_text(sql: str, clocks: Iterable[Clock], states: States) -> str:
    """A text with what clocks showed in these states."""
    return at_instant(sql, time_of(clocks, states))


def is_rewritten(definition: ViewDefinition) -> bool:
    """Whether Spark cannot run the text as it stands, so that types of its columns are Viewkeeper's own."""
    if definition.language == DATALOG:
        return True
    clause = first_with(definition.sql) if "recursive" in definition.sql.lower() else None
    rest = definition.sql
    while clause is not None:
        if any(_is_set_recursion(members) for members in components(clause.ctes) if clause.recursive):
            return True
        inner = " ".join(cte.body for cte in clause.ctes)
        rest = f"{inner} {rest[clause.end :]}"
        clause = first_with(rest)
    return False


def run(engine: SparkEngine, sql: str, inputs: Frames) -> DataFrame:
    """A text by Spark, over these rows."""
    frames = {name: inputs[name.lower()] for name in tables_read(sql)}
    return engine.text(spliced(sql, slot), frames)


def _derived(engine: SparkEngine, definition: ViewDefinition, inputs: Frames) -> DataFrame:
    """The predicate of a Datalog view, with all that are defined together with it."""
    program = parse_program(definition.sql)
    derived = {name.lower(): columns for name, columns in definition.predicates}
    columns = {name: frame.columns for name, frame in inputs.items()} | derived
    equations = [
        Equation(name, derived[name.lower()], rules_query(program.rules_of(name), columns))
        for name in program.predicates
    ]
    found = least_fixpoint(engine, equations, lambda sql, rows: run(engine, sql, {**inputs, **rows}))
    return found[definition.name.lower()]


def _is_set_recursion(members: Sequence[Cte]) -> bool:
    names = [cte.key for cte in members]
    return any(c.reads(names) for c in members) and any(c.drops_duplicates() for c in members)


@dataclass
class _Text:
    """A text whose recursions by UNION are replaced by their rows, which are then among its inputs."""

    engine: SparkEngine
    inputs: dict[str, DataFrame]

    def without_sets(self, sql: str, scope: Mapping[str, Cte]) -> str:
        """The text as Spark can run it; `scope` are the definitions around it."""
        clause = first_with(sql)
        if clause is None:
            return sql
        ctes: list[Cte] = []
        groups = components(clause.ctes) if clause.recursive else [(cte,) for cte in clause.ctes]
        for members in groups:
            around = {**scope, **{cte.key: cte for cte in ctes}}
            inner = [replace(cte, body=self.without_sets(cte.body, around)) for cte in members]
            ctes += self._as_rows(inner, around) if _is_set_recursion(inner) else inner
        rest = self.without_sets(sql[clause.end :], {**scope, **{cte.key: cte for cte in ctes}})
        return f"{sql[: clause.start]}{written(ctes)}{rest}"

    def _as_rows(self, members: Sequence[Cte], scope: Mapping[str, Cte]) -> list[Cte]:
        """Definitions of a recursion that just read its rows."""
        names = self._names(members, scope)
        equations = [Equation(cte.name, names[cte.key], _in_scope(cte.body, scope)) for cte in members]
        found = least_fixpoint(
            self.engine, equations, lambda sql, rows: run(self.engine, sql, {**self.inputs, **rows})
        )
        defined = []
        for cte in members:
            name = f"vkfixpoint{len(self.inputs)}"
            self.inputs[name] = found[cte.key]
            defined.append(replace(cte, body=f"SELECT * FROM {name}", recursive=False))
        return defined

    def _names(self, members: Sequence[Cte], scope: Mapping[str, Cte]) -> dict[str, tuple[str, ...]]:
        """The columns of each definition; Spark is asked what a star stands for, of one after the other."""
        names = {cte.key: cte.shown() for cte in members}
        for _ in members:
            known = {key: own for key, own in names.items() if "*" not in own}
            frames = {key: self.engine.empty([Column(n, "void") for n in own]) for key, own in known.items()}
            for cte in (cte for cte in members if cte.key not in known):
                first = replace(cte, body=cte.first_select)
                if first.reads(names.keys() - known.keys()):
                    continue
                found = run(self.engine, _in_scope(first.body, scope), {**self.inputs, **frames})
                names[cte.key] = tuple(found.columns)
        return names


def _in_scope(body: str, scope: Mapping[str, Cte]) -> str:
    """A body with the definitions around it that it reads."""
    around = needed(body, scope.values())
    return f"{written(around)} SELECT * FROM ({body})" if around else body
