"""Smoothing, the paper's decorator (Algorithm 8): two plays per round.

Step 1 plays pi_s and learns; step 2 replays pi_q with q uniform on 1..s, on a fresh observation, and learns nothing.

Source: Pacchiano et al., "Model selection in contextual stochastic bandit problems", 2020, Algorithm 8.
"""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from corral_core.players.plain import Played, Player
from corral_core.players.replay import Replay
from corral_core.protocols.base import Base
from corral_core.protocols.problem import Feedback
from corral_core.rows import Array, Rows


class Smooth(Player):
    """The paper's smoothing: play and learn, then replay a policy drawn uniformly from the past."""

    weights = (0.0, 1.0)

    def __init__(self, base: Base, given: Any, rng: Generator) -> None:
        super().__init__(base, given, rng)
        self.replay = Replay(len(given))
        self.plays = self.replay.plays
        self._restarts = False  # whether a learner may have restarted in the middle of a round

    def next_policy(self, step: int, learners: Array, rng: Generator) -> Any:
        if step == 0:
            return self._record(learners)
        if self._restarts:
            unplayed = self.plays.take(learners) == 0
            if unplayed.any():  # restarted in the middle of the round: its past is pi_1 alone
                self._record(learners[unplayed])
        return self.replay.draw(learners, rng)

    def _record(self, learners: Array) -> Any:
        if self.base.rarely_changes:
            return self.replay.record_changed(learners, *self._changed(learners))
        policy: Rows = self.base.policy(self.state, learners)
        self.replay.record(learners, policy)
        return policy

    def learns_in(self, step: int) -> bool:
        return step == 0

    def learn(self, step: int, learners: Array, feedback: Feedback, rng: Generator) -> None:
        if self.learns_in(step):
            super().learn(step, learners, feedback, rng)

    def restart(self, learners: Array, rng: Generator) -> None:
        super().restart(learners, rng)
        self.replay.forget(learners)
        self._restarts = True

    def saved(self) -> dict[str, Any]:
        return {**super().saved(), **self.replay.saved()}

    def restore(self, saved: dict[str, Any]) -> None:
        super().restore(saved)
        self.replay.restore(saved)
        self._restarts = True


def smooth(base: Base) -> Played:
    """The paper's decorator: two steps per round."""
    return Played(base, Smooth)
