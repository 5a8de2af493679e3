"""Boosting: several independent copies of every learner, each of which plays once per round."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from corral_core.players.plain import Played, Player
from corral_core.protocols.base import Base
from corral_core.protocols.problem import Feedback
from corral_core.rows import Array


class Boosted(Player):
    """Independent copies of every learner, each of which plays and learns once per round; the gain is their mean."""

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


def boosted(base: Base, copies: int) -> Played:
    """The base played as this many copies: one step per copy in each round."""
    return Played(base, partial(Boosted, copies=copies))
