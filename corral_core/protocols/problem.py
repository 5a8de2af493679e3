"""What an environment is, as far as a base may know, and what a play shows, pays and teaches."""

from __future__ import annotations

from typing import Any, Literal

import attrs
import numpy as np

from corral_core.errors import CorralError
from corral_core.rows import Array, Rows

NEEDS = {
    "arms": "a finite set of arms",
    "dimension": "features",
    "noise": "a known scale of the noise",
    "low": "a known range of the mean reward",
    "high": "a known range of the mean reward",
    "states": "a finite set of states",
    "stages": "episodes of a known length at most",
    "fixed_length": "episodes",
    "step_low": "a known range of the reward of a step",
    "step_high": "a known range of the reward of a step",
    "horizon": "a known horizon",
    "delta": "a failure probability",
}


ACTIONS = {"finite": "finitely many actions", "ball": "a ball of actions", "ellipsoid": "an ellipsoid of actions"}
SAYABLE = ("noise", "low", "high", "step_low", "step_high")  # what a user may know where the environment does not
SIZES = ("arms", "dimension", "states", "stages")  # a base may use less than there is, never more


@attrs.frozen
class Problem:
    """What an environment publishes; the experiment adds the horizon and delta."""

    environment: str = "this environment"
    actions: Literal["finite", "ball", "ellipsoid"] = "finite"
    arms: int | None = None
    dimension: int | None = None  # of the features of arms; in an episode, of each arm in each state
    changing: bool = False  # the action set or the context changes from play to play, and every observation shows it
    shared: bool = False  # one context for all arms, in place of features of each
    masked: bool = False  # not every arm is there at every play; features then come with every observation
    episodic: bool = False  # a play is an episode
    states: int | None = None
    stages: int | None = None  # the most steps of an episode
    fixed_length: bool = False  # every episode takes all its stages; else some may end early
    step_low: float | None = None  # range of what one step of an episode pays, where it is bounded
    step_high: float | None = None
    noise: float | None = None  # sub-Gaussian scale of the reward around its mean
    heavy_tails: bool = False  # there is no such scale: rewards are not sub-Gaussian
    low: float | None = None  # range of the mean reward
    high: float | None = None
    regret: bool = True  # whether the best mean is known, so that plays carry a regret
    horizon: int | None = None  # the most plays that a base can make
    delta: float | None = None

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest mean reward, which whoever scales rewards must know."""
        if self.low is None or self.high is None:
            raise CorralError(f"{self.environment} has no known range of the mean reward; give it low and high")
        return self.low, self.high


class Observation(Rows):
    """What is seen before an action is chosen; a bandit without contexts shows nothing."""

    features: Array | None = None  # (rows, arms, dimension); (rows, dimension): a shared context, or semi-axes
    mask: Array | None = None  # (rows, arms), true where the arm is there
    state: Array | None = None  # (rows,), of an episodic environment
    stage: Array | None = None  # (rows,), steps taken in this episode
    alive: Array | None = None  # (rows,), false where the episode is over


NOTHING = Observation()


class Trajectory(Rows):
    """What an episode leaves to learn from: (rows, steps) each, as many steps as the longest row took."""

    state: Array
    action: Array
    reward: Array
    next_state: Array
    alive: Array  # whether the step was taken


class Feedback(Rows):
    """What a base learns from: its own decision, unchanged, and what it earned."""

    observation: Any  # Observation, or Trajectory for an episode
    decision: Any  # what `act` returned
    reward: Array

    @property
    def action(self) -> Array:
        """The action itself, whatever else the decision carries."""
        return action_of(self.decision)


def action_of(decision: Any) -> Array:
    """The actions in what `act` returned."""
    actions: Array = decision if isinstance(decision, np.ndarray) else decision.action
    return actions
