"""Fully known environments: finitely many states, and a table of the outcomes of each action.

The optimal action-values Q* follow by backward induction. So every step has a gap, max_a Q*_h(s, a) minus
Q*_h(s, a_h), and every policy an exact value (`Model.values`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.environments.bandit import chosen
from corral_core.environments.episodic_mdp import EpisodicMdp, Step
from corral_core.environments.planning import Worth, backward, best
from corral_core.errors import CorralError
from corral_core.kernels.outcomes import episode_regret, stepped
from corral_core.protocols.environment import Act, Play
from corral_core.protocols.problem import Problem, Trajectory
from corral_core.rows import Array, Rows


class Model(Rows):
    """Finite MDPs, one per world. The second axis is the stage, or has length one if all stages are equal."""

    probability: Array  # (worlds, stages, states, actions, outcomes)
    cumulative: Array  # cumulative probabilities
    reward: Array  # of an outcome; (..., 1) if it does not depend on the outcome
    optimal: Array  # (worlds, stages, states, actions), Q*
    following: Array | None = None  # the next state of an outcome; None: outcome k leads to state k
    ends: Array | None = None  # whether the episode ends with an outcome; None: never
    start: Array | None = None  # (worlds, states), cumulative probabilities of the first state; None: it is state 0

    @classmethod
    def of(
        cls,
        probability: Array,
        reward: Array,
        stages: int,
        *,
        following: Array | None = None,
        ends: Array | None = None,
        start: Array | None = None,
    ) -> Self:
        """The model with these outcomes, whose first state has the probabilities `start`, (worlds, states)."""
        _check(probability, reward, stages, following, ends, start)
        first = None if start is None else _cumulative(start)
        paid = np.ascontiguousarray(reward, dtype=np.float64)
        to = None if following is None else np.ascontiguousarray(following, dtype=np.intp)
        over = None if ends is None else np.ascontiguousarray(ends)
        model = cls(probability, _cumulative(probability), paid, np.empty(0), to, over, first)
        return model.replace(optimal=model.values(stages))

    def values(self, stages: int, worth: Worth = best) -> Array:
        """Action-values (worlds, stages, states, actions): the optimal ones, or those of a policy (planning.py)."""
        worlds, _, states = self.probability.shape[:3]
        return backward(self.backup, rows=worlds, states=states, stages=stages, worth=worth)

    def backup(self, stage: int, value: Array) -> Array:
        """The mean of the reward plus the value of the next state, for every state and action."""
        at = self._stage(stage)
        probability, reward = self.probability[:, at], self.reward[:, at]
        if self.following is None and self.ends is None and reward.shape[-1] == 1:
            return np.asarray(reward[..., 0] + np.einsum("wsak,wk->wsa", probability, value))
        worlds = np.arange(len(value))[:, None, None, None]
        onward = value[:, None, None] if self.following is None else value[worlds, self.following[:, at]]
        if self.ends is not None:
            onward = np.where(self.ends[:, at], 0.0, onward)
        return np.asarray((probability * (reward + onward)).sum(axis=-1))

    def first(self, uniform: Array) -> Array:
        """The first state of every row, from uniform numbers."""
        if self.start is None:
            return np.zeros(len(uniform), dtype=np.intp)
        return _drawn(np.broadcast_to(self.start, (len(uniform), self.start.shape[1])), uniform)

    def step(self, stage: int, state: Array, action: Array, uniform: Array) -> tuple[Array, Array, Array, Array]:
        """Next state, reward, whether the episode ends, and the Q*-gap of every row, from uniform numbers."""
        following, reward, ends = self.outcome(stage, state, action, uniform)
        world = 0 if len(self) == 1 else np.arange(len(state))
        values = self.optimal[world, stage, state]
        never = np.zeros(len(state), dtype=bool)
        return following, reward, never if ends is None else ends, values.max(axis=1) - chosen(values, action)

    def outcome(self, stage: int, state: Array, action: Array, uniform: Array) -> tuple[Array, Array, Array | None]:
        """Next state, reward, and whether the episode ends: None if no episode ends early."""
        table, at = (self.cumulative, self.reward, self.following, self.ends), self._stage(stage)
        found: tuple[Array, Array, Array | None] = stepped(*table, at, state, np.asarray(action), uniform)
        return found

    def regret(self, told: Trajectory) -> Array:
        """The sum of the gaps of every row's episode."""
        found: Array = episode_regret(self.optimal, told.state, told.action, told.alive)
        return found

    def _stage(self, stage: int) -> int:
        return stage if self.probability.shape[1] > 1 else 0


