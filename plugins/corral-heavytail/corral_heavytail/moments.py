"""Moments of payoffs with heavy tails, as MENU and TOFU need them.

MENU needs a bound on E|y - E y|^q, the moment of the noise, and TOFU a bound on E|y|^q, the moment of the payoff
itself, both of order q = 1 + epsilon. If the moment has no closed form, these functions return a simple bound that is
not far above it.

>>> round(student_t_moment(2.0, df=3.0), 9)
3.0
>>> round(pareto_moment(1.5, shape=2.0, mean=3.1), 2)  # the third setting of Shao et al. 2018
7.72
>>> student_t_moment(3.0, df=3.0)
Traceback (most recent call last):
corral_core.errors.CorralError: Student's t with 3 degrees of freedom only has moments of orders below 3, not of 3
"""

from __future__ import annotations

import math
from collections.abc import Callable

from corral_core import CorralError


def student_t_moment(order: float, df: float, scale: float = 1.0) -> float:
    """The moment E|scale t|^q = scale^q df^(q/2) G((q+1)/2) G((df-q)/2)/(sqrt(pi) G(df/2)) of Student's t."""
    _check(order, df, f"Student's t with {df:g} degrees of freedom")
    _check_size("scale", scale)

    def moment() -> float:
        gamma = math.lgamma((order + 1) / 2) + math.lgamma((df - order) / 2) - math.lgamma(df / 2)
        return float((scale * math.sqrt(df)) ** order * math.exp(gamma) / math.sqrt(math.pi))

    return _finite(moment)


def student_t_payoff_moment(order: float, df: float, mean: float, scale: float = 1.0) -> float:
    """A bound on E|mean + scale t|^q, q at least 1: the smaller of Minkowski's, and Jensen's from a second moment.

    At order 2 it is the moment itself.
    """
    noise = student_t_moment(order, df, scale)
    _check_size("|mean|", abs(mean))
    bound = _finite(lambda: (abs(mean) + noise ** (1 / order)) ** order)
    if df > 2 >= order:
        bound = min(bound, _finite(lambda: (mean**2 + student_t_moment(2.0, df, scale)) ** (order / 2)))
    return bound


def pareto_moment(order: float, shape: float, mean: float) -> float:
    """The moment E y^q = a s^q/(a - q) of Pareto payoffs of shape a, whose scale is s = mean (a - 1)/a."""
    _check_pareto(order, shape, mean)
    return _finite(lambda: shape * (mean * (shape - 1) / shape) ** order / (shape - order))


def pareto_noise_moment(order: float, shape: float, mean: float) -> float:
    """A bound on E|y - mean|^q for Pareto payoffs: exact above the mean m, and the largest deviation below it.

    With s the scale: a s^a m^(q-a) B(q + 1, a - q) + (m - s)^q (1 - (s/m)^a), B Euler's beta function.
    """
    _check_pareto(order, shape, mean)
    ratio = (shape - 1) / shape  # s/m

    def moment() -> float:
        beta = math.exp(math.lgamma(order + 1) + math.lgamma(shape - order) - math.lgamma(shape + 1))
        return float(mean**order * (shape * ratio**shape * beta + (1 - ratio) ** order * (1 - ratio**shape)))

    return _finite(moment)


def _finite(moment: Callable[[], float]) -> float:
    """The moment, or an error if it is too large for a floating-point number."""
    try:
        found = float(moment())
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise CorralError("this moment is too large for a floating-point number; measure payoffs in larger units")
    return found


def _check_pareto(order: float, shape: float, mean: float) -> None:
    if shape <= 1:
        raise CorralError(f"a Pareto distribution of shape {shape:g} has no mean; the shape must be above 1")
    _check(order, shape, f"a Pareto distribution of shape {shape:g}")
    _check_size("mean", mean)


def _check(order: float, least: float, law: str) -> None:
    if not order > 0:
        raise CorralError(f"the order of a moment must be positive, not {order:g}")
    if not order < least:
        raise CorralError(f"{law} only has moments of orders below {least:g}, not of {order:g}")


def _check_size(name: str, size: float) -> None:
    if not 0 <= size < math.inf:
        raise CorralError(f"{name} must be a finite number of at least 0, not {size:g}")
