"""Keys of a semi-join that are stored: what EXISTS and IN look at where looking again would be dear.

    L ⋉_{l=r} R   →   π_L(L ⋈_{l=r} set(π_r R))            L ▷_θ R   →   L ▷_θ set(π_r R)

Where R joins an aggregate that is stored, a change of R has to be compared with the rest of R: joins and
stored groups, of all keys that the change mentions, only to learn whether a key has another partner. gupta93
counts derivations instead. set(π_r R) becomes a stratum with the number of rows of each key, and its change
is found in these numbers alone. Other right sides are tables, in which partners are looked up.
"""

from __future__ import annotations

from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.expressions import columns_of, conjuncts
from viewkeeper.algebra.relations import Distinct, Join, JoinKind, Relation, Scan
from viewkeeper.algebra.walk import nodes
from viewkeeper.rewrite.equalities import equates_one_type


def keys_worth_storing(join: Join, strata: frozenset[str]) -> Distinct | None:
    """What the join compares of its right side, where that joins a relation among `strata`."""
    if join.kind not in (JoinKind.SEMI, JoinKind.ANTI):
        return None
    within = tuple(nodes(join.right))
    joins_a_stratum = any(isinstance(node, Scan) and node.table in strata for node in within) and any(
        isinstance(node, Join) for node in within
    )
    compared = [name for name in join.right.columns if name in columns_of(join.on)]
    return Distinct(restricted_to(join.right, compared)) if joins_a_stratum and compared else None


def met_by_keys(join: Join, keys: Relation) -> Relation:
    """The semi-join with stored keys in place of its right side; a plain join where a row meets one at most:
    values of two types may be equal to one value of a third, and different from each other."""
    if join.kind is JoinKind.SEMI and all(equates_one_type(join, part) for part in conjuncts(join.on)):
        return restricted_to(Join(join.left, keys, JoinKind.INNER, join.on), join.left.columns)
    return Join(join.left, keys, join.kind, join.on)