def _check(
    probability: Array, reward: Array, stages: int, following: Array | None, ends: Array | None, start: Array | None
) -> None:
    """Raise an error if these arrays do not describe an MDP."""
    axes, shape = "(worlds, stages, states, actions, outcomes)", np.shape(probability)
    if len(shape) != 5 or 0 in shape:
        raise CorralError(f"a model: probability must have the axes {axes}, not the shape {shape}")
    if stages < 1 or shape[1] not in (1, stages):
        raise CorralError(f"a model of {stages} stages: probability must have 1 or {stages} stages, not {shape[1]}")
    if following is None and shape[4] != shape[2]:
        raise CorralError(
            f"a model: {shape[4]} outcomes with {shape[2]} states need `following`, the next states of outcomes"
        )
    for name, array, allowed in (
        ("reward", reward, (shape, (*shape[:4], 1))),
        ("following", following, (shape,)),
        ("ends", ends, (shape,)),
        ("start", start, ((shape[0], shape[2]),)),
    ):
        if array is not None and np.shape(array) not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise CorralError(f"a model: {name} must have the shape {wanted}, not {np.shape(array)}")
    for name, chances in (("probability", probability), ("start", start)):
        if chances is not None and not ((chances >= 0).all() and (np.abs(chances.sum(axis=-1) - 1) < 1e-6).all()):
            raise CorralError(f"a model: {name} must be at least 0 and sum to 1 along its last axis")
    if not np.isfinite(reward).all():
        raise CorralError("a model: rewards must be finite numbers")
    if following is not None and not (
        following.dtype.kind in "iu" and following.min() >= 0 and following.max() < shape[2]
    ):
        raise CorralError(f"a model: following must be states, integers from 0 to {shape[2] - 1}")
    if ends is not None and ends.dtype != bool:
        raise CorralError(f"a model: ends must be an array of booleans, not {ends.dtype}")


def _cumulative(probability: Array) -> Array:
    """Cumulative sums along the last axis, ending at exactly 1, so an outcome of probability 0 is never drawn."""
    found: Array = np.cumsum(probability, axis=-1)
    found /= found[..., -1:].copy()
    return found


def _drawn(cumulative: Array, uniform: Array) -> Array:
    """The outcome that a uniform number in [0, 1) selects, by row."""
    found: Array = (cumulative <= uniform[:, None]).sum(axis=1, dtype=np.intp)
    return found


def unit_rewards(environment: str, *, states: int, arms: int, stages: int, **more: Any) -> Problem:
    """The problem of episodes of fixed length H whose steps pay between 0 and 1, so returns lie in [0, H]."""
    found: dict[str, Any] = {
        "arms": arms,
        "episodic": True,
        "states": states,
        "stages": stages,
        "fixed_length": True,
        "step_low": 0.0,
        "step_high": 1.0,
        "noise": stages / 2,  # by Hoeffding's lemma
        "low": 0.0,
        "high": float(stages),
        "reward_low": 0.0,
        "reward_high": float(stages),
    }
    return Problem(environment, **(found | more))


class Alike(Rows):
    """The instance of an MDP that is the same in all rows."""

    row: Array  # (rows,)


@attrs.frozen
class FiniteMdp(EpisodicMdp):
    """An environment given by `model`; all rows play the same MDP unless `draw` is overridden."""

    def draw(self, rows: int, rng: Generator) -> Any:
        return Alike(np.arange(rows))

    @abstractmethod
    def model(self, instance: Any) -> Model:
        """The model of every row, or one world for all rows."""

    def start(self, instance: Any, rng: Generator) -> Array:
        model, problem = self.model(instance), self.problem
        if model.optimal.shape[1:] != (problem.stages, problem.states, problem.arms):
            sizes = dict(zip(("stages", "states", "arms"), model.optimal.shape[1:], strict=True))
            raise CorralError(f"{self.name}: the model has {sizes}; problem must have the same")
        return model.first(rng.random(len(instance)))

    def step(
        self, instance: Any, stage: int, state: Array, action: Array, rng: Generator
    ) -> tuple[Array, Array, Array, Array]:
        return self.model(instance).step(stage, state, action, rng.random(len(state)))

    def play(self, instance: Any, act: Act, rng: Generator) -> Play:
        found = super().play(instance, act, rng)
        model = self.model(instance)
        return found.replace(regret=model.regret(found.observation)) if self._plays_table(model) else found

    def _episode(self, instance: Any, stages: int, rng: Generator) -> Step:
        """All uniform numbers are drawn at once, and gaps are left for the end of the episode."""
        model = self.model(instance)
        if not self._plays_table(model):
            return super()._episode(instance, stages, rng)
        uniform = rng.random((len(instance), stages)).T.copy()
        return lambda stage, state, action: (*model.outcome(stage, state, action, uniform[stage]), None)

    def _plays_table(self, model: Model) -> bool:
        """Whether no subclass has a `step` of its own."""
        return type(self).step is FiniteMdp.step and type(model).step is Model.step
