"""Variance, deviation, covariance, correlation from counts, means and central moments, as Spark keeps them.

    n, m = avg(x), s = Σ(x − m)²        of pairs also  c = Σ(x − m_x)(y − m_y)

Sums of squares would cancel: of values near 10⁹ that differ by tenths nothing is left. Moments do not add up
column by column, so that the stored ones stand beside those of the inserted and of the deleted rows, and
Chan's formulas put them together:

    merge     n = n₀ + n₁     m = m₀ + (m₁ − m₀)·n₁/n      s = s₀ + s₁ + (m₁ − m₀)²·n₀·n₁/n
    take out  n = nₐ − n₂     m = mₐ − (m₂ − mₐ)·n₂/n      s = sₐ − s₂ − (m₂ − m)²·n·n₂/nₐ

Taking values out loses the digits by which s shrinks. The greatest s since the group was last computed from
its rows is kept beside it, and a group whose s falls below a hundredth of that is computed anew: two digits
are lost at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, is_present, not_, replace_columns
from viewkeeper.delta.parts import Decomposition, Part, PartKind, parsed, when

KEPT = "0.01"
"""The share of the greatest s since the last computation that must be left."""

_FORMULAS: dict[type[exp.Expr], str] = {
    exp.VariancePop: "CASE WHEN n > 0 THEN s / n END",
    exp.Variance: "CASE WHEN n > 1 THEN s / (n - 1) END",
    exp.StddevPop: "CASE WHEN n > 0 THEN sqrt(s / n) END",
    exp.Stddev: "CASE WHEN n > 1 THEN sqrt(s / (n - 1)) END",
    exp.StddevSamp: "CASE WHEN n > 1 THEN sqrt(s / (n - 1)) END",
    exp.CovarPop: "CASE WHEN n > 0 THEN c / n END",
    exp.CovarSamp: "CASE WHEN n > 1 THEN c / (n - 1) END",
    exp.Corr: "CASE WHEN n > 1 AND s * t > 0 THEN c / sqrt(s * t) END",
}


def moments_of(call: Scalar, filtered: Callable[[Scalar], Scalar]) -> Decomposition:
    """The state of a function of one argument."""
    x = exp.cast(filtered(call.this), "double")
    return Decomposition(_FORMULAS[type(call)], (("n", Part(PartKind.COUNT, x)), *_spread("s", "m", x)))


def pair_moments_of(call: Scalar, filtered: Callable[[Scalar], Scalar]) -> Decomposition:
    """The state of a function of two, over the pairs of which neither is NULL."""
    both = exp.and_(is_present(call.this), is_present(call.expression))
    x, y = (exp.cast(filtered(when(both, one)), "double") for one in (call.this, call.expression))
    together = Part(PartKind.COMOMENT, x, other=y)
    spreads = (*_spread("s", "m", x), *_spread("t", "w", y))
    return Decomposition(_FORMULAS[type(call)], (("n", Part(PartKind.COUNT, x)), *spreads, ("c", together)))


def _spread(spread: str, mean: str, x: Scalar) -> tuple[tuple[str, Part], ...]:
    parts = ((mean, PartKind.MEAN), (spread, PartKind.SPREAD), (f"{spread}p", PartKind.PEAK))
    return tuple((letter, Part(kind, x)) for letter, kind in parts)


PartColumn = Callable[[Part], Scalar]
"""The column that holds a part, of one of three: what was stored, what came, and what went."""


@dataclass(frozen=True)
class Moments:
    """What is known of the moments of a group: as stored, of what came and of what went."""

    stored: PartColumn
    came: PartColumn
    went: PartColumn

    def new(self, part: Part) -> Scalar:
        """The new value of a part."""
        formula = {
            PartKind.MEAN: _MEAN_LEFT,
            PartKind.SPREAD: _LEFT.format(
                s="s", a="m", b="m", mean_a=_merged_mean("m"), mean_b=_merged_mean("m")
            ),
            PartKind.PEAK: f"greatest(p0, {_MERGED.format(s='s', a='m', b='m')})",
            PartKind.COMOMENT: _LEFT.format(
                s="c", a="m", b="w", mean_a=_merged_mean("m"), mean_b=_merged_mean("w")
            ),
        }[part.kind]
        return self._over(formula, part)

    def is_lost(self, part: Part) -> Scalar:
        """Whether too little is left of a spread to know its digits, or it is not finite."""
        left = Part(PartKind.SPREAD, part.argument)
        known = f"x >= {KEPT} * y AND x - x = 0"
        determined = replace_columns(parsed(known), {"x": self.new(left), "y": self.new(part)})
        some = self._over("n2 > 0 AND n0 + n1 - n2 > 0", part)
        return exp.and_(exp.paren(some), not_(exp.func("coalesce", determined, exp.false())))

    def _over(self, formula: str, part: Part) -> Scalar:
        """A formula of letters with 0 as stored, 1 of what came and 2 of what went."""
        x, y = part.argument, part.other if part.other is not None else part.argument
        letters = {
            "m": Part(PartKind.MEAN, x),
            "w": Part(PartKind.MEAN, y),
            "s": Part(PartKind.SPREAD, x),
            "c": part,
            "p": Part(PartKind.PEAK, x),
        }
        sides = (self.stored, self.came, self.went)
        found = {f"{letter}{n}": side(one) for letter, one in letters.items() for n, side in enumerate(sides)}
        count = Part(PartKind.COUNT, x)
        stored, net, went = (
            exp.func("coalesce", held, exp.Literal.number(0))
            for held in (self.stored(count), self.came(count), self.went(count))
        )
        found |= {"n0": stored, "n1": exp.Add(this=net, expression=went), "n2": went}
        return replace_columns(parsed(formula), found)


def _merged_mean(m: str) -> str:
    """The mean of what was stored and what came."""
    return (
        f"(CASE WHEN n1 = 0 THEN {m}0 WHEN n0 = 0 THEN {m}1 ELSE {m}0 + ({m}1 - {m}0) * (n1 / (n0 + n1)) END)"
    )


_MERGED = (
    "(CASE WHEN n1 = 0 THEN {s}0 WHEN n0 = 0 THEN {s}1 "
    "ELSE {s}0 + {s}1 + ({a}1 - {a}0) * ({b}1 - {b}0) * n0 * (n1 / (n0 + n1)) END)"
)
_MEAN_LEFT = (
    "CASE WHEN n2 = 0 THEN "
    + _merged_mean("m")
    + " WHEN n0 + n1 - n2 > 0 THEN "
    + _merged_mean("m")
    + " - (m2 - "
    + _merged_mean("m")
    + ") * (n2 / (n0 + n1 - n2)) END"
)
_LEFT = (
    "CASE WHEN n2 = 0 THEN "
    + _MERGED
    + " WHEN n0 + n1 - n2 > 0 THEN "
    + _MERGED
    # m₂ − m is (m₂ − mₐ)·nₐ/n, so that (m₂ − m)²·n·n₂/nₐ is (m₂ − mₐ)²·nₐ·n₂/n
    + " - {s}2 - ({a}2 - {mean_a}) * ({b}2 - {mean_b}) * (n0 + n1) * (n2 / (n0 + n1 - n2)) END"
)
