"""What MENU and TOFU share: the order and size of the moment they assume, and how it enters their widths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from attrs.validators import and_, ge, gt, le, optional

from corral_core import Array, CorralError, Problem, fitted, knob, parameter


def epsilon_field() -> Any:
    """The order of the moment, minus one."""
    return knob(
        1.0,
        help="payoffs have a finite moment of order 1 + epsilon; 1 means a finite variance",
        validator=and_(gt(0), le(1)),
    )


def moment_field(what: str, least: Any) -> Any:
    """The size of the moment; `least` is a validator."""
    return knob(
        None,
        help=f"bound on {what} (default: derived from the environment's sub-Gaussian noise, if it has any)",
        validator=optional(and_(least, le(1e18))),
    )


def magnitude_field() -> Any:
    """The size of the moment in the units of payoffs, so that bases with different epsilon can share one value."""
    return parameter(
        None,
        help="m, instead of moment: the moment is m^(1 + epsilon)",
        validator=optional(and_(ge(0), le(1e9))),
    )


def horizon_field() -> Any:
    """The horizon N, which is in all the logarithms."""
    return fitted(help="N: maximum number of plays", validator=ge(1))


def settled(base: Any, problem: Problem, raw: bool) -> float:
    """The moment of a base: as set by the user, or by Jensen's inequality from sub-Gaussian noise sigma.

    For the noise, E|noise|^(1+epsilon) <= sigma^(1+epsilon). For the payoff itself (`raw`), whose mean lies in the
    problem's range, E|y|^(1+epsilon) <= (sigma^2 + max(low^2, high^2))^((1+epsilon)/2).
    """
    moment, magnitude, order = base.moment, base.magnitude, 1 + base.epsilon
    if magnitude is not None:
        followed = float(magnitude**order)
        if moment is not None and moment != followed:
            raise CorralError(
                f"{base.name}: give moment or magnitude, not both; {moment:g} is not {magnitude:g}^(1 + epsilon)"
            )
        return followed
    if moment is not None:
        return float(moment)
    missing = "sub-Gaussian noise" if problem.noise is None else "range of the mean"
    if problem.noise is None or (raw and (problem.low is None or problem.high is None)):
        what = "payoffs" if raw else "the noise"
        raise CorralError(
            f"{base.name} needs moment, a bound on the moment of order {order:g} of {what}, or magnitude, its root: "
            f"{problem.environment} publishes no {missing} to derive it from"
        )
    mean = max(abs(problem.low or 0.0), abs(problem.high or 0.0)) if raw else 0.0
    try:
        return float(math.hypot(problem.noise, mean) ** order)
    except OverflowError:
        return math.inf


def root(moment: Array, epsilon: Array) -> Array:
    """The root moment^(1/(1+epsilon)), in the units of payoffs."""
    return np.asarray(moment ** (1 / (1 + epsilon)))


def growth(plays: Array, epsilon: Array) -> Array:
    """The factor n^((1-epsilon)/(2(1+epsilon))) by which confidence widths grow if there is no variance."""
    return np.asarray(plays ** ((1 - epsilon) / (2 * (1 + epsilon))))
