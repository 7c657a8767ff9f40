"""The results of passes 1 and 2 as text: each subview with its IDs, each rule with what it uses."""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.maintenance.id_diffs.ids import Component, Subview
from viewkeeper.maintenance.id_diffs.instantiate import RuleDag
from viewkeeper.sql.show import headline
from viewkeeper.sql.show import show as show_plan


def show_ids(top: Subview) -> str:
    """Figure 5a's ovals: the plan, one operator a line, with IDs and what depends on parts of them."""
    return "\n".join(_operators(top, 0))


def _operators(view: Subview, depth: int) -> Iterator[str]:
    known = "; ".join(_dependency(part) for part in view.components)
    yield f"{'  ' * depth}{view.name} {headline(view.plan)}  [IDs {', '.join(view.ids) or 'none'}: {known}]"
    for below in view.inputs:
        yield from _operators(below, depth + 1)


def _dependency(part: Component) -> str:
    return f"{', '.join(part.ids)} → {', '.join(part.attributes) or 'nothing'}"


def show_rules(dag: RuleDag) -> str:
    """Figure 6: every instantiated rule, those of blocking operators marked."""
    return "\n".join(_rules(dag))


def _rules(dag: RuleDag) -> Iterator[str]:
    for rule in dag.rules:
        kind = " (blocking)" if rule.blocking else ""
        yield f"{rule.subview}{kind}: {rule.name if rule.schema is None else f'{rule.name} {rule.schema}'}"
        yield from (f"  {line}" for line in show_plan(rule.query).splitlines())
