"""What bases may know about an environment, what they see before they act, and what they learn from."""

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
    "stages": "a known maximum length of episodes",
    "fixed_length": "episodes",
    "step_low": "a known range of the reward of a step",
    "step_high": "a known range of the reward of a step",
    "horizon": "a known horizon",
    "delta": "a failure probability",
    "reward_low": "a known range of the rewards",
    "reward_high": "a known range of the rewards",
}


Actions = Literal["finite", "ball", "ellipsoid"]
ACTIONS: dict[Actions, str] = {
    "finite": "finitely many actions",
    "ball": "a ball of actions",
    "ellipsoid": "an ellipsoid of actions",
}
SAYABLE = ("noise", "low", "high", "step_low", "step_high")  # what a user may set if the environment does not know it
SIZES = ("arms", "dimension", "states", "stages")  # a base may use less than the problem has, never more


@attrs.frozen
class Problem:
    """What an environment publishes; the experiment adds the horizon and delta."""

    environment: str = "the problem"  # its name, for messages
    actions: Actions = "finite"
    arms: int | None = None
    dimension: int | None = None  # of the features of arms; in an episode, of each arm in each state
    changing: bool = False  # the action set or the context changes from play to play, and every observation shows it
    shared: bool = False  # one context for all arms, instead of features of each arm
    masked: bool = False  # some arms may be unavailable at a play; features then come with every observation
    renewable: bool = False  # arms may be replaced by new ones while bases play (`Selection.renew`)
    episodic: bool = False  # a play is an episode
    states: int | None = None
    stages: int | None = None  # maximum number of steps of an episode
    fixed_length: bool = False  # every episode takes all its stages; if False, some may end early
    step_low: float | None = None  # range of the reward of one step of an episode, if it is bounded
    step_high: float | None = None
    noise: float | None = None  # sub-Gaussian scale of the reward around its mean
    heavy_tails: bool = False  # there is no such scale: rewards are not sub-Gaussian
    low: float | None = None  # range of the mean reward
    high: float | None = None
    reward_low: float | None = None  # range of the rewards themselves, noise included, if they are bounded
    reward_high: float | None = None
    regret: bool = True  # whether the best mean is known, so that plays report regret
    horizon: int | None = None  # maximum number of plays of a base
    delta: float | None = None
    facts: dict[str, float] = attrs.field(factory=dict, hash=False)  # what bases made for this environment may know

    def pays_within(self, low: float, high: float) -> bool:
        """Whether every reward is known to lie in [low, high]; some bounds hold only then."""
        if self.reward_low is None or self.reward_high is None:
            return False
        return low <= self.reward_low and self.reward_high <= high

    def check_range(self) -> None:
        """Raise an error if the range of the mean reward is unknown."""
        _ = self.range

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest mean reward, by which rewards are scaled; raises a `CorralError` if unknown."""
        if self.low is None or self.high is None:
            raise CorralError(f"{self.environment} has no known range of the mean reward; set its low and high")
        return self.low, self.high


class Observation(Rows):
    """What is seen before an action is chosen; a bandit without contexts shows nothing."""

    features: Array | None = None  # (rows, arms, dimension); (rows, dimension): a shared context, or semi-axes
    mask: Array | None = None  # (rows, arms), true if the arm is available
    state: Array | None = None  # (rows,), in an episodic environment
    stage: Array | None = None  # (rows,), steps taken in this episode
    alive: Array | None = None  # (rows,), false if the episode is over


NOTHING = Observation()


class Trajectory(Rows):
    """What a base learns from after an episode: (rows, steps) arrays, with as many steps as the longest row took."""

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
        """The action, without anything else in the decision."""
        return action_of(self.decision)


def action_of(decision: Any) -> Array:
    """The actions in what `act` returned."""
    actions: Array = decision if isinstance(decision, np.ndarray) else decision.action
    return actions
