"""Inner joins on any condition: gupta93 Definition 4.1, one term per changed input.

    Δ(R₁ ⋈ … ⋈ Rₙ) = ⊎ᵢ  R₁ᵛ ⋈ … ⋈ Rᵢ₋₁ᵛ ⋈ δRᵢ ⋈ Rᵢ₊₁ ⋈ … ⋈ Rₙ

New states stand before the changed input and old ones after it: n terms for n changed inputs, where
blakeley86's truth table has 2ⁿ − 1 rows. A self-join is no special case. Each term is evaluated from its
delta outwards, and inputs that did not change are joined once, with the sum of the terms.
"""

from __future__ import annotations

from viewkeeper.algebra.build import restricted_to, union_all
from viewkeeper.algebra.relations import Relation
from viewkeeper.delta.join_block import JoinBlock
from viewkeeper.delta.states import Input


def delta_inner_join(block: JoinBlock, inputs: tuple[Input, ...]) -> Relation:
    changed = [number for number, each in enumerate(inputs) if not each.is_unchanged]
    core = _core(block, changed)
    columns = tuple(name for number in core for name in block.inputs[number].columns)
    terms = [restricted_to(_term(block, inputs, core, number), columns) for number in changed]
    everything = union_all(terms, columns)
    rest = [number for number in range(len(inputs)) if number not in core]
    while rest:
        rest.remove(number := block.next_to(everything, rest))
        everything = block.join(everything, inputs[number].new)
    return restricted_to(everything, block.columns)


def _core(block: JoinBlock, changed: list[int]) -> list[int]:
    """The changed inputs, and what connects them where they are not connected by themselves."""
    core, rest = [changed[0]], [n for n in range(len(block.inputs)) if n != changed[0]]
    around = block.inputs[changed[0]]
    while not set(changed) <= set(core):
        number = block.next_to(around, rest, changed)
        rest.remove(number)
        core.append(number)
        around = block.join(around, block.inputs[number])
    return sorted(core)


def _term(block: JoinBlock, inputs: tuple[Input, ...], core: list[int], number: int) -> Relation:
    """The rows that the change of one input makes, with the other inputs of the core."""
    term, rest = inputs[number].delta, [other for other in core if other != number]
    while rest:
        rest.remove(other := block.next_to(term, rest))
        state = inputs[other].new if other < number else inputs[other].old
        term = block.join(term, state)
    return term
