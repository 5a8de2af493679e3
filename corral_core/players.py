"""What selection plays: a block of kin bases, plainly, smoothed, or in several copies.

A player has `steps` plays a round, all by the same learners, and says with which weights their rewards make the gain
of the round. Smoothing is the paper's decorator (Algorithm 8): step 1 plays pi_s and learns; step 2 replays pi_q with
q uniform on 1..s, on a fresh observation, and learns nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.protocols import Base, Feedback, Observation
from corral_core.replay import Replay
from corral_core.rows import Array, Log, Rows


class Player:
    """One play a round: act with the current policy and learn."""

    weights: tuple[float, ...] = (1.0,)

    def __init__(self, base: Base, given: Any, rng: Generator) -> None:
        self.base = base
        self.given = given
        self.plays = np.zeros(len(given), dtype=np.int64)  # s: how many rounds each learner has been asked to play
        self.state = self._fresh(given.take(np.arange(len(given))), rng)  # a copy: restarts need the original
        self._latest = Log(len(given))

    @property
    def steps(self) -> int:
        return len(self.weights)

    def _fresh(self, given: Any, rng: Generator) -> Any:
        return self.base.init(given, rng)

    def next_policy(self, step: int, learners: Array, rng: Generator) -> Any:
        """What these learners act with in this step of the round."""
        if self.base.rarely_changes:
            changed, policy = self._changed(learners)
            if policy is not None:
                self._latest.forget(learners[changed])
                self._latest.append(learners[changed], policy)
            policy = self._latest.get(learners, np.zeros(len(learners), dtype=np.int64))
        else:
            policy = self.base.policy(self.state, learners)
        self.plays[learners] += 1
        return policy

    def _changed(self, learners: Array) -> tuple[Array, Any]:
        """Which learners have a policy other than their last, and those policies (None where all have theirs)."""
        changed = self.base.changed(self.state, learners) | (self.plays.take(learners) == 0)
        return changed, self.base.policy(self.state, learners[changed]) if changed.any() else None

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Any:
        return self.base.act(policy, observation, rng)

    def learn(self, step: int, learners: Array, feedback: Feedback, rng: Generator) -> None:
        self.base.learn(self.state, learners, feedback, rng)

    def restart(self, learners: Array, rng: Generator) -> None:
        """Fresh learners, with no past."""
        self.state.put(learners, self._fresh(self.given.take(learners), rng))
        self.plays[learners] = 0


class Smooth(Player):
    """The paper's smoothing: play and learn, then replay a policy drawn uniformly from the past."""

    weights = (0.0, 1.0)

    def __init__(self, base: Base, given: Any, rng: Generator) -> None:
        super().__init__(base, given, rng)
        self.replay = Replay(len(given))
        self.plays = self.replay.plays

    def next_policy(self, step: int, learners: Array, rng: Generator) -> Any:
        if step == 0:
            return self._record(learners)
        unplayed = self.plays.take(learners) == 0
        if unplayed.any():  # restarted in the middle of the round: pi_1 is all the past it can have
            self._record(learners[unplayed])
        return self.replay.draw(learners, rng)

    def _record(self, learners: Array) -> Any:
        if self.base.rarely_changes:
            return self.replay.record_changed(learners, *self._changed(learners))
        policy: Rows = self.base.policy(self.state, learners)
        self.replay.record(learners, policy)
        return policy

    def learn(self, step: int, learners: Array, feedback: Feedback, rng: Generator) -> None:
        if step == 0:
            super().learn(step, learners, feedback, rng)

    def restart(self, learners: Array, rng: Generator) -> None:
        super().restart(learners, rng)
        self.replay.forget(learners)


class Boosted(Player):
    """Independent copies of every learner, each of which plays and learns once a round; the gain is their mean."""

    def __init__(self, base: Base, given: Any, rng: Generator, copies: int) -> None:
        self.copies = copies
        self.weights = (1.0 / copies,) * copies
        super().__init__(base, given, rng)

    def _fresh(self, given: Any, rng: Generator) -> Any:
        return self.base.init(given.take(np.repeat(np.arange(len(given)), self.copies)), rng)

    def next_policy(self, step: int, learners: Array, rng: Generator) -> Any:
        self.plays[learners] += step == 0
        return self.base.policy(self.state, learners * self.copies + step)

    def learn(self, step: int, learners: Array, feedback: Feedback, rng: Generator) -> None:
        self.base.learn(self.state, learners * self.copies + step, feedback, rng)

    def restart(self, learners: Array, rng: Generator) -> None:
        rows = (learners[:, None] * self.copies + np.arange(self.copies)).reshape(-1)
        self.state.put(rows, self._fresh(self.given.take(learners), rng))
        self.plays[learners] = 0


@attrs.frozen
class Played:
    """A base and how it is to be played."""

    base: Base
    player: Callable[[Base, Any, Generator], Player]

    def start(self, given: Any, rng: Generator) -> Player:
        """A player whose learners are the rows of `given`."""
        return self.player(self.base, given, rng)


def plain(base: Base) -> Played:
    """One step a round."""
    return Played(base, Player)


def smooth(base: Base) -> Played:
    """The paper's decorator: two steps a round."""
    return Played(base, Smooth)


def boosted(base: Base, copies: int) -> Played:
    """That many copies, a step each."""
    return Played(base, partial(Boosted, copies=copies))
