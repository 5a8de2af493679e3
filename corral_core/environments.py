"""Two ready-made ways to write an environment: a bandit says `observe` and `pay`, an MDP `start` and `step`.

`chosen` and `gaussian` are what most bandits pay with.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.protocols import NOTHING, Act, Environment, Observation, Play, Trajectory
from corral_core.rows import Array


@attrs.frozen
class Bandit(Environment):
    """One action a play."""

    def observe(self, instance: Any, rng: Generator) -> Observation:
        """What is seen before the action; nothing, unless there are contexts."""
        return NOTHING

    @abstractmethod
    def pay(self, instance: Any, observation: Observation, action: Array, rng: Generator) -> tuple[Array, Array | None]:
        """Reward and pseudo-regret (from means; None where nobody knows it) of every row's action."""

    def play(self, instance: Any, act: Act, rng: Generator) -> Play:
        observation = self.observe(instance, rng)
        action = act(observation)
        paid = self.pay(instance, observation, action, rng)
        if not isinstance(paid, tuple) or len(paid) != 2:
            raise CorralError(f"{self.name}: pay must return rewards and regrets (or None), not {type(paid).__name__}")
        return Play(observation, action, *paid)


def chosen(values: Array, action: Array) -> Array:
    """Of (rows, arms) values, that of each row's action."""
    rows, arms = values.shape
    found: Array = values.take(np.arange(0, rows * arms, arms) + action)
    return found


def gaussian(means: Array, best: Array, action: Array, noise: float, rng: Generator) -> tuple[Array, Array]:
    """Reward and pseudo-regret where arms pay their means (rows, arms) plus Gaussian noise."""
    mean = chosen(means, action)
    return noisy(mean, noise, rng), best - mean


def noisy(mean: Array, noise: float, rng: Generator) -> Array:
    """These means plus Gaussian noise."""
    found: Array = mean + noise * rng.standard_normal(len(mean))
    return found


@attrs.frozen
class EpisodicMdp(Environment):
    """An episode a play: at most `problem.stages` steps, in all rows at once, with a mask of the rows still alive.

    The pseudo-regret of an episode is the sum of the gaps max_a Q*_h(s, a) - Q*_h(s, a_h) along it; its mean is
    V* - V^pi.
    """

    @abstractmethod
    def start(self, instance: Any, rng: Generator) -> Array:
        """The first state of every row."""

    @abstractmethod
    def step(
        self, instance: Any, stage: int, state: Array, action: Array, rng: Generator
    ) -> tuple[Array, Array, Array, Array | None]:
        """Next state, reward, whether the episode ends here, and the Q*-gap (None where nobody knows it)."""

    def play(self, instance: Any, act: Act, rng: Generator) -> Play:
        state = self.start(instance, rng)
        alive = np.ones(len(state), dtype=bool)
        total, regret = np.zeros(len(state)), np.zeros(len(state))
        known, steps = True, []
        for stage in range(self.problem.stages or 0):
            at = np.full(len(state), stage)
            action = act(Observation(state=state, stage=at, alive=alive))
            taken = self.step(instance, stage, state, action, rng)
            if not isinstance(taken, tuple) or len(taken) != 4:
                raise CorralError(f"{self.name}: step must return next states, rewards, ends and gaps (or None)")
            following, reward, ends, gap = taken
            reward = np.where(alive, reward, 0.0)
            total += reward
            if gap is None:
                known = False
            else:
                regret += np.where(alive, gap, 0.0)
            steps.append((state, action, reward, following, alive))
            alive = alive & ~ends
            state = np.where(alive, following, state)
            if not alive.any():
                break
        columns = [np.stack(column, axis=1) for column in zip(*steps, strict=True)]
        trajectory = Trajectory(*columns)
        return Play(trajectory, trajectory.action, total, regret if known else None)
