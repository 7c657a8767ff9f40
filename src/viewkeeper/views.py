"""Views compiled from their definitions: parsed, resolved, and split into stored strata."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import parse_one

from viewkeeper.algebra.clock import Clock, is_clock
from viewkeeper.algebra.prune import over_used_columns
from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.algebra.walk import base_tables, scans
from viewkeeper.catalog.catalog import DATALOG, ENFORCED, Catalog, ViewDefinition
from viewkeeper.datalog.parse import parse_program
from viewkeeper.datalog.translate import translate
from viewkeeper.errors import InvalidOption, Unsupported
from viewkeeper.maintenance.id_diffs import Caching, IdView, define
from viewkeeper.maintenance.id_diffs.by_default import by_default
from viewkeeper.maintenance.id_diffs.strategy import ID_DIFFS, TUPLE_DIFFS, id_strata
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.friendly import with_hidden
from viewkeeper.maintenance.lattice.over_summary import over_base, plan_of
from viewkeeper.maintenance.lattice.recognise import cube_views
from viewkeeper.maintenance.lattice.summary import GroupingSets, Summary
from viewkeeper.maintenance.program import counts_values, program, without_unused
from viewkeeper.maintenance.recursion.port import ITERATION_LIMIT
from viewkeeper.maintenance.strategy import Stratum, View
from viewkeeper.maintenance.typed_calls import with_types
from viewkeeper.report import Reason
from viewkeeper.sql import known_relations as front_end
from viewkeeper.sql.parse import ViewQuery, clocks_read, parse_query, parse_view
from viewkeeper.sql.recursion import mutual_by_union_all, recurses_by_union
from viewkeeper.sql.settings import unread
from viewkeeper.sql.splice import tables_read

MAX_ITERATIONS = "viewkeeper.max_iterations"
"""The property of a view that limits the rounds of its recursion."""

STRATEGY = "viewkeeper.strategy"
"""The property of a view that asks for a strategy; `auto` leaves the choice to the planner."""

CACHES = "viewkeeper.caches"
"""The property of a view kept by ID-based diffs: whether inputs of its aggregates are stored."""

VALUE_COUNTS = "viewkeeper.value-counts"
"""The property of a view: whether it stores how often values occur, for functions of bags of values."""

CHECK = "viewkeeper.check"
"""The property of a view: which share of it is compared with its text before a refresh is committed."""

ZONE_SETTING = "spark.sql.session.timeZone"
"""The setting of a session that says which date it is."""

IDS = "viewkeeper.ids"
"""The property of a view: `auto` stores its rows with IDs where these may pay, so that updates may be
ID-based diffs; `never`, the default, does not."""

ASKABLE = ("auto", ID_DIFFS, TUPLE_DIFFS)


def checked_share(text: str | float, what: str = "check") -> float:
    """The share that a text stands for; refuses what is none."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InvalidOption(
            f"{what} cannot be {text!r}.",
            "It is the share of a view's groups that are compared with its text.",
            "Give a number from 0 (none) to 1 (all), such as 0.01.",
        )
    return share


@dataclass(frozen=True)
class _Source:
    """All that a view is compiled from: its definition, what it reads, and the summaries it is over."""

    definition: ViewDefinition
    schemas: tuple[TableSchema, ...]
    above: tuple[_Source, ...]


def compiled(definition: ViewDefinition, catalog: Catalog) -> View:
    """The view as strategies see it."""
    return _compiled(_source(definition, catalog))


def _source(definition: ViewDefinition, catalog: Catalog) -> _Source:
    return _Source(
        replace(definition, position=None, published=None, propagated=None),
        tuple(catalog.stored(name) for name in definition.reads),
        tuple(_source(catalog.views[name], catalog) for name in definition.above),
    )


def as_written(definition: ViewDefinition, catalog: Catalog) -> ViewDefinition:
    """The definition over just what its text names, whatever it is maintained from."""
    return replace(definition, tables=tables_of(definition, catalog), above=(), hidden=(), types=())


def over_base_tables(definition: ViewDefinition, catalog: Catalog) -> ViewDefinition:
    """A summary over a summary as one over the base tables, where it has that form; others as they are.

    It is then the other's child in the lattice, and is maintained without reading it.
    """
    summary = compiled(definition, catalog).summary if definition.language != DATALOG else None
    if not isinstance(summary, Summary) or summary.cube.fact.name not in catalog.views:
        return definition
    above = summary.cube.fact.name
    if catalog.views[above].settings != definition.settings:
        return definition
    parent = compiled(catalog.views[above], catalog).summary
    based = over_base(summary.cube, parent.cube) if isinstance(parent, Summary) else None
    if not isinstance(based, CubeView) or not based.tables <= catalog.tables.keys():
        return definition
    return replace(definition, above=(above,), tables=tuple(sorted(based.tables)))


