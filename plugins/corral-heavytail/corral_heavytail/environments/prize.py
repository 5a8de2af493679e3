"""Fixed arms with one feature that pays in rare, large prizes.

a_j ~ U[0,1]^d, drawn for every replicate; theta has theta_1 = `weight`, the others uniform on [0, 1]. An arm always
pays what its other features are worth, and for the first feature the `prize` J with probability a_j1 theta_1/J:

    y = sum_{i > 1} a_ji theta_i + J [u < a_j1 theta_1/J],

so the mean is <a_j, theta> for any prize. Moments of all orders are finite and grow with the prize: the moment of order
q of an arm with prize probability p and a sure payoff r is (1 - p) r^q + p (r + J)^q. With a large prize, a bound that
holds at a small order is far too small at order 2. A base that relies on it there cuts off every prize, and concludes
that the first feature is worth nothing. The noise is sub-Gaussian with scale J/2, which the problem publishes.

(Made for Corral. Payoffs with two values, the larger one rare, are those of the lower bounds for heavy tails:
Bubeck, Cesa-Bianchi, Lugosi, "Bandits with heavy tail", 2013.)

>>> world = PrizeArms(prize=100.0)
>>> round(world.payoff_moment(1.0, mean=3.0) ** 0.5, 1), round(world.payoff_moment(0.25, mean=3.0) ** 0.8, 1)
(14.3, 5.0)
"""

from __future__ import annotations

from typing import ClassVar, Self

import attrs
from attrs.validators import and_, ge, gt, le
from corral_kit.linear.arms import played
from corral_kit.linear.directions import inner
from corral_kit.linear.fixed_arms import ArmsWithFeatures, FixedInstance
from numpy.random import Generator

from corral_core import Array, CorralError, Observation, Problem, parameter
from corral_core.environments.bandit import chosen


@attrs.frozen
class PrizeArms(ArmsWithFeatures):
    """Linear arms with one feature that pays in rare prizes."""

    name: ClassVar[str] = "prize-arms"

    arms: int = parameter(20, help="number of arms", validator=ge(1))
    dimension: int = parameter(4, help="number of features of an arm", validator=ge(1))
    prize: float = parameter(100.0, help="J, what the first feature pays when it pays", validator=and_(gt(0), le(1e9)))
    weight: float = parameter(2.0, help="theta_1, average payoff of the first feature", validator=and_(ge(0), le(1e9)))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(prize=4.0), cls(arms=5, dimension=1)]

    def __attrs_post_init__(self) -> None:
        if self.prize < self.weight:
            raise CorralError(
                f"{self.name}: prize must be at least the weight {self.weight:g}, which it pays on average, "
                f"not {self.prize:g}"
            )

    @property
    def mean_range(self) -> tuple[float, float]:
        return 0.0, max(self.weight + self.dimension - 1, 1.0)

    @property
    def sub_gaussian_noise(self) -> float:
        return self.prize / 2

    @property
    def problem(self) -> Problem:
        most = self.prize + max(self.dimension - 1, 0)  # the prize, and at most 1 for each other feature
        return attrs.evolve(super().problem, reward_low=0.0, reward_high=float(most))

    def draw_means(self, features: Array, rng: Generator) -> Array:
        theta = rng.random((len(features), self.dimension))
        theta[:, 0] = self.weight
        return inner(features, theta)

    def pay(
        self, instance: FixedInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        mean, share = chosen(instance.mean, action), self.weight * played(instance.features, action)[:, 0]
        won = rng.random(len(action)) * self.prize < share
        return mean - share + self.prize * won, instance.best - mean

    def noise_moment(self, epsilon: float) -> float:
        """E|y - E y|^(1+epsilon) of an arm whose first feature is 1 (the largest if prizes are rare): for MENU."""
        chance, order = self.weight / self.prize, 1 + epsilon
        return float(chance * (self.prize - self.weight) ** order + (1 - chance) * self.weight**order)

    def payoff_moment(self, epsilon: float, mean: float) -> float:
        """E|y|^(1+epsilon) of an arm with this mean whose first feature is 1, or less for a small mean: for TOFU."""
        share, order = min(self.weight, mean), 1 + epsilon
        chance, sure = share / self.prize, mean - share
        return float((1 - chance) * sure**order + chance * (sure + self.prize) ** order)
