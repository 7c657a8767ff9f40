"""Table 5: bag union. Rows carry the branch that they come from, which is one of their IDs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, literal, same
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.maintenance.id_diffs.diffs import Diff
from viewkeeper.maintenance.id_diffs.ids import Subview
from viewkeeper.maintenance.id_diffs.rules.change import Propagated, inserted


def union(view: Subview, diff: Diff, number: int) -> Iterator[Propagated]:
    """`number` is the branch of the diff; the branches were given the same columns by pass 1."""
    schema, mark = diff.schema, view.ids[-1]
    if schema.kind is DiffKind.INSERT:
        yield inserted(view, diff.rows)
        return
    before, after = _without(schema.pre, mark), _without(schema.post, mark)
    new = replace(schema, relation=view.name, ids=(*schema.ids, mark), pre=before, post=after)
    others = (name for name in new.columns if name not in new.ids)
    ids = (*same(schema.ids), Named(mark, literal(number)))
    yield Propagated(new, projected(diff.rows, (*ids, *same(others))))


def _without(names: tuple[str, ...], mark: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != mark)
