"""Learning rates of CORRAL and EXP3.P: the paper's table (Theorem 4.11), and rates that a user sets."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import attrs
import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.errors import CorralError, shortened

FORMULA = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*/\s*sqrt\(T\)\s*$")


@attrs.frozen
class Target:
    """What the bounds say about U_*(T) = c T^alpha, and so which row of the paper's table applies."""

    row: str
    alpha: float | None = None
    c: float | None = None


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


def rate_of(value: float | str, rounds: int, parameter: str) -> float | None:
    """A rate the user gave: a positive number, or "20/sqrt(T)" with T in rounds; None for "auto"."""
    if value == "auto":
        return None
    if isinstance(value, str):
        match = FORMULA.match(value)
        if not match:
            raise CorralError(
                f'{parameter} must be a number, "auto" or a formula like "20/sqrt(T)", not "{shortened(value)}"'
            )
        rate = float(match.group(1)) / math.sqrt(rounds)
    else:
        rate = float(value)
    if not 0 < rate < math.inf:
        raise CorralError(f"{parameter} must be positive and finite, not {value}")
    return rate
