"""Where intermediate results are stored (katsis15, pass 3): before and after aggregates.

- Before: the input of an aggregate, so that a diff that names rows finds their values. Not where the
  input has no join (the signed rows of the table say it all), and not where joins match many rows with
  many: reading the repetitions would cost more than computing them again (footnote 6).
- After: the output of an aggregate, to which changes are added. Where only projections stand above
  it, the view itself holds it, and no cache is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from viewkeeper.algebra.relations import Aggregate, Filter, Project, Scan, UnionAll
from viewkeeper.maintenance.id_diffs.ids import Subview, columns_of_projection, multivalued, subviews


class Caching(Enum):
    """Whether inputs of aggregates are stored. `AUTO`: unless they have multi-valued dependencies."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class ChangeSource(Enum):
    """How an aggregate learns of the changes of its input."""

    TABLES = "signed rows of the tables"
    STORED = "one look at the stored rows"
    QUERIED = "the input queried before and after"


@dataclass(frozen=True)
class Caches:
    """The stored subviews by name, how each aggregate learns of changes, and what the view holds.

    `in_view` maps the columns of the aggregate that the view holds to the view's columns.
    """

    stored: Mapping[str, str]
    sources: Mapping[str, ChangeSource]
    held: str | None = None
    in_view: Mapping[str, str] | None = None


def choose_caches(
    top: Subview, view_name: str, caching: Caching = Caching.AUTO, *, outputs: bool = True
) -> Caches:
    """What is stored besides the view; `outputs`: also what aggregates below its topmost one give."""
    stored: dict[str, str] = {}
    sources: dict[str, ChangeSource] = {}
    held, in_view = _held_by_view(top)
    for view in subviews(top):
        if not isinstance(view.plan, Aggregate):
            continue
        below = view.inputs[0]
        sources[view.name] = _source(below, stored, caching)
        if sources[view.name] is ChangeSource.STORED and not _is_at_hand(below, stored):
            stored[below.name] = f"__{view_name}_{below.name}"
        if outputs and view.name != held:
            stored[view.name] = f"__{view_name}_{view.name}"
    return Caches(stored, sources, held, in_view)


def _source(below: Subview, stored: Mapping[str, str], caching: Caching) -> ChangeSource:
    if _has_no_join(below):
        return ChangeSource.TABLES
    if _is_at_hand(below, stored):
        return ChangeSource.STORED
    if caching is Caching.NEVER or (caching is Caching.AUTO and multivalued(below)):
        return ChangeSource.QUERIED
    return ChangeSource.STORED


def _has_no_join(view: Subview) -> bool:
    match view.plan:
        case Scan():
            return True
        case Filter() | Project() | UnionAll():
            return all(_has_no_join(below) for below in view.inputs)
        case _:
            return False


def _is_at_hand(view: Subview, stored: Mapping[str, str]) -> bool:
    """Stored, or filtered and projected from what is stored."""
    if view.name in stored:
        return True
    return isinstance(view.plan, (Filter, Project)) and _is_at_hand(view.inputs[0], stored)


def _held_by_view(top: Subview) -> tuple[str | None, Mapping[str, str] | None]:
    """The aggregate below the topmost projections, and its columns in the view."""
    names = {name: name for name in top.columns}
    view = top
    while isinstance(view.plan, Project):
        up = columns_of_projection(view)
        view = view.inputs[0]
        names = {name: names[up[name]] for name in view.columns if name in up and up[name] in names}
    if not isinstance(view.plan, Aggregate) or set(names) != set(view.columns):
        return None, None
    return view.name, names
