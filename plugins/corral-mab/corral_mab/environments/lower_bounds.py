"""The environments of the paper's two lower bounds (Pacchiano et al. 2020, Section 5)."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import attrs
import numpy as np
from attrs.validators import gt, le
from numpy.random import Generator

from corral_core import Array, Bandit, CorralError, Observation, Problem, Rows, parameter

MEANS = np.asarray([0.5, 0.25])


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

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(world="one-errs"), cls(world="none-errs")]

    @property
    def problem(self) -> Problem:
        return Problem(self.name, arms=2, noise=0.5, low=0.0, high=1.0, reward_low=0.0, reward_high=1.0)

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
    """Theorem 5.3: deterministic arms (1, 1, 0) in world P and (1 + Delta, 1, 0) in world Q, Delta = T^(x-1+(y-x)/2).

    In P the bases err at rates T^(x-1) and T^(y-1); in Q the second base finds the best arm after a while. A meta
    whose regret in P is T^x gives it no chance to do so; a meta that waits for it pays more than T^x in P.
    """

    name: ClassVar[str] = "lower-bound-unknown-rate"

    world: Literal["P", "Q"] = parameter("P", help="in P the first two arms are best, in Q only the first")
    x: float = parameter(0.5, help="exponent of the better base", validator=gt(0))
    y: float = parameter(0.9, help="exponent of the worse base", validator=le(1))
    c2: float = parameter(1.0, help="constant c2 in the number of plays after which a base reveals", validator=gt(0))
    plays: int = parameter(10_000, help="T; must be the horizon of the experiment", validator=gt(0))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(world="P"), cls(world="Q")]

    def __attrs_post_init__(self) -> None:
        if not self.x < self.y:
            raise CorralError(f"{self.name}: x must be less than y, not {self.x} and {self.y}")

    @property
    def means(self) -> Array:
        delta = self.plays ** (self.x - 1 + (self.y - self.x) / 2) if self.world == "Q" else 0.0
        return np.asarray([1 + delta, 1.0, 0.0])

    @property
    def problem(self) -> Problem:
        return Problem(self.name, arms=3, noise=0.0, low=0.0, high=2.0, reward_low=0.0, reward_high=2.0)

    def draw(self, rows: int, rng: Generator) -> World:
        switch = self.c2 * self.plays ** (self.x - self.y + 1 + (self.y - self.x) / 4)
        return World(np.full(rows, switch if self.world == "Q" else np.inf))

    def shown(self, instance: World) -> dict[str, Array]:
        return {"reveal_after": instance.reveal_after}

    def pay(self, instance: World, observation: Observation, action: Array, rng: Generator) -> tuple[Array, Array]:
        reward = self.means.take(action)
        return reward, self.means.max() - reward
