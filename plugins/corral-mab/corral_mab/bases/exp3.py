"""EXP3 and EXP3-IX: exponential weights over importance-weighted losses, anytime.

With losses l = (high - reward)/(high - low) and rate eta_s = sqrt(ln K/(K s)), the policy of state s is
P = softmax(-eta_s L). EXP3 adds l/P_a to L_a of the arm played; EXP3-IX adds slightly less, l/(P_a + eta_s/2), which
bounds its variance and gives it a bound with high probability.

Bound (anytime form of the second source's Theorem 1):
U(s, delta) = (high - low) (4 sqrt(K s ln K) + (2 sqrt(K s/ln K) + 1) ln(2/delta)).
It needs losses in [0, 1], so rewards in [low, high], and one best arm: if rewards may lie outside, or contexts change,
no bound is claimed. Plain EXP3 has a bound of this order only in expectation, but claims the same bound.

If arms are masked, P is the softmax over the available arms, a policy holds -eta_s L, and no bound is claimed.
It learns only from its own plays, because losses are weighted by its own probabilities. It renews no arms: L sums
losses over all plays, and an arm without a past has no sum that could be compared with those of the others.

Sources: Auer, Cesa-Bianchi, Freund, Schapire, "The nonstochastic multiarmed bandit problem", 2002; Neu, "Explore no
more: improved high-probability regret bounds for non-stochastic bandits", 2015.

>>> from corral_core import try_out
>>> from corral_mab import BernoulliArms
>>> regret = try_out(BernoulliArms(means=(0.2, 0.8)), Exp3Ix(), horizon=500, rows=4).regret
>>> bool(regret[:, -1].mean() < 75)  # half of what uniform play loses
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import ge
from numpy.random import Generator

from corral_core import Array, Bound, Feedback, Observation, Rows, Term, fitted
from corral_mab.bases.bounded import NeedsBoundedRewards


class Exp3State(Rows):
    loss: Array  # L, (rows, arms)
    played: Array  # s - 1


class Exp3Policy(Rows):
    probability: Array  # P, (rows, arms)


class MaskedExp3Policy(Rows):
    weight: Array  # -eta_s L up to a constant, (rows, arms): logarithms of weights, because any arms may be left


class Exp3Decision(Rows):
    action: Array
    probability: Array  # probability with which the action was drawn


@attrs.frozen
class Exp3(NeedsBoundedRewards):
    """Exponential weights with importance-weighted losses."""

    name: ClassVar[str] = "exp3"
    formula: ClassVar[str] = (
        "(high - low) (4 sqrt(K s ln K) + (2 sqrt(K s/ln K) + 1) ln(2/delta)); "
        "none if rewards may lie outside [low, high], contexts change or arms are masked"
    )
    masks: ClassVar[bool] = True
    implicit: ClassVar[float] = 0.0  # multiple of the rate that is added to the probability

    arms: int = fitted(help="number of arms K", validator=ge(1))
    noise: float = fitted(help="sub-Gaussian scale of the rewards", validator=ge(0))

    def init(self, given: Any, rng: Generator) -> Exp3State:
        return Exp3State(np.zeros((len(given), self.arms)), np.zeros(len(given)))

    def rate(self, played: Array) -> Array:
        """The learning rate eta_s, s = played + 1."""
        return np.asarray(np.sqrt(math.log(self.arms) / (self.arms * (played + 1))))

    def policy(self, state: Exp3State, rows: Array) -> Exp3Policy | MaskedExp3Policy:
        loss = state.loss.take(rows, axis=0)
        loss -= loss.min(axis=1, keepdims=True)
        if self.masked:
            return MaskedExp3Policy((-self.rate(state.played.take(rows))[:, None] * loss).astype(np.float32))
        weight = np.exp(-self.rate(state.played.take(rows))[:, None] * loss)
        return Exp3Policy((weight / weight.sum(axis=1, keepdims=True)).astype(np.float32))

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Exp3Decision:
        probability = self._weights(policy, observation) if self.masked else policy.probability
        sums = np.cumsum(probability, axis=1, dtype=np.float64)
        drawn = rng.random(len(policy)) * sums[:, -1]
        action = (sums <= drawn[:, None]).sum(axis=1)
        return Exp3Decision(action, probability[np.arange(len(action)), action] / sums[:, -1])

    def _weights(self, policy: MaskedExp3Policy, observation: Observation) -> Array:
        """Weights of the available arms, the largest of them 1."""
        weight = policy.weight.astype(np.float64)
        if observation.mask is not None:
            weight = np.where(observation.mask, weight, -np.inf)
        return np.asarray(np.exp(weight - weight.max(axis=1, keepdims=True)))

    def action_probabilities(self, policy: Any, observation: Observation) -> Array:
        weight = self._weights(policy, observation) if self.masked else policy.probability.astype(np.float64)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def learn(self, state: Exp3State, rows: Array, feedback: Feedback, rng: Generator) -> None:
        loss = (self.high - feedback.reward) / ((self.high - self.low) or 1.0)
        explored = self.implicit * self.rate(state.played.take(rows))
        state.loss[rows, feedback.action] += loss / (feedback.decision.probability + explored)
        state.played[rows] += 1

    def bound(self, delta: float) -> Bound | None:
        if not self.has_bound:
            return None
        arms, span = self.arms, self.high - self.low
        log = max(math.log(arms), math.log(2))
        return Bound(
            lambda s: span * (4 * np.sqrt(arms * s * log) + (2 * np.sqrt(arms * s / log) + 1) * math.log(2 / delta)),
            (Term(self.noise * math.sqrt(arms * log), 0.5),),
        )


@attrs.frozen
class Exp3Ix(Exp3):
    """EXP3 with implicit exploration."""

    name: ClassVar[str] = "exp3-ix"
    implicit: ClassVar[float] = 0.5
