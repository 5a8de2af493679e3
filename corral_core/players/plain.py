"""Plain play: one play per round, with the current policy.

A player makes `steps` plays per round, all by the same learners. The gain of the round is the sum of their rewards,
weighted by `weights`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.kernels.places import count
from corral_core.log import Log
from corral_core.protocols.base import Base
from corral_core.protocols.problem import Feedback, Observation
from corral_core.rows import Array


class Player:
    """One play per round: act with the current policy and learn."""

    weights: tuple[float, ...] = (1.0,)

    def __init__(self, base: Base, given: Any, rng: Generator) -> None:
        self.base = base
        self.given = given
        self.plays = np.zeros(len(given), dtype=np.int64)  # number of rounds each learner was asked to play
        self.taught = np.zeros(len(given), dtype=np.int64)  # plays of other bases that each learner learned from
        self.state = self._fresh(given.take(np.arange(len(given))), rng)  # a copy: restarts need the original
        self._latest = Log(len(given))

    @property
    def steps(self) -> int:
        return len(self.weights)

    def _fresh(self, given: Any, rng: Generator) -> Any:
        return self.base.init(given, rng)

    def next_policy(self, step: int, learners: Array, rng: Generator) -> Any:
        """The policies with which these learners act in this step of the round."""
        policy = self.current_policy(learners)
        count(self.plays, learners)
        return policy

    def current_policy(self, learners: Array) -> Any:
        """The policies that these learners would play now."""
        if not self.base.rarely_changes:
            return self.base.policy(self.state, learners)
        changed, policy = self._changed(learners)
        if policy is not None:
            self._latest.forget(learners[changed])
            self._latest.append(learners[changed], policy)
        return self._latest.get(learners, np.zeros(len(learners), dtype=np.int64))

    def _changed(self, learners: Array) -> tuple[Array, Any]:
        """Which learners have a new policy since they last played, and these policies (None if there are none)."""
        changed = self.base.changed(self.state, learners) | (self.plays.take(learners) == 0)
        return changed, self.base.policy(self.state, learners[changed]) if changed.any() else None

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Any:
        return self.base.act(policy, observation, rng)

    def learn(self, step: int, learners: Array, feedback: Feedback, rng: Generator) -> None:
        self.base.learn(self.state, learners, feedback, rng)

    def learns_in(self, step: int) -> bool:
        """Whether its learners learn from this step of the round."""
        return True

    def learned_from(self, learners: Array) -> Array:
        """s of these learners: their own rounds, and the plays of other bases that they learned from."""
        found: Array = self.plays.take(learners) + self.taught.take(learners)
        return found

    def renew(self, learners: Array, arms: Array) -> None:
        """Let these learners forget some arms, (learners, arms) booleans."""
        self.base.renew(self.state, learners, arms)

    def restart(self, learners: Array, rng: Generator) -> None:
        """Start these learners over, without a past."""
        self.state.put(learners, self._fresh(self.given.take(learners), rng))
        self.plays[learners] = self.taught[learners] = 0

    def saved(self) -> dict[str, Any]:
        """Everything that must be saved of this player, by name."""
        return {"plays": self.plays, "taught": self.taught, "state": self.state, "latest": self._latest}

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue with what another player `saved`."""
        self.plays, self.taught = saved["plays"], saved["taught"]
        self.state, self._latest = saved["state"], saved["latest"]


@attrs.frozen
class Played:
    """A base and the player that plays it."""

    base: Base
    player: Callable[[Base, Any, Generator], Player]

    def start(self, given: Any, rng: Generator) -> Player:
        """A player whose learners are the rows of `given`."""
        return self.player(self.base, given, rng)


def plain(base: Base) -> Played:
    """The base played plainly: one step per round."""
    return Played(base, Player)
