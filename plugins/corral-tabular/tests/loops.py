"""One learner at a time, in loops over states and actions: what the arrays are compared with."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import attrs
import numpy as np

from corral_core import Array, Base, Environment, Feedback, Play, Problem
from corral_core.environments.finite_mdp import FiniteMdp, Model
from corral_core.selection.setup import given_rows


@attrs.frozen
class Wild(FiniteMdp):
    """Five states and three actions; steps pay between -1 and 3, and one outcome in five ends the episode."""

    name = "wild"

    @property
    def problem(self) -> Problem:
        size = {"arms": 3, "states": 5, "stages": 4}
        return Problem(self.name, **size, episodic=True, step_low=-1.0, step_high=3.0, noise=8.0, low=-4.0, high=12.0)

    def model(self, instance: Any) -> Model:
        return wild()


@cache
def wild() -> Model:
    rng = np.random.default_rng(1)
    probability = rng.dirichlet(np.full(5, 0.3), size=(1, 1, 5, 3))
    reward = 4 * rng.random(probability.shape) - 1
    return Model.of(probability, reward, 4, ends=rng.random(probability.shape) < 0.2)


def episodes(
    base: Base, environment: Environment, rows: int, count: int, seed: int = 1
) -> Iterator[tuple[Any, Play, Any]]:
    """The policy, the play and the state of every episode of learners that act and learn."""
    rng = np.random.default_rng(seed)
    everyone, instance = np.arange(rows), environment.draw(rows, rng)
    state = base.init(given_rows([base], environment.shown(instance), rows), rng)
    for _ in range(count):
        policy = base.policy(state, everyone)
        play = environment.play(instance, lambda seen, policy=policy: base.act(policy, seen, rng), rng)
        yield policy, play, state
        base.learn(state, everyone, Feedback(play.observation, play.action, play.reward), rng)


class Seen:
    """What one learner has seen: rewards and outcomes of every action in every state."""

    def __init__(self) -> None:
        self.rewards: dict[tuple[int, int], list[float]] = defaultdict(list)
        self.outcomes: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        self.episodes = 0

    def add(self, play: Play, row: int, stages: int, end: int) -> None:
        told = play.observation
        steps = int(told.alive[row].sum())
        for step in range(steps):
            pair = int(told.state[row, step]), int(told.action[row, step])
            self.rewards[pair].append(float(told.reward[row, step]))
            if step < stages - 1:
                self.outcomes[pair][end if step == steps - 1 else int(told.next_state[row, step])] += 1
        self.episodes += 1


def plan(stages: int, states: int, actions: int, worth: Callable[[int, int, list[float]], float]) -> Array:
    """Action-values (stages, states, actions), by what an action in a state is worth given the values of the next."""
    values, following = np.zeros((stages, states, actions)), [0.0] * (states + 1)  # the last is the end
    for stage in reversed(range(stages)):
        for state in range(states):
            for action in range(actions):
                values[stage, state, action] = worth(state, action, following)
        following = [*values[stage].max(axis=1), 0.0]
    return values


def hopeful(p: list[float], width: float, value: list[float]) -> list[float]:
    """The best probabilities within a distance: more for the best outcome, less for the worst until it is one."""
    upwards = sorted(range(len(p)), key=lambda outcome: value[outcome])
    best = upwards.pop()
    found = list(p)
    found[best] = min(1.0, p[best] + width / 2)
    for worst in upwards:
        surplus = math.fsum(found) - 1
        if surplus <= 0:
            break
        found[worst] -= min(surplus, found[worst])
    return found


def same_choice(bits: Array, values: Array, actions: int) -> bool:
    """Whether the actions that may be drawn, (stages, states, bytes), are the best by these values, up to rounding."""
    chosen = np.unpackbits(bits, axis=-1, count=actions).astype(bool)
    best = values.max(axis=-1, keepdims=True)
    return bool(
        chosen.any(axis=-1).all() and (values[chosen] >= np.broadcast_to(best, values.shape)[chosen] - 1e-9).all()
    )
