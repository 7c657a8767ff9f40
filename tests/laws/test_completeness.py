"""Every node of the algebra has a rule, a renderer, a printer and a generator.

The union type is walked, so that a node added to it fails here until all of them know it.
"""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given

from tests.laws.databases import TABLES, History, histories
from tests.laws.harness import rows_of, start
from tests.laws.plans import GENERATORS, Typed, plans_with
from tests.laws.settings import cases
from viewkeeper.algebra.counts import is_counted, plain, weighted
from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import (
    Affected,
    Expand,
    Fixpoint,
    Reference,
    Relation,
    Values,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import children, nodes, with_children
from viewkeeper.delta import delta
from viewkeeper.errors import CannotMaintain
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import restrict
from viewkeeper.sql.show import headline, show

NODES = get_args(Relation)
WITHOUT_DELTA = (Affected, Expand, Fixpoint, Reference, Values)


def of_every_kind(law):
    """A law as one test per node type, over plans that have such a node."""
    return pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)(law)


def test_every_node_has_a_generator() -> None:
    assert set(GENERATORS) == set(NODES)


@of_every_kind
def test_every_node_is_generated_printed_walked_counted_and_rendered(node: type) -> None:
    seen = 0

    @cases(12)
    @given(plans_with(node, budget=3), histories())
    def check(view: Typed, history: History) -> None:
        nonlocal seen
        found = [n for n in nodes(view.rel) if isinstance(n, node)]
        seen += len(found)
        start(history)
        for n in found:
            assert headline(n)
            assert show(n).startswith(headline(n))
            assert with_children(n, children(n)) is n
            assert plain(n).columns == n.columns
            assert weighted(n).columns == (*n.columns, COUNT)
        rows = rows_of(weighted(view.rel))
        assert is_counted(view.rel) or all(row[-1] == 1 for row in rows)
        assert all(len(row) == len(view.rel.columns) + 1 for row in rows)

    check()
    assert seen > 0


@of_every_kind
def test_every_node_has_a_delta_rule_or_a_refusal(node: type) -> None:
    @cases(12)
    @given(plans_with(node, budget=2))
    def check(view: Typed) -> None:
        for n in nodes(view.rel):
            try:
                assert delta(n, frozenset(TABLES)).columns == n.columns
            except (MalformedPlan, CannotMaintain):
                assert any(isinstance(part, WITHOUT_DELTA) for part in nodes(n))

    check()


@of_every_kind
def test_every_node_can_be_restricted(node: type) -> None:
    @cases(12)
    @given(plans_with(node, budget=2))
    def check(view: Typed) -> None:
        if view.rel.columns:
            names = view.rel.columns[:1]
            assert restrict(view.rel, mentioned(view.rel, names)).columns == view.rel.columns

    check()
