"""Inner joins on any condition: gupta93 Definition 4.1, one term per changed input.

    Δ(R₁ ⋈ … ⋈ Rₙ) = ⊎ᵢ  R₁ᵛ ⋈ … ⋈ Rᵢ₋₁ᵛ ⋈ δRᵢ ⋈ Rᵢ₊₁ ⋈ … ⋈ Rₙ

New states stand before the changed input and old ones after it: n terms for n changed inputs, where
blakeley86's truth table has 2ⁿ − 1 rows. A self-join is no special case. The inputs are taken in an order
that begins with changed ones; the terms so far are joined with the next input together:

    Δ₁ = δR₁        Δᵢ = Δᵢ₋₁ ⋈ Rᵢ  ⊎  δRᵢ ⋈ (R₁ᵛ ⋈ … ⋈ Rᵢ₋₁ᵛ)

and every term is evaluated from its delta outwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.algebra.build import is_empty, restricted_to, union_all
from viewkeeper.algebra.relations import Relation
from viewkeeper.delta.states import Operand
from viewkeeper.rewrite.join_block import JoinBlock


def delta_inner_join(block: JoinBlock, inputs: tuple[Operand, ...]) -> Relation:
    changed = [number for number, each in enumerate(inputs) if not each.is_unchanged]
    first, *others = block.order(changed)
    change, before = inputs[first].delta, [first]
    for number in others:
        term = _term(block, inputs, before, number)
        more = block.join(change, inputs[number].old)
        change = union_all((more, restricted_to(term, more.columns)), more.columns)
        before.append(number)
    return restricted_to(change, block.columns)


def _term(block: JoinBlock, inputs: Sequence[Operand], before: Sequence[int], number: int) -> Relation:
    """The change of one input with the new states of the inputs before it."""
    term, rest = inputs[number].delta, list(before)
    while rest and not is_empty(term):
        rest.remove(other := block.next_to(term.columns, rest))
        term = block.join(term, inputs[other].new)
    return term
