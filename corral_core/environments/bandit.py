"""Bandits: one action per play; you write `observe` and `pay`. `chosen` and `gaussian` help with `pay`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.kernels.places import picked
from corral_core.protocols.environment import Act, Environment, Play
from corral_core.protocols.problem import NOTHING, Observation
from corral_core.rows import Array


@attrs.frozen
class Bandit(Environment):
    """An environment with one action per play."""

    def observe(self, instance: Any, rng: Generator) -> Observation:
        """What is seen before the action (default: nothing; override it if there are contexts)."""
        return NOTHING

    @abstractmethod
    def pay(self, instance: Any, observation: Observation, action: Array, rng: Generator) -> tuple[Array, Array | None]:
        """Reward and pseudo-regret (from means; None if unknown) of every row's action."""

    def play(self, instance: Any, act: Act, rng: Generator) -> Play:
        observation = self.observe(instance, rng)
        action = act(observation)
        paid = self.pay(instance, observation, action, rng)
        if not isinstance(paid, tuple) or len(paid) != 2:
            raise CorralError(f"{self.name}: pay must return rewards and regrets (or None), not {type(paid).__name__}")
        return Play(observation, action, *paid)


def chosen(values: Array, action: Array) -> Array:
    """The value of each row's action, from (rows, arms) values, or from (1, arms) values that all rows share."""
    found: Array = values[0, action] if len(values) == 1 else picked(values, action)
    return found


def gaussian(means: Array, best: Array, action: Array, noise: float, rng: Generator) -> tuple[Array, Array]:
    """Reward and pseudo-regret if arms pay their means (rows, arms) plus Gaussian noise."""
    mean = chosen(means, action)
    return noisy(mean, noise, rng), best - mean


def noisy(mean: Array, noise: float, rng: Generator) -> Array:
    """These means plus Gaussian noise."""
    found: Array = mean + noise * rng.standard_normal(len(mean))
    return found
