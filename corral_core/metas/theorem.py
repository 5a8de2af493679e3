"""Theorem 4.11 of Pacchiano et al. 2020, the main theorem of Stochastic CORRAL: what its two metas have in common.

It is about smoothed bases, the bias U_j(s)/s and the base test, with literal bounds at delta <= 1/sqrt(T). If some base
is adapted and U_*(T) = c T^alpha, alpha in [1/2, 1), then the regret is of the order that each meta states. Smoothing
keeps a bound only if U(t) > 8 sqrt(t ln(t^2/delta)) (Proposition 4.3), and the proof needs U(t)/t to fall (Lemmas B.1
and B.2).

Assumption 2.1 has mean rewards in [-1, 1] and 1-sub-Gaussian noise. A meta is told bounds in units of the whole range,
half as large as the theorem's.

Source: Pacchiano et al., "Model selection in contextual stochastic bandit problems", 2020, Section 4 and Appendix A.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from corral_core.bounds import Bound
from corral_core.protocols.meta import Condition, MetaProblem
from corral_core.rows import Array

SOURCE = "Theorem 4.11 of Pacchiano et al. 2020"
REQUIRES: MappingProxyType[str, Any] = MappingProxyType(
    {"player": "smooth", "bias": 1.0, "base_test": True, "bound": "literal", "units": "range", "clip": "auto"}
)
GIVEN = "general (the rate was given)"  # the row of the table if a rate is not "auto"
LONGEST = 2**62  # rounds: how far bounds are looked at


def conditions(told: MetaProblem) -> Iterator[Condition]:
    """What the theorem assumes about delta and the bounds."""
    limit = 1 / math.sqrt(told.rounds)
    yield Condition(f"delta = {told.delta:.3g} is at most 1/sqrt(T) = {limit:.3g}", told.delta <= limit)
    bounds = [bound for bound in told.bounds if bound is not None]
    exponents = sorted({term.alpha for bound in bounds if (term := bound.leading)})
    shown = ", ".join(f"{alpha:.3g}" for alpha in exponents) or "none below 1"
    fits = bool(exponents) and all(0.5 <= alpha < 1 for alpha in exponents)
    yield Condition(f"exponents of the bounds ({shown}) lie in [1/2, 1)", fits)
    if not bounds:
        return
    t = np.unique(np.geomspace(1, min(told.rounds, LONGEST), 10_000).round())  # all that is compared is smooth in t
    needed = smoothing_needs(t, told.delta)
    wide = all(bool((2 * bound(t) > needed).all()) for bound in bounds)
    yield Condition("literal bounds exceed 8 sqrt(t ln(t^2/delta)) at every t", wide)
    yield Condition("U(t)/t never grows", all(_falls(bound, t) for bound in bounds))


def smoothing_needs(t: Array, delta: float) -> Array:
    """8 sqrt(t ln(t^2/delta)): what U(t) must exceed for smoothing to preserve it (Proposition 4.3)."""
    return np.asarray(8 * np.sqrt(t * np.log(t**2 / delta)))


def _falls(bound: Bound, t: Array) -> bool:
    average = bound(t) / t
    return bool((average[1:] <= average[:-1] * (1 + 1e-9)).all())
