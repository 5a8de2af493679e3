"""Episodic MDPs: one episode per play; you write `start` and `step`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.protocols.environment import Act, Environment, Play
from corral_core.protocols.problem import Observation, Trajectory
from corral_core.rows import Array


@attrs.frozen
class EpisodicMdp(Environment):
    """One episode per play: at most `problem.stages` steps, in all rows at once, with a mask of the rows still alive.

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
        """Next state, reward, whether the episode ends here, and the Q*-gap (None if unknown)."""

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
