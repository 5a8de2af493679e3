"""Episodic MDPs: one episode per play; you write `start` and `step`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.kernels.sums import summed
from corral_core.protocols.environment import Act, Environment, Play
from corral_core.protocols.problem import Observation, Trajectory
from corral_core.rows import Array

Step = Callable[[int, Array, Array], Any]
"""Maps a stage, its states and actions to what `EpisodicMdp.step` returns; ends may be None if no episode ends."""


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
        state = np.asarray(self.start(instance, rng))
        rows, stages = len(state), self.problem.stages or 0
        step = self._episode(instance, stages, rng)
        reward, regret = np.zeros((stages, rows)), np.zeros((stages, rows))
        alive, everyone, known = np.ones(rows, dtype=bool), True, True
        seen: list[tuple[Array, Array, Array, Array]] = []  # states, actions, next states, and who was alive
        for stage, at in enumerate(np.repeat(np.arange(stages), rows).reshape(stages, rows)):
            action = act(Observation(state=state, stage=at, alive=alive))
            taken = step(stage, state, action)
            if not isinstance(taken, tuple) or len(taken) != 4:
                raise CorralError(f"{self.name}: step must return next states, rewards, ends and gaps (or None)")
            following, paid, ends, gap = taken
            reward[stage] = paid
            if gap is None:
                known = False
            else:
                regret[stage] = gap
            if not everyone:
                over = ~alive
                reward[stage, over] = regret[stage, over] = 0.0
            seen.append((state, action, following, alive))
            if ends is not None and ends.any():
                alive, everyone = alive & ~ends, False
                if not alive.any():
                    break
            state = np.array(following) if everyone else np.where(alive, following, state)
        states, actions, next_states, living = (_columns(column) for column in zip(*seen, strict=True))
        trajectory = Trajectory(states, actions, reward[: len(seen)].T.copy(), next_states, living)
        return Play(trajectory, actions, summed(reward), summed(regret) if known else None)

    def _episode(self, instance: Any, stages: int, rng: Generator) -> Step:
        """The steps of one episode; an environment that knows more may draw them all at once."""
        return lambda stage, state, action: self.step(instance, stage, state, action, rng)


def _columns(each: tuple[Array, ...]) -> Array:
    """What every row had at every step, as (rows, steps, ...)."""
    found: Array = np.concatenate(each)
    return found.reshape(len(each), -1, *found.shape[1:]).swapaxes(0, 1).copy()