@lru_cache(maxsize=1024)
def _compiled(given: _Source) -> View:
    if given.above or given.definition.hidden:
        bare = _Source(replace(given.definition, above=(), hidden=()), given.schemas, ())
        return _stored_as(_summary_cube(given, _compiled(bare)), _compiled(bare))
    definition, schemas = given.definition, given.schemas
    name, query = definition.name, _query(definition, front_end.StaticCatalog(schemas))
    properties = dict(definition.properties)
    limit, asked = int(properties.get(MAX_ITERATIONS, ITERATION_LIMIT)), properties.get(STRATEGY, "auto")
    relation = None if query.relation is None else without_unused(query.relation)
    plan, for_ids = (_typed(relation, definition, by_ids) for by_ids in (False, True))
    by_ids = _by_ids(definition, for_ids, schemas, asked, Caching(properties.get(CACHES, "auto")))
    strata, by_ids = _strata(name, plan, by_ids, asked, _asks_for_value_counts(definition))
    is_plain = not isinstance(by_ids, IdView) or asked == "auto"
    return View(
        name,
        definition.sql,
        definition.columns,
        strata,
        query.untranslatable,
        plan,
        limit=limit,
        summary=summary_of(name, plan, strata, schemas) if plan and is_plain else None,
        asked=asked,
        by_ids=by_ids,
    )


def _typed(plan: Relation | None, definition: ViewDefinition, by_ids: bool) -> Relation | None:
    return None if plan is None else with_types(plan, definition.types, by_ids)


def _summary_cube(given: _Source, bare: View) -> CubeView:
    """The summary that a view is, over the base tables and with hidden columns."""
    assert isinstance(bare.summary, Summary)
    cube: CubeView | Reason = bare.summary.cube
    for above in map(_compiled, given.above):
        assert isinstance(above.summary, Summary)
        cube = over_base(bare.summary.cube, above.summary.cube)
    assert isinstance(cube, CubeView), cube.sentence
    return with_hidden(cube, map(parse_one, given.definition.hidden))


def _stored_as(cube: CubeView, view: View) -> View:
    """The view with the state of a summary that shows the same columns."""
    plan = plan_of(cube, {column.name: column.type for column in view.columns})
    strata = program(view.name, plan)
    state = strata[-1].state
    assert state is not None
    return replace(view, strata=strata, query=plan, summary=Summary(cube, state))


def summary_of(
    name: str, plan: Relation, strata: tuple[Stratum, ...], schemas: tuple[TableSchema, ...]
) -> Summary | GroupingSets | Reason:
    """The view as a generalized cube view, or as several, with its stored state; or why it is none."""
    found = cube_views(plan, {schema.name: schema for schema in schemas}, name)
    if isinstance(found, Reason):
        return found
    if len(found) > 1:
        return _grouping_sets(found, strata[:-1])
    [cube] = found
    if len(strata) > 1 or strata[-1].state is None:
        return Reason("no-aggregate", "it is stored as rows, not as the state of one aggregation")
    if not cube.measures:
        return Reason("no-aggregate", "it eliminates duplicates and aggregates nothing")
    return Summary(cube, strata[-1].state)


def _grouping_sets(cubes: tuple[CubeView, ...], strata: tuple[Stratum, ...]) -> GroupingSets | Reason:
    states = [stratum.state for stratum in strata]
    if len(states) != len(cubes) or not all(cube.measures for cube in cubes):
        return Reason("no-aggregate", "its grouping sets are not stored one by one")
    nodes = [
        Summary(cube.renamed(stratum.name), stratum.state)
        for cube, stratum in zip(cubes, strata, strict=True)
        if stratum.state is not None
    ]
    if len(nodes) < len(cubes):
        return Reason("no-aggregate", "one of its grouping sets is stored as rows")
    return GroupingSets(tuple(nodes))


def _by_ids(
    definition: ViewDefinition,
    relation: Relation | None,
    schemas: tuple[TableSchema, ...],
    asked: str,
    caching: Caching,
) -> IdView | Reason | None:
    is_asked = asked in (ID_DIFFS, TUPLE_DIFFS)
    if not is_asked and (asked != "auto" or not definition.keyed):
        return None
    if relation is None:
        return Reason("untranslatable", "The query cannot be written as a plan.")
    if any(map(is_clock, base_tables(relation))):
        return Reason("clock", "It reads the clock, whose one row has no ID.")
    narrow = over_used_columns(relation)
    read = (bound.source for scan in scans(narrow) for bound in scan.bound)
    maps = [column.name for column in (*read, *definition.columns) if "map<" in column.type]
    if maps:
        why = f"It would compare values of {maps[0]} before and after, which are maps: Spark cannot."
        return Reason("maps", why)
    tables = {schema.name: schema for schema in schemas}
    if not is_asked:
        trusted = [schema.name for schema in schemas if schema.property(ENFORCED) == "false"]
        why = f"The key of {', '.join(trusted)} is not checked."
        return Reason("trusted-key", why) if trusted else by_default(definition.name, narrow, tables)
    return define(definition.name, narrow, tables, caching=caching, tuple_based=asked == TUPLE_DIFFS)


