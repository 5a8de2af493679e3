"""Any Gymnasium environment with finitely many observations and actions: a play is an episode.

Every row has its own environment object, and every episode starts with `reset(seed=...)`, with a seed drawn from
Corral's generator. States and actions are numbered from 0, whether or not the spaces start at 0, and whether they are
Discrete or composed of several such parts (spaces.py). An episode ends when it is terminated or truncated, at the
latest after `stages` steps. The best return is unknown, so plays have no regret. If the environment has a transition
table, `gymnasium-table` plays it with regret.

`low` and `high` are the range of the mean return; a meta-algorithm scales returns by it.

>>> lake = Gymnasium("FrozenLake-v1", {"is_slippery": False}, low=0.0, high=1.0)
>>> lake.problem.states, lake.problem.arms, lake.problem.stages
(16, 4, 100)

Source: Towers et al., "Gymnasium: a standard interface for reinforcement learning environments", 2024.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np
from numpy.random import Generator

from corral_adapters.environments.made import Made
from corral_adapters.environments.spaces import Finite, finite
from corral_core import Array, CorralError, Problem, Rows
from corral_core.rows import object_array


class GymnasiumInstance(Rows):
    env: Array  # one Gymnasium environment per row
    over: Array  # whether its episode is over


@attrs.frozen
class KnownSpaces:
    """What all environments with the same settings share."""

    problem: Problem
    actions: Finite
    states: Finite


@attrs.frozen
class Gymnasium(Made):
    """An environment of Gymnasium."""

    name: ClassVar[str] = "gymnasium"

    _known: list[KnownSpaces] = attrs.field(init=False, factory=list, eq=False, repr=False, metadata={"hidden": True})

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls("FrozenLake-v1", {"is_slippery": False}, stages=20, low=0.0, high=1.0),
            cls("FrozenLake-v1", {"is_slippery": True}, stages=12, low=0.0, high=1.0),
        ]

    @property
    def problem(self) -> Problem:
        return self._found.problem

    @property
    def _found(self) -> KnownSpaces:
        """What one such environment reports, read once."""
        if not self._known:
            env = self._make()
            actions, states = (
                self._finite(env.action_space, "actions"),
                self._finite(env.observation_space, "observations"),
            )
            problem = Problem(
                self.name,
                arms=actions.size,
                states=states.size,
                stages=self._steps(env),
                episodic=True,
                low=self.low,
                high=self.high,
                regret=False,
            )
            self._known.append(KnownSpaces(problem, actions, states))
            env.close()
        return self._known[0]

    def draw(self, rows: int, rng: Generator) -> GymnasiumInstance:
        return GymnasiumInstance(object_array([self._make() for _ in range(rows)]), np.ones(rows, dtype=bool))

    def start(self, instance: GymnasiumInstance, rng: Generator) -> Array:
        seeds = rng.integers(2**31, size=len(instance))
        instance.over[:] = False
        number = self._found.states.number
        found = [number(env.reset(seed=int(seed))[0]) for env, seed in zip(instance.env, seeds, strict=True)]
        return np.asarray(found, dtype=np.int64)

    def step(
        self, instance: GymnasiumInstance, stage: int, state: Array, action: Array, rng: Generator
    ) -> tuple[Array, Array, Array, Array | None]:
        following, reward, known = np.array(state), np.zeros(len(state)), self._found
        for row in np.flatnonzero(~instance.over):
            env = instance.env[row]
            seen, earned, terminated, truncated, _ = env.step(known.actions.element(int(action[row])))
            following[row], reward[row] = known.states.number(seen), earned
            instance.over[row] = terminated or truncated
        return following, reward, instance.over.copy(), None

    def _finite(self, space: Any, what: str) -> Finite:
        found = finite(space)
        if found is None:
            kind = type(space).__name__
            raise CorralError(f"{self.name} needs finitely many {what}; those of {self.id} are a {kind}")
        return found
