"""Steps of a Δ-script written into the step that uses them: fewer queries, each with more in it.

    log = γ(Δ); upd = σ(log); apply upd        becomes        upd = σ(γ(Δ)); apply upd

What stays a step: a diff that is applied, what several steps use, and what is `there` already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.algebra.walk import nodes, rewrite
from viewkeeper.maintenance.id_diffs.script import Apply, Step


def inlined(steps: Sequence[Step], there: Collection[str] = ()) -> Iterator[Step]:
    """The same script, whose computations have explicit counts."""
    uses = _uses(steps)
    applied = {step.diff.name for step in steps if isinstance(step, Apply)}
    inside: dict[str, Relation] = {}
    for step in steps:
        if isinstance(step, Apply):
            yield step
        elif step.name not in there:
            query = _with(step.executable, inside)
            if uses[step.name] == 1 and step.name not in applied:
                inside[step.name] = query
            elif uses[step.name]:
                yield replace(step, query=query, explicit=True)


def _uses(steps: Sequence[Step]) -> Counter[str]:
    """How often each result is read by other steps, or applied."""
    found: Counter[str] = Counter()
    for step in steps:
        if isinstance(step, Apply):
            found[step.diff.name] += 1
        else:
            found.update(node.name for node in nodes(step.query) if isinstance(node, Reference))
    return found


def _with(query: Relation, inside: dict[str, Relation]) -> Relation:
    def written(node: Relation) -> Relation:
        return inside.get(node.name, node) if isinstance(node, Reference) else node

    return rewrite(query, written)
