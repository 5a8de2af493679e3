"""The environments of the paper's two lower bounds (Pacchiano et al. 2020, Section 5)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, optional
from numpy.random import Generator

from corral_core import Array, Bandit, CorralError, Observation, Problem, Rows, parameter

MEANS = np.asarray([0.5, 0.25])
C = math.sqrt(1 / 24)  # of Theorem 5.2
PLAYS = 10_000  # T of Theorem 5.3 if there is no horizon


class SqrtInstance(Rows):
    erring_slot: Array  # the slot of the base that errs, or -1 if none does


@attrs.frozen
class LowerBoundSqrt(Bandit):
    """Theorem 5.2: Bernoulli arms 1/2 and 1/4. No base errs, or one of two, in a random slot, errs less and less often.

    A meta that plays its bases plainly chooses the erring base with probability at least 1/4 in every round.
    """

    name: ClassVar[str] = "lower-bound-sqrt"

    world: Literal["one-errs", "none-errs"] = parameter(
        "one-errs", help="a random one of the two bases errs, or both are optimal"
    )

    c: float = parameter(
        C,
        help="constant of the error rate 4 c/(sqrt(s + 2) ln(s + 2)), up to 0.47 (default: the paper's, sqrt(1/24))",
        validator=and_(gt(0), le(0.47)),
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(world="one-errs"), cls(world="none-errs")]

    @property
    def problem(self) -> Problem:
        return Problem(
            self.name,
            arms=2,
            noise=0.5,
            low=0.0,
            high=1.0,
            reward_low=0.0,
            reward_high=1.0,
            facts={"c": self.c},
        )

    def draw(self, rows: int, rng: Generator) -> SqrtInstance:
        slot = rng.integers(0, 2, rows)
        return SqrtInstance(slot if self.world == "one-errs" else np.full(rows, -1))

    def shown(self, instance: SqrtInstance) -> dict[str, Array]:
        return {"erring_slot": instance.erring_slot}

    def pay(
        self, instance: SqrtInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        mean = MEANS.take(action)
        return (rng.random(len(action)) < mean).astype(np.float64), 0.5 - mean


class World(Rows):
    reveal_after: Array  # plays after which a base with `reveals` switches to the best arm; infinity in world P


@attrs.frozen
class LowerBoundUnknownRate(Bandit):
    """Theorem 5.3: deterministic arms (1, 1, 0) in world P and (1 + Delta, 1, 0) in world Q, Delta = T^(x-1+epsilon).

    In P the bases err at rates T^(x-1) and T^(y-1); in Q the second base finds the best arm after a while. A meta
    whose regret in P is T^x gives it no chance to do so; a meta that waits for it pays more than T^x in P.
    """

    name: ClassVar[str] = "lower-bound-unknown-rate"

    world: Literal["P", "Q"] = parameter("P", help="in P the first two arms are best, in Q only the first")
    x: float = parameter(0.5, help="exponent of the better base", validator=gt(0))
    y: float = parameter(0.9, help="exponent of the worse base", validator=le(1))
    c2: float = parameter(1.0, help="constant c2 in the number of plays after which a base reveals", validator=gt(0))
    epsilon: float | None = parameter(None, help="Delta = T^(x-1+epsilon) (default: (y-x)/2)")
    epsilon2: float | None = parameter(None, help="a base reveals after c2 T^(x-y+1+epsilon2) plays (default: (y-x)/4)")
    plays: int | None = parameter(
        None, help="T, the horizon of the experiment (default: follows it)", validator=optional(ge(1))
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(world="P"), cls(world="Q")]

    def __attrs_post_init__(self) -> None:
        if not self.x < self.y:
            raise CorralError(f"{self.name}: x must be less than y, not {self.x} and {self.y}")
        epsilon, epsilon2 = self.epsilons
        if not 0 < epsilon2 < epsilon <= 1 - self.x:
            raise CorralError(
                f"{self.name}: 0 < epsilon2 < epsilon <= 1 - x must hold, not with epsilon2 = {epsilon2:g}, "
                f"epsilon = {epsilon:g} and x = {self.x:g}"
            )

    def at_horizon(self, horizon: int) -> Self:
        if self.plays is not None and self.plays != horizon:
            raise CorralError(f"{self.name}: plays is {self.plays}, but the horizon is {horizon}; leave plays out")
        return attrs.evolve(self, plays=horizon)

    @property
    def epsilons(self) -> tuple[float, float]:
        """epsilon and epsilon2, with their defaults."""
        epsilon = (self.y - self.x) / 2 if self.epsilon is None else self.epsilon
        return epsilon, (self.y - self.x) / 4 if self.epsilon2 is None else self.epsilon2

    @property
    def T(self) -> int:  # noqa: N802  # the paper's symbol
        """The number of plays that it is made for."""
        return PLAYS if self.plays is None else self.plays

    @property
    def means(self) -> Array:
        delta = self.T ** (self.x - 1 + self.epsilons[0]) if self.world == "Q" else 0.0
        return np.asarray([1 + delta, 1.0, 0.0])

    @property
    def problem(self) -> Problem:
        return Problem(
            self.name,
            arms=3,
            noise=0.0,
            low=0.0,
            high=2.0,
            reward_low=0.0,
            reward_high=2.0,
            facts={"x": self.x, "y": self.y},
        )

    def draw(self, rows: int, rng: Generator) -> World:
        switch = self.c2 * self.T ** (self.x - self.y + 1 + self.epsilons[1])
        return World(np.full(rows, switch if self.world == "Q" else np.inf))

    def shown(self, instance: World) -> dict[str, Array]:
        return {"reveal_after": instance.reveal_after}

    def pay(self, instance: World, observation: Observation, action: Array, rng: Generator) -> tuple[Array, Array]:
        reward = self.means.take(action)
        return reward, self.means.max() - reward
