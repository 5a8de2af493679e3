"""Fixed arms whose payoffs have the tails of Student's t.

a_j ~ U[0,1]^d and theta ~ U[0,1]^d, drawn for every replicate; an arm pays <a_j, theta> + scale t, with t of `df`
degrees of freedom. Moments of orders below `df` are finite: with df = 3 the variance is 3 scale^2, with df of at most 2
it is infinite. The payoffs are not sub-Gaussian, so the problem publishes no noise scale; if a base needs one, set it
yourself.

Means lie in (0, d). A meta-algorithm receives payoffs scaled by this range and clipped. Clipping keeps the order of
arms: an arm with a larger mean also has a larger mean after clipping.

Source: settings S1 (20 arms, d = 10) and S2 (100 arms, d = 20) of Shao, Yu, King, Lyu, "Almost optimal algorithms for
linear stochastic bandits with heavy-tailed payoffs", 2018, both with df = 3.
"""

from __future__ import annotations

from typing import ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le
from corral_kit.linear.fixed_arms import FixedArms, cube_means
from numpy.random import Generator

from corral_core import Array, Problem, parameter
from corral_heavytail.moments import student_t_moment, student_t_payoff_moment


@attrs.frozen
class LinearTails(FixedArms):
    """Arms and theta uniform on the unit cube, and payoffs that are not sub-Gaussian."""

    arms: int = parameter(20, help="number of arms", validator=ge(1))
    dimension: int = parameter(10, help="number of features of an arm", validator=ge(1))

    @property
    def mean_range(self) -> tuple[float, float]:
        return 0.0, float(self.dimension)

    @property
    def problem(self) -> Problem:
        return attrs.evolve(super().problem, heavy_tails=True)

    def draw_means(self, features: Array, rng: Generator) -> Array:
        return cube_means(features, rng)


@attrs.frozen
class StudentTArms(LinearTails):
    """Linear arms with Student-t noise."""

    name: ClassVar[str] = "student-t-arms"

    df: float = parameter(
        3.0, help="degrees of freedom: moments of orders below df are finite", validator=and_(gt(1), le(1e6))
    )
    scale: float = parameter(1.0, help="multiplies the noise", validator=and_(gt(0), le(1e9)))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(arms=5, dimension=2, df=1.5, scale=0.1)]

    def payoff(self, mean: Array, rng: Generator) -> Array:
        return np.asarray(mean + self.scale * rng.standard_t(self.df, len(mean)))

    def noise_moment(self, epsilon: float) -> float:
        """E|noise|^(1+epsilon): the moment for MENU."""
        return student_t_moment(1 + epsilon, self.df, self.scale)

    def payoff_moment(self, epsilon: float, mean: float) -> float:
        """A bound on E|y|^(1+epsilon) of arms with at most this mean: the moment for TOFU."""
        return student_t_payoff_moment(1 + epsilon, self.df, mean, self.scale)
