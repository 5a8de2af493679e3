"""Common part of algorithms with levels: going down the levels, their policies, and which level learns from a play.

Every level has its own estimate and learns only from the plays that it decided by width, so the rewards that a level
learns from are independent given what was played. A play begins at level 1 with every arm a candidate; at level l, with
the widths w of the candidates and a unit u:

- all w <= u/sqrt(T): play the candidate of largest index, and no level learns;
- all w <= u 2^-l: go to the next level with the candidates within u 2^(1-l) of the largest index;
- else: play the candidate of largest w, and let level l learn.

Ties go to the lowest index. The algorithms define width, index and the number of levels. If 2^-levels <= 1/sqrt(T), the
last level always decides.

If arms are masked, the candidates at level 1 are the available ones. The proofs hold for any number of candidates up to
K that is chosen without looking at rewards, so bounds stay as they are. The plays of other bases belong to no level: a
level that learned from them would no longer have independent rewards. So these algorithms do not learn from others.

Source of the construction: Auer, "Using confidence bounds for exploitation-exploration trade-offs", 2002.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import attrs
import numpy as np
from attrs.validators import ge
from numpy.random import Generator

from corral_core import Array, Feedback, Observation, Rows, fitted
from corral_core.bases.policies import arm_type
from corral_kit.linear.arms import best_arm, played, quietly, widths
from corral_kit.linear.featured import Linear
from corral_kit.linear.packing import packed, single, unpacked
from corral_kit.linear.ridge import Ridge

NOBODY = -1


class LevelsState(Rows):
    ridge: Ridge  # (rows, levels)
    factor: Array  # (rows,): w = factor ||x||_{V^-1}
    features: Array | None  # (rows, arms, d), of fixed arms


class Levels(Rows):
    """The policy if arms change from play to play: all levels."""

    theta: Array  # (rows, levels, d)
    inverse: Array  # (rows, levels, d (d + 1)/2), packed
    factor: Array


class LevelDecision(Rows):
    """What is played; also the policy if arms are fixed."""

    action: Array
    level: Array  # which level learns, from 0; `NOBODY`: none


@attrs.frozen
class InLevels(Linear):
    """An algorithm with levels of independent samples."""

    arms: int = fitted(help="number of arms K", validator=ge(1))
    horizon: int = fitted(help="number of plays T", validator=ge(1))

    # --- what the bases differ in ---

    @property
    @abstractmethod
    def levels(self) -> int:
        """The number of levels."""

    @property
    @abstractmethod
    def unit(self) -> float:
        """u, the unit in which widths are compared with 2^-l."""

    @abstractmethod
    def _index(self, mean: Array, width: Array) -> Array:
        """The index by which candidates are compared, from <x, theta> and w."""

    def _theta(self, state: Any, rows: Array) -> Array:
        """The estimates of all levels: (rows, levels, d)."""
        found: Array = state.ridge.theta.take(rows, axis=0)
        return found

    @abstractmethod
    def _teach(self, state: Any, rows: Array, level: Array, action: Array, x: Array, reward: Array) -> None:
        """Let the given level of each row learn from a play."""

    # --- Base ---

    def policy(self, state: Any, rows: Array) -> Levels | LevelDecision:
        theta, inverse = self._theta(state, rows), state.ridge.inverse.take(rows, axis=0)
        factor = state.factor.take(rows)
        if state.features is None:
            return Levels(single(theta), packed(inverse), single(factor))
        found = self._decide(theta, inverse, factor, state.features.take(rows, axis=0), None)
        return LevelDecision(found.action.astype(arm_type(self.arms)), found.level.astype(np.int8))

    def act(self, policy: Levels | LevelDecision, observation: Observation, rng: Generator) -> LevelDecision:
        if isinstance(policy, LevelDecision):
            return LevelDecision(policy.action.astype(np.intp), policy.level)
        inverse, features = unpacked(policy.inverse), self.observed(observation)
        return self._decide(policy.theta, inverse, policy.factor, features, observation.mask)

    @quietly
    def _decide(
        self, theta: Array, inverse: Array, factor: Array, features: Array, mask: Array | None
    ) -> LevelDecision:
        """Go down the levels with the rows that no level has decided yet."""
        undecided = np.arange(len(features))
        candidates = np.ones(features.shape[:2], dtype=bool) if mask is None else mask.copy()
        action, level = np.zeros(len(features), dtype=np.intp), np.full(len(features), NOBODY)
        features = features.astype(theta.dtype, copy=False)
        for number in range(self.levels):
            x, left = features[undecided], candidates[undecided]
            width = factor[undecided, None] * widths(x, inverse[undecided, number])
            index = self._index(np.einsum("nki,ni->nk", x, theta[undecided, number]), width)
            each, widest, best = np.arange(len(x)), best_arm(width, left), best_arm(index, left)
            most = width[each, widest]
            precise = most <= self.unit / math.sqrt(self.horizon)
            wide = ~precise & (most > self.unit * 2.0 ** -(number + 1))
            action[undecided] = np.where(precise, best, widest)
            level[undecided[wide]] = number
            kept = index >= (index[each, best] - self.unit * 2.0**-number)[:, None]
            candidates[undecided] = left & kept
            undecided = undecided[~(precise | wide)]
            if not len(undecided):
                break
        return LevelDecision(action, level)

    def learn(self, state: Any, rows: Array, feedback: Feedback, rng: Generator) -> None:
        learns = feedback.decision.level != NOBODY
        rows, action, level = rows[learns], feedback.action[learns], feedback.decision.level[learns].astype(np.intp)
        if not len(rows):
            return
        if state.features is None:
            x = played(self.observed(feedback.observation)[learns], action)
        else:
            x = state.features[rows, action]
        self._teach(state, rows, level, action, x, feedback.reward[learns])
