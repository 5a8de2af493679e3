"""Regret bounds U(s, delta), and the rates and guarantees that follow from them.

A base's bound has two forms: *literal*, with the constants of its source, and a *shape*, the sum of terms c s^alpha
that the analysis of Stochastic CORRAL works with. Both are in raw reward units; `scaled` turns them into the units of
a meta-algorithm, in which mean rewards span [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from corral_core.errors import CorralError

Array = NDArray[Any]


class Term(NamedTuple):
    """c s^alpha."""

    c: float
    alpha: float


@attrs.frozen(eq=False)
class Bound:
    """U(s) for a fixed delta: with high probability the regret of the first s plays is at most U(s), for all s."""

    literal: Callable[[Array], Array]
    shape: tuple[Term, ...]

    def __call__(self, plays: Any, mode: str = "literal") -> Array:
        """U at these numbers of plays; mode is `literal` or `shape`."""
        s = np.asarray(plays, dtype=np.float64)
        found = self.literal(s) if mode == "literal" else sum(c * s**alpha for c, alpha in self.shape)
        return np.broadcast_to(np.asarray(found, dtype=np.float64), s.shape)  # a bound may be constant

    def scaled(self, factor: float) -> Bound:
        """This bound with regret measured in other units."""
        literal = self.literal
        return Bound(lambda s: factor * literal(s), tuple(Term(factor * c, alpha) for c, alpha in self.shape))

    @property
    def leading(self) -> Term | None:
        """The largest term that is below linear: what learning rates are tuned to (a linear term no rate can mend)."""
        terms = [term for term in self.shape if term.c > 0 and term.alpha < 1]
        return max(terms, key=lambda term: (term.alpha, term.c), default=None)


class BoundTable:
    """U_j(s) for all bases j, tabulated as far as any base has got; (bases, plays) with column 0 unused."""

    def __init__(self, bounds: Sequence[Bound], mode: str = "literal") -> None:
        self._bounds = bounds
        self._mode = mode
        self._table: Array = np.empty((len(bounds), 0))

    def __call__(self, base: Array, plays: Array) -> Array:
        """U of each base at its own number of plays (at least 1)."""
        width = self._table.shape[1]
        most = int(plays.max(initial=0))
        if most >= width:
            width = max(1024, 2 * most)
            s = np.arange(1, width, dtype=np.float64)
            rows = [np.concatenate([[0.0], bound(s, self._mode)]) for bound in self._bounds]
            self._table = np.ascontiguousarray(rows)
            if not np.isfinite(self._table).all():
                raise CorralError("a base's regret bound is not a finite number at every number of plays")
        found: Array = self._table.take(base * width + plays)
        return found


# --- The paper's table (Theorem 4.11): rates, and the regret they buy -------------------------------------------------


@attrs.frozen
class Target:
    """What the bounds tell about U_*(T) = c T^alpha, and so which row of the paper's table applies."""

    row: str
    alpha: float | None = None
    c: float | None = None


def target(bounds: Sequence[Bound | None]) -> Target:
    """The best base is not known beforehand: only what all bases agree on is.

    alpha and c known    every bound has the same leading term
    alpha known          the leading terms differ in c alone
    neither known        otherwise: no bound, or exponents that differ
    """
    leading = [bound.leading if bound else None for bound in bounds]
    if not leading or None in leading:
        return Target("neither alpha nor c known")
    exponents = {round(term.alpha, 12) for term in leading if term}
    constants = {float(f"{term.c:.9g}") for term in leading if term}
    if len(exponents) > 1:
        return Target("neither alpha nor c known")
    if len(constants) > 1:
        return Target("alpha known, c unknown", exponents.pop())
    return Target("alpha and c known", exponents.pop(), constants.pop())


def corral_rate(bases: int, rounds: int, aim: Target) -> float:
    """eta = M^alpha / (c T^alpha), with c = 1 where it is unknown, and T^-1/2 where alpha is unknown too; at most 1.

    With a rate above 1 a single loss would move all the probability.
    """
    if aim.alpha is None:
        return float(rounds**-0.5)
    return float(min((bases / rounds) ** aim.alpha / (aim.c or 1.0), 1.0))


def exp3p_rate(bases: int, rounds: int, aim: Target) -> float:
    """p = min(1/2M, T^-(1-a)/(2-a) M^-1/(2-a) c^1/(2-a)), with c = 1 where unknown, and T^-1/3 where alpha is."""
    if aim.alpha is None:
        rate = rounds ** (-1 / 3)
    else:
        rate = (rounds ** (aim.alpha - 1) * (aim.c or 1.0) / bases) ** (1 / (2 - aim.alpha))
    return float(min(rate, 0.5 / bases))


def corral_guarantee(bases: int, rounds: int, eta: float, term: Term) -> float:
    """sqrt(MT) + M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha); constants and logarithms are left out."""
    c, alpha = np.float64(term.c), term.alpha
    with np.errstate(over="ignore"):
        learning = bases / eta + rounds * eta + rounds * c ** (1 / alpha) * eta ** ((1 - alpha) / alpha)
    return float(math.sqrt(bases * rounds) + learning)


def exp3p_guarantee(bases: int, rounds: int, rate: float, term: Term) -> float:
    """sqrt(MT) + MTp + 1/p + T^alpha p^(alpha-1) c; constants and logarithms are left out."""
    c, alpha = term
    exploring = bases * rounds * rate + 1 / rate + rounds**alpha * rate ** (alpha - 1) * c
    return float(math.sqrt(bases * rounds) + exploring)


def smoothing_needs(t: Array, delta: float) -> Array:
    """8 sqrt(t ln(t^2/delta)): what U(t) must exceed for smoothing to keep it (Proposition 4.3)."""
    return np.asarray(8 * np.sqrt(t * np.log(t**2 / delta)))
