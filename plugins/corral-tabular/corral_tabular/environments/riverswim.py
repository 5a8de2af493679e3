"""RiverSwim: swim against the current to a large reward, or with it to a small one.

States 0 to S-1 lie along a river, and every episode of H steps starts in state 0. Action 0 swims left and always
succeeds. Action 1 swims right: in state 0 it succeeds with probability 0.6 (else it stays); in between it succeeds with
0.35, stays with 0.6 and is swept left with 0.05; in state S-1 it stays with 0.6 and is swept left with 0.4. Left in
state 0 pays 0.005, right in state S-1 pays 1, everything else 0; rewards have no noise.

From state 0, with the six states and twenty stages of TabulaRL, the optimum is 3.3973; always left earns 0.1 and a
uniform walk 0.0438. Returns lie between 0 and H, and a meta-algorithm scales them by this range unless `high` is set.
With high = 3.4, about the optimum, the differences between bases are a larger part of the range.

Source: Strehl, Littman, "An analysis of model-based interval estimation for Markov decision processes", 2008; the
numbers are those of TabulaRL (Osband).

>>> world = RiverSwim()
>>> world.river.optimal[0, 0, 0].max().round(4)
np.float64(3.3973)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import ge, gt, optional

from corral_core import Problem, parameter
from corral_core.environments.finite_mdp import FiniteMdp, Model, unit_rewards

LEFT, RIGHT = 0, 1


@attrs.frozen
class RiverSwim(FiniteMdp):
    """Swim against the current to a large reward, or with it to a small one."""

    name: ClassVar[str] = "riverswim"

    states: int = parameter(6, help="number of states along the river", validator=ge(2))
    stages: int = parameter(20, help="number of steps per episode", validator=ge(1))
    high: float | None = parameter(
        None, help="largest mean return, used to scale returns (default: the stages)", validator=optional(gt(0))
    )

    @property
    def river(self) -> Model:
        """The model, which all rows share."""
        return river(self.states, self.stages)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(states=3, stages=5, high=2.0)]

    @property
    def problem(self) -> Problem:
        high = float(self.stages) if self.high is None else self.high
        return unit_rewards(self.name, states=self.states, arms=2, stages=self.stages, high=high)

    def model(self, instance: Any) -> Model:
        return self.river


@lru_cache(maxsize=8)
def river(states: int, stages: int) -> Model:
    """The model with this number of states, for episodes of `stages` steps."""
    transition, reward = np.zeros((states, 2, states)), np.zeros((states, 2))
    at = np.arange(states)
    transition[at, LEFT, np.maximum(at - 1, 0)] = 1.0
    transition[at, RIGHT, at] = 0.6
    transition[at[:-1], RIGHT, at[1:]] = 0.35
    transition[at[1:], RIGHT, at[:-1]] = 0.05
    transition[0, RIGHT, :2] = 0.4, 0.6
    transition[-1, RIGHT, -2:] = 0.4, 0.6
    reward[0, LEFT], reward[-1, RIGHT] = 0.005, 1.0
    return Model.of(transition[None, None], reward[None, None, ..., None], stages)
