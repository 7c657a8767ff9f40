"""Diffs of one stored relation that can be one diff are one: each is a layer that is written.

Insertions agree wherever they tell of the same row, and deletions by the same IDs say the same, so that
their union without duplicates is effective. Updates stay apart: two may tell different things of a row
that another diff deletes, and a diff has one row for its key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from viewkeeper.algebra.build import is_empty, restricted_to, union_all
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Distinct
from viewkeeper.maintenance.id_diffs.diffs import delete_schema
from viewkeeper.maintenance.id_diffs.rules.change import Propagated


def gathered(changes: Iterable[Propagated]) -> Iterator[Propagated]:
    """One insertion, and one deletion for each set of IDs, in the place of the first of them."""
    groups: dict[object, list[Propagated]] = {}
    for number, change in enumerate(change for change in changes if not is_empty(change.query)):
        kind, ids = change.schema.kind, frozenset(change.schema.ids)
        alone = kind in (DiffKind.UPDATE, DiffKind.MOVE)
        groups.setdefault(number if alone else (kind, ids), []).append(change)
    return (group[0] if len(group) == 1 else _union(group) for group in groups.values())


def _union(group: list[Propagated]) -> Propagated:
    schema = group[0].schema
    if schema.kind is DiffKind.DELETE:
        schema = delete_schema(schema.relation, schema.ids)
    rows = (restricted_to(change.query, schema.columns) for change in group)
    return Propagated(schema, Distinct(union_all(rows, schema.columns), exact=True))