def _strata(
    name: str, relation: Relation | None, by_ids: IdView | Reason | None, asked: str, by_value: bool
) -> tuple[tuple[Stratum, ...], IdView | Reason | None]:
    """What is stored, and what that makes of ID-based diffs that nobody asks for."""
    if relation is None:
        return (Stratum(name, None),), by_ids
    if not isinstance(by_ids, IdView):
        return program(name, relation, by_value), by_ids
    if asked != "auto":
        return id_strata(by_ids), by_ids
    top, *below = reversed(program(name, by_ids.top.plan))
    if below:
        return program(name, relation), Reason("not-rows", "Parts of it are stored by themselves.")
    return (replace(top, key=by_ids.top.ids),), by_ids


def _asks_for_value_counts(definition: ViewDefinition) -> bool:
    return dict(definition.properties).get(VALUE_COUNTS) == "true"


def why_no_value_counts(definition: ViewDefinition, view: View) -> str:
    """Why a view that asks for counts of values has none, as a note to the user."""
    if not _asks_for_value_counts(definition) or any(map(counts_values, view.strata)):
        return ""
    if view.asked != "auto" and isinstance(view.by_ids, IdView):
        return f"no counts of values: the view is kept by {view.asked}"
    if view.query is None:
        return f"no counts of values: {view.untranslatable}"
    return "no counts of values: none of its aggregates is over one bag of values, with all else in parts"


def _query(definition: ViewDefinition, catalog: front_end.KnownRelations) -> ViewQuery:
    if definition.language != DATALOG:
        names = tuple(column.name for column in definition.columns)
        other_meaning = unread(dict(definition.settings or ()), definition.sql)
        parsed = parse_view(definition.sql, catalog, names, other_meaning, zone_of(definition))
        if definition.unplanned:
            return replace(parsed, relation=None, untranslatable=definition.unplanned)
        return parsed
    relation = _derived(definition, catalog)
    return ViewQuery(definition.sql, relation, relation.columns, base_tables(relation))


def _derived(definition: ViewDefinition, catalog: front_end.KnownRelations) -> Relation:
    predicates = translate(parse_program(definition.sql), catalog, dict(definition.predicates))
    return next(predicate.relation for predicate in predicates if predicate.name == definition.name)


def tables_of(definition: ViewDefinition, catalog: Catalog) -> tuple[str, ...]:
    """The tables and views that a definition reads, as they were declared."""
    if definition.language == DATALOG:
        return base_tables(_derived(definition, catalog))
    named = tuple(catalog.schema(table).name for table in tables_read(definition.sql))
    return (*named, *(clock.relation for clock in clocks_of(definition)))


def zone_of(definition: ViewDefinition) -> str | None:
    """The time zone in which a view reads the clock."""
    return dict(definition.settings or ()).get(ZONE_SETTING)


def clocks_of(definition: ViewDefinition) -> tuple[Clock, ...]:
    """The clocks that the text of a view reads."""
    zone = zone_of(definition)
    return () if definition.language == DATALOG or zone is None else clocks_read(definition.sql, zone)


def is_beyond_spark(definition: ViewDefinition, catalog: Catalog) -> bool:
    """Whether Spark cannot be asked about the text: rules, or recursion with UNION, not UNION ALL."""
    if definition.language == DATALOG:
        return True
    if "recursive" not in definition.sql.lower():
        return False
    query, view = parse_query(definition.sql), compiled(definition, catalog)
    mutual = mutual_by_union_all(query)
    if mutual:
        raise Unsupported(
            f"{' and '.join(mutual)} read each other, and UNION ALL keeps duplicates.",
            "Spark takes recursion by UNION ALL where a definition reads itself and those before it.",
            "Use UNION, which drops duplicates: Viewkeeper keeps definitions that read each other by it.",
            view=view.name,
        )
    if view.untranslatable is not None and recurses_by_union(query):
        raise Unsupported(
            f"The recursion by UNION of {view.name} cannot be kept.",
            f"The reason: {view.untranslatable}.",
            "Spark takes UNION ALL only, and Viewkeeper UNION where branches are monotone and have names.",
            view=view.name,
        )
    return any(s.fixpoint is not None and s.fixpoint.distinct for s in view.strata)
