"""UCB1: the classical index, with time counted in the base's own plays.

Plays argmax_i mean_i + sigma sqrt(2 ln(s)/n_i) * scale, where s counts the base's own plays; arms not yet pulled come
first (ties: the lowest index). The source's index sqrt(2 ln s/n) is for rewards in [0, 1], which are 1/2-sub-Gaussian:
for these it is scale = 2.

Bound: the source bounds only the expected regret. The base claims the bound of UCB,
8 scale sigma sqrt(K s ln(2Ks/delta)) + 3 K (high - low), if scale >= 1, contexts do not change and no arm is masked.

Source: Auer, Cesa-Bianchi, Fischer, "Finite-time analysis of the multiarmed bandit problem", 2002.

>>> from corral_core import try_out
>>> from corral_mab import BernoulliArms
>>> regret = try_out(BernoulliArms(means=(0.2, 0.8)), Ucb1(), horizon=500, rows=4).regret
>>> bool(regret[:, -1].mean() < 75)  # half of what uniform play loses
True
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import ge, gt
from numpy.random import Generator

from corral_core import Array, Base, Bound, Feedback, Indices, Observation, Pick, Rows, fitted, knob
from corral_core.bases.policies import arm_type, best_arm, ranks
from corral_mab.bases.means import Means, observe
from corral_mab.bases.ucb import ucb_bound


class Ucb1State(Rows):
    means: Means
    played: Array
    scale: Array


@attrs.frozen
class Ucb1(Base):
    """Upper confidence bounds of Auer et al. 2002."""

    name: ClassVar[str] = "ucb1"
    formula: ClassVar[str] = (
        "8 scale sigma sqrt(K s ln(2Ks/delta)) + 3 K (high - low); "
        "none if scale < 1, contexts change or arms are masked"
    )
    masks: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True
    renews: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True

    scale: float = knob(1.0, help="multiplies the confidence width", validator=gt(0))
    arms: int = fitted(help="number of arms K", validator=ge(1))
    noise: float = fitted(help="sub-Gaussian scale sigma of the rewards", validator=ge(0))
    low: float = fitted(help="lowest mean reward")
    high: float = fitted(help="highest mean reward")
    changing: bool = fitted(help="whether contexts change; then there is no bound")
    masked: bool = fitted(help="whether arms may be unavailable", hidden=True)

    def init(self, given: Any, rng: Generator) -> Ucb1State:
        rows = len(given)
        return Ucb1State(Means.fresh(rows, self.arms), np.zeros(rows), np.asarray(given.scale, dtype=np.float64))

    def policy(self, state: Ucb1State, rows: Array) -> Pick | Indices:
        pulls = state.means.pulls.take(rows, axis=0)
        log = np.log(np.maximum(state.played.take(rows), 1.0))
        width = state.scale.take(rows) * self.noise * np.sqrt(2 * log)
        index = state.means.mean.take(rows, axis=0) + width[:, None] / np.sqrt(np.maximum(pulls, 1.0))
        return Indices(ranks(index)) if self.masked else Pick(index.argmax(axis=1).astype(arm_type(self.arms)))

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Array:
        if self.masked:
            return best_arm(policy.index, observation.mask)
        arm: Array = policy.arm.astype(np.intp)
        return arm

    def learn(self, state: Ucb1State, rows: Array, feedback: Feedback, rng: Generator) -> None:
        observe(state.means, rows, feedback)
        state.played[rows] += 1

    def renew(self, state: Ucb1State, rows: Array, arms: Array) -> None:
        state.means.renew(rows, arms)  # s stays: it counts what was learned

    def bound(self, delta: float) -> Bound | None:
        if self.changing or self.masked or self.scale < 1:
            return None
        return ucb_bound(self.arms, self.scale * self.noise, self.high - self.low, delta)
