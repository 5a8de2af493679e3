"""Learning rates of CORRAL and EXP3.P: the paper's table (Theorem 4.11), and rates that a user sets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.errors import CorralError, shortened
from corral_core.metas.formulas import FormulaError, evaluate
from corral_core.protocols.meta import MetaProblem

ALPHA = 'exponent of U_*(T) = c T^alpha that "auto" is made for (default: that of the bounds)'
C = "its constant, in units of the reward range (default: that of the bounds' shape)"


@attrs.frozen
class Target:
    """What the bounds say about U_*(T) = c T^alpha, and so which row of the paper's table applies."""

    row: str
    alpha: float | None = None
    c: float | None = None
    given: tuple[str, ...] = ()  # which of alpha and c the user gave

    @property
    def sentence(self) -> str:
        """Which row of the table applies, and which alpha and c it was read with."""
        values = {"alpha": self.alpha, "c": self.c}
        known = {name: f"{name} = {value:.4g}" for name, value in values.items() if value is not None}
        of_shape = [said for name, said in known.items() if name not in self.given]
        parts = [f"{' and '.join(known[name] for name in self.given)} as given"] if self.given else []
        if of_shape:
            parts.append(f"{' and '.join(of_shape)} of the bounds' shape without logarithms and delta")
        return f"the paper's table, row '{self.row}'" + (f", with {', '.join(parts)}" if parts else "")


def target(bounds: Sequence[Bound | None]) -> Target:
    """What all bounds agree on, because it is unknown in advance which base is best.

    alpha and c known    every bound has the same leading term
    alpha known          the leading terms differ only in c
    neither known        otherwise: a base without a bound, or different exponents
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


def aim(problem: MetaProblem, alpha: float | None, c: float | None, meta: str) -> Target:
    """The target of these bounds, or the one with the alpha and c that a user gave instead."""
    found = target(problem.bounds)
    given = tuple(name for name, value in (("alpha", alpha), ("c", c)) if value is not None)
    if not given:
        return found
    if alpha is None and found.alpha is None:
        raise CorralError(f"{meta}: c = {c:g} needs an alpha, and the bases do not agree on one; set alpha too")
    if alpha is None or alpha == found.alpha:  # a c of the bounds belongs to their own alpha
        alpha, c = found.alpha, found.c if c is None else c
    row = "alpha known, c unknown" if c is None else "alpha and c known"
    return Target(row, alpha, c, given)


def corral_rate(bases: int, rounds: int, aim: Target) -> float:
    """eta = M^alpha / (c T^alpha), with c = 1 if it is unknown, and T^-1/2 if alpha is unknown too; at most 1.

    With a rate above 1 a single loss would move all the probability.
    """
    if aim.alpha is None:
        return float(rounds**-0.5)
    return float(min((bases / rounds) ** aim.alpha / (aim.c or 1.0), 1.0))


def exp3p_rate(bases: int, rounds: int, aim: Target) -> float:
    """p = min(1/2M, T^-(1-a)/(2-a) M^-1/(2-a) c^1/(2-a)), with c = 1 if unknown, and T^-1/3 if alpha is."""
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


def rate_of(value: float | str, problem: MetaProblem, parameter: str, *, zero: bool = False) -> float | None:
    """A rate the user gave: a number, or a formula of T (rounds), M (bases) and horizon (plays); None for "auto".

    It must be positive; with `zero`, it may be 0.
    """
    if value == "auto":
        return None
    shown = shortened(str(value))
    if isinstance(value, str):
        plays = problem.rounds if problem.plays is None else problem.plays
        try:
            rate = evaluate(value, {"T": problem.rounds, "M": problem.bases, "horizon": plays})
        except FormulaError as wrong:
            like = 'a number, "auto" or a formula like "20/sqrt(T)"'
            raise CorralError(f'{parameter} must be {like}, not "{shown}": {wrong}') from None
    else:
        rate = float(value)
    if not 0 < rate < math.inf and not (zero and rate == 0):
        wanted = "finite and at least 0" if zero else "positive and finite"
        raise CorralError(f"{parameter} must be {wanted}, not {shown}")
    return rate
