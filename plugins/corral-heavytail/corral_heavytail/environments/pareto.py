"""Fixed arms with Pareto-distributed payoffs.

a_j ~ U[0,1]^d and theta ~ U[0,1]^d, drawn for every replicate. An arm with mean m = <a_j, theta> pays s u^(-1/a),
with u uniform on (0, 1], a the `shape` and s = m (a - 1)/a the smallest possible payoff. Moments of orders below a are
finite: with a = 2 there is no variance, and with a near 1 hardly a mean. The problem publishes no noise scale; if a
base needs one, set it yourself.

Means lie in (0, d). A meta-algorithm receives payoffs scaled by this range and clipped. Clipping lowers every mean but
keeps the order of arms: all arms have the same distribution, up to the factor m.

Source: settings S3 (20 arms, d = 10) and S4 (100 arms, d = 20) of Shao, Yu, King, Lyu, "Almost optimal algorithms for
linear stochastic bandits with heavy-tailed payoffs", 2018, both with shape 2.
"""

from __future__ import annotations

from typing import ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, gt, le
from numpy.random import Generator

from corral_core import Array, parameter
from corral_heavytail.environments.student_t import LinearTails
from corral_heavytail.moments import pareto_moment, pareto_noise_moment


@attrs.frozen
class ParetoArms(LinearTails):
    """Linear arms with Pareto payoffs."""

    name: ClassVar[str] = "pareto-arms"

    shape: float = parameter(2.0, help="a: moments of orders below a are finite", validator=and_(gt(1), le(1e6)))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(arms=5, dimension=2, shape=1.5)]

    def payoff(self, mean: Array, rng: Generator) -> Array:
        least = mean * ((self.shape - 1) / self.shape)
        return np.asarray(least * np.exp(rng.standard_exponential(len(mean)) / self.shape))

    def noise_moment(self, epsilon: float, mean: float) -> float:
        """A bound on E|y - E y|^(1+epsilon) of arms with at most this mean: the moment for MENU."""
        return pareto_noise_moment(1 + epsilon, self.shape, mean)

    def payoff_moment(self, epsilon: float, mean: float) -> float:
        """E|y|^(1+epsilon) of an arm with this mean: the moment for TOFU."""
        return pareto_moment(1 + epsilon, self.shape, mean)
