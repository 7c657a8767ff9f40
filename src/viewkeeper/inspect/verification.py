"""Whether a view is right: whether it has the columns and the rows that Spark answers to its own text.

A view over other views is defined over their stored rows; `deep` puts their texts in the place of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.errors import WrongType
from viewkeeper.inspect.left_open import opened_by, sentence
from viewkeeper.seen import inputs_seen
from viewkeeper.spark.analysis import analysed_columns
from viewkeeper.spark.canonical_values import Floats
from viewkeeper.spark.compare import compare
from viewkeeper.spark.files import RESULTS
from viewkeeper.spark.frames import columns_of
from viewkeeper.spark.session import DataFrame
from viewkeeper.spark.user_text import answer, dated, is_rewritten
from viewkeeper.sql.choices import Choices
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import RelationState
from viewkeeper.views import as_written
from viewkeeper.workspace import Workspace

if TYPE_CHECKING:
    from viewkeeper.refresh.measure import Measurement


RESTS = "the numbers that differ may be what rounding leaves of sums that cancel"


@dataclass(frozen=True)
class Verification:
    """Whether a view is what its text says; true when it is.

    `columns` says how its columns differ from those of the text, in name, order or type. `extra` rows are
    stored and should not be, `missing` rows should be and are not; each has the column `__count`.
    `undecided` says why rows that differ may yet be right: then the view is called neither right nor
    different. `tolerance` is the relative one that floats were compared with, None where they had to be equal
    to the last bit. `measured` holds the times of all strategies, where they were asked for and some batch is
    there to measure them with.
    """

    view: str
    extra: tuple[dict[str, Any], ...] = ()
    missing: tuple[dict[str, Any], ...] = ()
    tolerance: float | None = None
    measured: Measurement | None = None
    columns: tuple[str, ...] = ()
    undecided: str = ""

    def __bool__(self) -> bool:
        return self.verdict == "right"

    @property
    def verdict(self) -> str:
        """`right`, `different` or `undecided`."""
        if self.columns:
            return "different"
        if not self.extra and not self.missing:
            return "right"
        return "undecided" if self.undecided else "different"

    def to_dict(self) -> dict[str, Any]:
        measured = self.measured.to_dict() if self.measured else None
        return {**asdict(self), "equal": bool(self), "verdict": self.verdict, "measured": measured}


def verify(work: Workspace, definition: ViewDefinition, deep: bool = False) -> Verification:
    """Evaluates the text of a view at the state that it shows, and compares, rows as bags, both ways."""
    entry = work.log.latest()
    written = as_written(definition, entry.catalog)
    states = {**entry.relations, **inputs_seen(work.log, written)}
    view = dated(written, states)
    work.progress("verify", shown(view.name), 0, 1)
    with work.under(view), work.engine.keeping():
        at = entry if view.position is None else work.log.entry(view.position)

        def inputs() -> dict[str, DataFrame]:
            if deep:
                return _by_texts(work, view, entry.catalog, {**states, **at.relations})
            return rows_read(work, view, states)

        found = judged(work, view, work.reader.visible(entry.relations[view.name]), inputs, exact=not deep)
        found = replace(found, columns=(*found.columns, *_said_not_null(work, entry, written)))
    work.progress("verify", shown(view.name), 1, 1)
    return found


def rows_read(
    work: Workspace, view: ViewDefinition, states: Mapping[str, RelationState]
) -> dict[str, DataFrame]:
    """The rows of what a view reads, by the names that its text knows them by."""
    return {in_text(table): _rows(work, states[table]) for table in view.tables}


def _rows(work: Workspace, state: RelationState) -> DataFrame:
    """The rows of a relation; where changes are netted first, as files, which no filter is moved below."""
    frame = work.reader.visible(state)
    if not work.engine.is_netting:
        return frame
    return work.engine.files(RESULTS, work.engine.write_result(frame), columns_of(frame))


def in_text(relation: str) -> str:
    """How the texts of views call a relation, in lower case."""
    return shown(relation).lower()


def _by_texts(
    work: Workspace, view: ViewDefinition, catalog: Catalog, tables: Mapping[str, RelationState]
) -> dict[str, DataFrame]:
    """What a view reads, with every view in it evaluated from its own text."""
    found = {}
    for name in view.tables:
        below = catalog.views.get(name)
        if below is None:
            found[in_text(name)] = _rows(work, tables[name])
        else:
            below = dated(as_written(below, catalog), tables)
            with work.under(below):
                found[in_text(name)] = answer(work.engine, below, _by_texts(work, below, catalog, tables))
    return found


def judged(
    work: Workspace,
    view: ViewDefinition,
    stored: DataFrame,
    inputs: Callable[[], Mapping[str, DataFrame]],
    exact: bool = True,
    sample: Callable[[DataFrame], DataFrame] = lambda frame: frame,
) -> Verification:
    """A view's rows against the answer to its text over these inputs; `exact` where the inputs are.

    Where `stored` is a sample of the view, `sample` takes the same one of the answer. Where a value does not
    fit an expression of the text, it may be that of a row which is gone: inputs are then netted first.
    """
    try:
        return _judged(work, view, stored, inputs(), exact, sample)
    except WrongType:
        with work.engine.netting(), work.engine.keeping():
            return _judged(work, view, stored, inputs(), exact, sample)


def _judged(
    work: Workspace,
    view: ViewDefinition,
    stored: DataFrame,
    inputs: Mapping[str, DataFrame],
    exact: bool,
    sample: Callable[[DataFrame], DataFrame],
) -> Verification:
    wanted = answer(work.engine, view, inputs)
    columns = _other_columns(stored, wanted, names_only=is_rewritten(view))
    if len(stored.columns) != len(wanted.columns):
        return Verification(shown(view.name), columns=columns)
    wanted = sample(wanted)
    open_ones = opened_by(view)
    floats = _floats(open_ones, exact)
    found = compare(work.engine, stored, wanted, floats=floats, unordered=open_ones.lists)
    if not found:
        return Verification(shown(view.name), tolerance=found.tolerance, columns=columns)
    if _are_first_rows(work, view, stored, wanted, inputs):
        return Verification(shown(view.name), tolerance=found.tolerance, columns=columns)
    undecided = RESTS if found.only_rests else _left_open(work, open_ones, stored, wanted)
    return Verification(
        shown(view.name),
        found.only_left,
        found.only_right,
        found.tolerance,
        columns=columns,
        undecided=undecided,
    )


def _are_first_rows(
    work: Workspace,
    view: ViewDefinition,
    stored: DataFrame,
    wanted: DataFrame,
    inputs: Mapping[str, DataFrame],
) -> bool:
    """Whether a view that ends in LIMIT has rows of its query, and as good ones as Spark's answer has."""
    open_ones = opened_by(view)
    first = open_ones.first_rows
    if first is None or first.order is None:
        return False
    floats = _floats(open_ones)
    order = [f"c{place}" for place in sorted(set(first.order))]
    mine, theirs = (_numbered(frame).selectExpr("1 AS one", *order) for frame in (stored, wanted))
    if compare(work.engine, mine, theirs, floats=floats):
        return False
    everything = answer(work.engine, replace(view, sql=first.unlimited), inputs)
    return not compare(work.engine, stored, everything, floats=floats, only_left=True)


