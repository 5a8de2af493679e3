"""Small environments, one of every kind that a base may be written for.

`Small` is a bandit whose mean rewards are linear in the features of the actions, if there are any. `SmallChain` is an
MDP of a few states whose optimal action-values are computed when it is drawn. `any_action` plays in any of them.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.environments.bandit import Bandit, chosen, gaussian
from corral_core.environments.episodic_mdp import EpisodicMdp
from corral_core.environments.planning import backward
from corral_core.protocols.environment import Environment
from corral_core.protocols.parameters import parameter
from corral_core.protocols.problem import NOTHING, Observation, Problem
from corral_core.rows import Array, Rows

NOISE = 0.3


class SmallInstance(Rows):
    theta: Array  # (rows, dimension); (rows, arms, dimension) if one context is shared
    features: Array  # (rows, arms, dimension), of fixed arms
    mean: Array  # (rows, arms), of arms without features


@attrs.frozen
class Small(Bandit):
    """Three arms, or a ball or an ellipsoid in the plane."""

    name: ClassVar[str] = "a small world"

    shows: Literal["nothing", "fixed", "changing", "shared"] = parameter("nothing", help="which features arms have")
    masked: bool = parameter(False, help="whether some arms are sometimes unavailable")
    actions: Literal["finite", "ball", "ellipsoid"] = parameter("finite", help="the kind of actions")
    arms: int = parameter(3, help="number of arms")
    dimension: int = parameter(2, help="number of features")

    @property
    def problem(self) -> Problem:
        finite = self.actions == "finite"
        return Problem(
            self.label,
            actions=self.actions,
            arms=self.arms if finite else None,
            dimension=None if finite and self.shows == "nothing" else self.dimension,
            changing=self.shows in ("changing", "shared") or self.actions == "ellipsoid",
            shared=self.shows == "shared",
            masked=self.masked,
            noise=NOISE,
            low=-1.0,
            high=1.0,
        )

    @property
    def label(self) -> str:
        """A readable description."""
        if self.actions != "finite":
            return {"ball": "a ball", "ellipsoid": "changing ellipsoids"}[self.actions]
        kinds = {"nothing": "plain arms", "fixed": "fixed arms with features", "changing": "changing features"}
        kind = kinds.get(self.shows, "a shared context")
        return f"{kind}, masked" if self.masked else kind

    def draw(self, rows: int, rng: Generator) -> SmallInstance:
        per_arm = (self.arms,) if self.shows == "shared" else ()
        theta = _unit(rng.standard_normal((rows, *per_arm, self.dimension)))
        features = _unit(rng.standard_normal((rows, self.arms, self.dimension)))
        return SmallInstance(theta, features, 2 * rng.random((rows, self.arms)) - 1)

    def shown(self, instance: SmallInstance) -> dict[str, Array]:
        return {"features": instance.features} if self.shows == "fixed" and not self.masked else {}

    def observe(self, instance: SmallInstance, rng: Generator) -> Observation:
        rows, features, mask = len(instance), None, None
        if self.actions == "ellipsoid":
            features = 0.5 + 0.5 * rng.random((rows, self.dimension))
        elif self.shows == "changing":
            features = _unit(rng.standard_normal((rows, self.arms, self.dimension)))
        elif self.shows == "shared":
            features = _unit(rng.standard_normal((rows, self.dimension)))
        elif self.shows == "fixed" and self.masked:
            features = instance.features
        if self.masked:
            uniform = rng.random((rows, self.arms))
            mask = uniform <= np.maximum(uniform.min(axis=1, keepdims=True), 0.7)
        return NOTHING if features is None and mask is None else Observation(features, mask)

    def pay(
        self, instance: SmallInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        if self.actions != "finite":
            theta = instance.theta
            best = np.linalg.norm(theta if observation.features is None else theta * observation.features, axis=1)
            mean = (action * theta).sum(axis=1)
            return mean + NOISE * rng.standard_normal(len(mean)), np.maximum(best - mean, 0.0)
        means = self._means(instance, observation)
        there = means if observation.mask is None else np.where(observation.mask, means, -np.inf)
        return gaussian(means, there.max(axis=1), action, NOISE, rng)

    def _means(self, instance: SmallInstance, observation: Observation) -> Array:
        if self.shows == "nothing":
            return instance.mean
        features = instance.features if observation.features is None else observation.features
        if self.shows == "shared":
            return np.asarray((instance.theta * features[:, None]).sum(axis=2))
        return np.asarray((features * instance.theta[:, None]).sum(axis=2))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


class Chain(Rows):
    mean: Array  # (rows, states, actions), the mean reward
    left: Array  # (rows, states, actions), probability of going left
    features: Array  # (rows, states, actions, dimension)
    value: Array  # (rows, stages, states, actions), the optimal action-values


@attrs.frozen
class SmallChain(EpisodicMdp):
    """Three states in a row; each action has its own probability of going left, and the last state ends the episode."""

    name: ClassVar[str] = "a small MDP"

    states: int = parameter(3, help="number of states")
    arms: int = parameter(2, help="number of actions")
    stages: int = parameter(4, help="maximum number of steps per episode")  # three reach the end, so some end early
    dimension: int | None = parameter(None, help="number of features of an action in a state (none if not set)")

    @property
    def label(self) -> str:
        return "a small MDP" if self.dimension is None else "a small MDP with features"

    @property
    def problem(self) -> Problem:
        return Problem(
            self.label,
            arms=self.arms,
            dimension=self.dimension,
            episodic=True,
            states=self.states,
            stages=self.stages,
            step_low=0.0,
            step_high=1.0,
            noise=self.stages / 2,  # by Hoeffding's lemma
            low=0.0,
            high=float(self.stages),
            reward_low=0.0,
            reward_high=float(self.stages),
        )

    def draw(self, rows: int, rng: Generator) -> Chain:
        mean, left = (rng.random((rows, self.states, self.arms)) for _ in range(2))
        features = _unit(rng.standard_normal((rows, self.states, self.arms, self.dimension or 1)))
        at = np.arange(self.states)
        lower, upper = np.maximum(at - 1, 0), np.minimum(at + 1, self.states - 1)

        def backup(stage: int, value: Array) -> Array:
            onward = left * value[:, lower, None] + (1 - left) * value[:, upper, None]
            onward[:, -1] = 0.0  # any action in the last state ends the episode
            return np.asarray(mean + onward)

        value = backward(backup, rows=rows, states=self.states, stages=self.stages)
        return Chain(mean, left, features, value)

    def shown(self, instance: Chain) -> dict[str, Array]:
        return {} if self.dimension is None else {"features": instance.features}

    def start(self, instance: Chain, rng: Generator) -> Array:
        return np.zeros(len(instance), dtype=np.intp)

    def step(
        self, instance: Chain, stage: int, state: Array, action: Array, rng: Generator
    ) -> tuple[Array, Array, Array, Array]:
        rows = np.arange(len(state))
        goes_left = rng.random(len(state)) < instance.left[rows, state, action]
        following = np.where(goes_left, np.maximum(state - 1, 0), np.minimum(state + 1, self.states - 1))
        reward = (rng.random(len(state)) < instance.mean[rows, state, action]).astype(np.float64)
        values = instance.value[rows, stage, state]
        return following, reward, state == self.states - 1, values.max(axis=1) - chosen(values, action)


def small_worlds(**sizes: Any) -> list[Environment]:
    """One environment of every kind."""
    shows = ("nothing", "fixed", "changing", "shared")
    finite = [Small(shows=kind, **sizes) for kind in shows]  # type: ignore[arg-type]
    masked = [Small(shows=kind, masked=True, **sizes) for kind in shows]  # type: ignore[arg-type]
    infinite = [Small(actions="ball"), Small(actions="ellipsoid")]
    return [*finite, *masked, *infinite, SmallChain(**sizes), SmallChain(dimension=2, **sizes)]


def any_action(problem: Problem, observation: Observation, uniform: Array) -> Array:
    """A legal action for every row, from uniform numbers (rows, dimension or 1)."""
    if problem.actions == "finite":
        there = legal(problem, observation, len(uniform))
        order = np.cumsum(there, axis=1)
        return np.asarray((order > (uniform[:, 0] * order[:, -1])[:, None]).argmax(axis=1))
    point = (2 * uniform - 1) / np.sqrt(uniform.shape[1])
    return np.asarray(point if observation.features is None else point * observation.features)


def legal(problem: Problem, observation: Observation, rows: int) -> Array:
    """Which arms are available: (rows, arms)."""
    if observation.mask is not None:
        return observation.mask
    arms = problem.arms or (0 if observation.features is None else observation.features.shape[1])
    return np.ones((rows, arms), dtype=bool)
