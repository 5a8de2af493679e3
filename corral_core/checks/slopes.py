"""The check that measures how fast the regret of a base grows, and compares it with the bound that the base states."""

from __future__ import annotations

import numpy as np

from corral_core.checks.rules import Checks, broken
from corral_core.checks.trial import BaseCase
from corral_core.errors import CorralError
from corral_core.rows import Array
from corral_core.simulation.simulate import try_out

SLOPES = Checks()
demand = SLOPES.demand
HORIZONS = 100, 400, 1600  # each base is fitted to each of them
ROWS = 40
ERRORS = 5
LOGARITHMS = 0.2


def states_an_exponent(case: BaseCase) -> bool:
    """Whether the base states a bound without a linear term, in an environment that reports regret."""
    bound = case.base.bound(1 / HORIZONS[-1])
    terms = [term for term in bound.shape if term.c > 0] if bound else []
    return case.environment.problem.regret and bool(terms) and all(term.alpha < 1 for term in terms)


@demand(when=states_an_exponent, warns=True)
def regret_grows_as_stated(case: BaseCase) -> None:
    """Played alone, the base's regret grows no faster than the largest power of s in the shape of its bound.

    R(T) is the mean regret of 40 rows after T plays by a base fitted to T; a row has the same instance for every T.
    From T to 4T the slope is ln(R(4T)/R(T)) / ln 4. Its standard error is that of the mean over the rows of
    r(4T)/R(4T) - r(T)/R(T), divided by ln 4 (delta method). The check warns if the slope exceeds the stated exponent
    alpha by 5 standard errors plus a margin, from 100 to 400 plays and again from 400 to 1600, and R(1600) exceeds the
    shape of the bound: a regret below c s^alpha does not contradict it, however fast it grows at first.

    The margin is 0.2 or half of 1 - alpha, if that is less. Shapes leave out logarithms; from 400 to 1600 plays ln s
    grows like s^0.15. Nothing is measured if R(100) is less than 5 standard errors above zero. A base whose slope is at
    most alpha plus the margin warns with a probability below 1e-5 (Student's t, 39 degrees of freedom).
    """
    try:
        before = _regret(case, HORIZONS[0])
        if before.mean() <= ERRORS * _error(before):
            return
        for plays in HORIZONS[1:]:
            after = _regret(case, plays)
            slope, error = _slope(before, after)
            alpha = _shape(case, plays)[1]
            if slope <= alpha + min(LOGARITHMS, (1 - alpha) / 2) + ERRORS * error:
                return
            before = after
    except CorralError:  # it refuses such a horizon, so it states nothing about it
        return
    if after.mean() > _shape(case, plays)[0]:
        broken(
            f"from {plays // 4} to {plays} plays its regret grows like s^{slope:.2f} (standard error {error:.2f}), to "
            f"{after.mean():.4g}, but its bound says s^{alpha:.2f}; `bound` must return None where it does not hold"
        )


def _regret(case: BaseCase, plays: int) -> Array:
    """The regret of every row after this many plays."""
    regret = try_out(case.environment, case.asked, horizon=plays, rows=ROWS).regret
    assert regret is not None
    return np.asarray(regret[:, -1])


def _shape(case: BaseCase, plays: int) -> tuple[float, float]:
    """The value of the bound's shape at the horizon, and its largest exponent."""
    bound = case.asked.resolve(case.problem(plays)).bound(1 / plays)
    if bound is None:
        return np.inf, 1.0
    return float(bound(plays, "shape")), max(term.alpha for term in bound.shape if term.c > 0)


def _slope(before: Array, after: Array) -> tuple[float, float]:
    """Slope of the logarithm of the mean between two horizons, with its standard error."""
    ratio = np.log(HORIZONS[1] / HORIZONS[0])
    slope = np.log(after.mean() / before.mean()) / ratio
    return float(slope), _error(after / after.mean() - before / before.mean()) / ratio


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
