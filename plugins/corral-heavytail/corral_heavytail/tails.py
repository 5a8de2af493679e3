"""What MENU and TOFU share: the order and the size of the moment that they are told, and how it enters their widths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from attrs.validators import and_, ge, gt, le, optional

from corral_core.errors import CorralError
from corral_core.protocols.parameters import fitted, knob, parameter
from corral_core.protocols.problem import Problem
from corral_core.rows import Array


def epsilon_field() -> Any:
    """The order of the moment, less one."""
    return knob(
        1.0,
        help="payoffs have a finite moment of order 1 + epsilon; 1 is a finite variance",
        validator=and_(gt(0), le(1)),
    )


def moment_field(what: str, least: Any) -> Any:
    """The size of the moment; `least` is a validator."""
    return knob(
        None,
        help=f"bound on {what}; left out, it follows from the environment's sub-Gaussian noise, where it has one",
        validator=optional(and_(least, le(1e18))),
    )


def magnitude_field() -> Any:
    """The size of the moment in the units of payoffs, in which bases of several epsilon can be told the same."""
    return parameter(
        None,
        help="m, in place of moment: the moment is m^(1 + epsilon)",
        validator=optional(and_(ge(0), le(1e9))),
    )


def horizon_field() -> Any:
    """N, which is in all the logarithms."""
    return fitted(help="N: the most plays it can make", validator=ge(1))


def settled(base: Any, problem: Problem, raw: bool) -> float:
    """The moment of a base, from what it was told, or by Jensen's inequality from sub-Gaussian noise sigma.

    E|noise|^(1+epsilon) <= sigma^(1+epsilon); of the payoff itself (`raw`), whose mean lies in the problem's range,
    E|y|^(1+epsilon) <= (sigma^2 + max(low^2, high^2))^((1+epsilon)/2).
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
            f"{base.name} needs moment, a bound on the moment of {what} of order {order:g}, or its root, magnitude: "
            f"{problem.environment} tells no {missing} from which it would follow"
        )
    mean = max(abs(problem.low or 0.0), abs(problem.high or 0.0)) if raw else 0.0
    try:
        return float(math.hypot(problem.noise, mean) ** order)
    except OverflowError:
        return math.inf


def root(moment: Array, epsilon: Array) -> Array:
    """moment^(1/(1+epsilon)), in the units of payoffs."""
    return np.asarray(moment ** (1 / (1 + epsilon)))


def growth(plays: Array, epsilon: Array) -> Array:
    """n^((1-epsilon)/(2(1+epsilon))): how confidence widths grow where there is no variance."""
    return np.asarray(plays ** ((1 - epsilon) / (2 * (1 + epsilon))))