def _left_open(work: Workspace, open_ones: Choices, stored: DataFrame, wanted: DataFrame) -> str:
    """Why rows that differ may be right: all that differs is what the text leaves open; empty otherwise."""
    note = sentence(open_ones)
    if open_ones.first_rows is not None and open_ones.first_rows.order is not None:
        return ""
    if open_ones.columns is None:
        return note
    fixed = [n for n in range(len(stored.columns)) if n not in open_ones.columns]
    if not open_ones.columns or not fixed:
        return note if open_ones.columns else ""
    mine, theirs = (_numbered(f).select(*(f"c{n}" for n in fixed)) for f in (stored, wanted))
    lists = [place for place, n in enumerate(fixed) if n in open_ones.lists]
    floats = _floats(open_ones)
    differ = compare(work.engine, mine, theirs, floats=floats, unordered=lists)
    return "" if differ else note


def _floats(open_ones: Choices, exact: bool = True) -> Floats:
    """How floats are compared, by what the text does with them; `exact`: so are the inputs."""
    return Floats(open_ones.adds_up or not exact, not open_ones.picks_zeros, open_ones.moments)


def _numbered(frame: DataFrame) -> DataFrame:
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


def _other_columns(stored: DataFrame, wanted: DataFrame, names_only: bool) -> tuple[str, ...]:
    """How the columns of a view differ from those of its text; what has no type is stored as text."""
    mine, theirs = columns_of(stored), columns_of(wanted)
    if [c.name for c in mine] != [c.name for c in theirs]:
        return (f"the view has {', '.join(stored.columns)}; the text gives {', '.join(wanted.columns)}",)
    pairs = zip(mine, theirs, strict=True)
    return tuple(
        f"{one.name} is {one.type}; the text gives {other.type}"
        for one, other in pairs
        if not names_only and one.type != _stored_type(other.type)
    )


def _said_not_null(work: Workspace, entry: Entry, view: ViewDefinition) -> tuple[str, ...]:
    """Columns that are stored as NOT NULL, and may be NULL as far as Spark says of the text."""
    if is_rewritten(view):
        return ()
    stored = {column.name for column in entry.relations[view.name].columns if not column.nullable}
    wanted = analysed_columns(work.engine, Draft(entry, "verify"), view.sql)
    names = [shown(column.name) for column in wanted if column.nullable and column.name in stored]
    return tuple(f"{name} is NOT NULL; the text gives NULL" for name in names)


def _stored_type(kind: str) -> str:
    return "string" if kind == "void" else kind
