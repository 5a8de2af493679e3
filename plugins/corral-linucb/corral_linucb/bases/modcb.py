"""ModCB: starts with the fewest features, and adds more when plays drawn uniformly show that they are needed.

The classes are linear in the first d_1 < d_2 < ... features. At its s-th play the base explores with probability
min(1, (K/s)^kappa): it plays an arm drawn uniformly, which feeds the test. Otherwise it plays LinUCB of the current
class m, argmax <x, theta> + beta ||x||_{V^-1} (ties: the lowest index) with

    beta = scale (sigma sqrt(ln(det V/lambda^d) + 2 ln(1/delta)) + sqrt(lambda) S)

and that learner learns. With n explored plays and, over them, b = sum y phi and Q = sum y^2 phi phi^T, and with Sigma
the mean of phi phi^T over all plays and their available arms (in each play an arm has the weight with which exploration
would have drawn it),

    e_i = b_i^T Sigma_i^-1 b_i - <Sigma_i^-1, Q_i>,    E_{m,i} = (e_i - e_m)/(n (n - 1))

is an unbiased estimate of the mean of (<beta_m, x> - <beta_i, x>)^2, the advantage of the best predictor of class i
over that of class m (index i takes the leading d_i coordinates). This is the source's
(b^T G b - <G, Q>)/(n (n - 1)), with G = R Sigma R and R = blockdiag(Sigma_m^-1, 0) - Sigma^-1, because
G = Sigma^-1 - blockdiag(Sigma_m^-1, 0).

Every `every` plays the base moves to the smallest class i > m with E_{m,i} > threshold sqrt(d_i) Var(y)/n and
n > 5 d_i, and its learner starts over. If class m suffices, E_{m,i} has a standard deviation of about
sqrt(2 (d_i - d_m)) Var(y)/n, which for d_i = 2 d_m is sqrt(d_i) Var(y)/n: the threshold of 4 is four of these. Because
the test is repeated, for every larger class, one learner in seven still moves unnecessarily within a few thousand plays
(one in five if d* = 1). With a threshold of 6 it is one in seventeen, but the base needs more plays to move at all.

This is the practical version. Its learner is LinUCB instead of EXP4-IX, and its threshold omits the constants of the
theory. The theoretical version has regret T^(2/3) (K d*)^(1/3), up to logarithms, for kappa = 1/3.

It does not learn from others: the test needs plays that are known to be drawn uniformly.

Source: Foster, Krishnamurthy, Luo, "Model selection for contextual bandits", 2019, Algorithms 1 and 2.

>>> from corral_core import Problem
>>> ModCb().resolve(Problem(arms=2, dimension=12, changing=True, noise=0.5, delta=0.01)).classes
(1, 2, 4, 8, 12)
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import ge, gt
from corral_kit.linear.arms import best_arm, certain, played, upper_bounds
from corral_kit.linear.featured import Linear
from corral_kit.linear.packing import packed, single, unpacked
from corral_kit.linear.ridge import Ridge, learn, radius
from numpy.random import Generator

from corral_core import Array, CorralError, Feedback, Observation, Problem, Rows, fitted, parameter
from corral_core.bases.policies import arm_type, available_at, uniform

RIDGE = 1e-6  # added to Sigma, relative to its mean diagonal
NEEDED = 5  # explored plays per feature before a class is tested


class Explored(Rows):
    """Sums over the plays drawn uniformly."""

    plays: Array  # n
    response: Array  # b, (rows, D)
    second: Array  # Q, (rows, D, D)
    mean: Array  # of the rewards
    spread: Array  # sum of squared deviations of the rewards from their mean


class ModCbState(Rows):
    learner: Ridge  # of dimension D; features beyond the current class are zero
    number: Array  # m, from 0
    plays: Array  # s - 1
    covariance: Array  # Sigma, (rows, D, D); times s - 1 if arms change
    explored: Explored
    scale: Array
    delta: Array
    features: Array | None  # (rows, arms, D), of fixed arms


class Learned(Rows):
    """The policy if arms change from play to play."""

    theta: Array  # (rows, D)
    inverse: Array  # (rows, D (D + 1)/2), V^-1 of the current class and zero beyond it, packed
    radius: Array  # beta
    exploration: Array  # probability


class FixedArm(Rows):
    """The policy if arms are fixed."""

    arm: Array  # the choice of LinUCB
    exploration: Array


class ModCbDecision(Rows):
    action: Array
    explored: Array  # whether this play explored


@attrs.frozen
class ModCb(Linear):
    """Model selection over nested classes by tests on explored plays."""

    name: ClassVar[str] = "modcb"
    formula: ClassVar[str] = "unknown; T^(2/3) (K d*)^(1/3) up to logarithms for its theoretical version"

    arms: int = fitted(help="number of arms K", validator=ge(1))
    kappa: float = parameter(1 / 3, help="explores with probability (K/s)^kappa", validator=gt(0))
    threshold: float = parameter(4.0, help="standard deviations needed to move to a larger class", validator=ge(0))
    every: int = parameter(10, help="plays between tests", validator=ge(1))
    dimensions: tuple[int, ...] | None = parameter(
        None, help="number of features of each class (default: the powers of two below D, then D)"
    )

    def __attrs_post_init__(self) -> None:
        sizes = self.dimensions
        if sizes is not None and (not sizes or list(sizes) != sorted({max(1, size) for size in sizes})):
            raise CorralError(f"{self.name}: dimensions must be increasing whole numbers, at least 1, not {sizes}")

    def resolve(self, problem: Problem) -> Self:
        found = super().resolve(problem)
        if found.classes[-1] > found.dimension:
            raise CorralError(
                f"{self.name}: dimensions must be at most {found.dimension}, the number of features, "
                f"not {found.classes[-1]}"
            )
        return found

    @property
    def classes(self) -> tuple[int, ...]:
        """The numbers of features d_1 < d_2 < ... of the classes."""
        if self.dimensions is not None:
            return self.dimensions
        return (*(2**power for power in range((self.dimension - 1).bit_length())), self.dimension)

    def init(self, given: Any, rng: Generator) -> ModCbState:
        rows, dimension, features = len(given), self.dimension, self.shown(given)
        square = (rows, dimension, dimension)
        zero = np.zeros(rows)
        return ModCbState(
            learner=Ridge.fresh(rows, dimension, self.penalty),
            number=np.zeros(rows, dtype=np.intp),
            plays=np.zeros(rows, dtype=np.int64),
            covariance=np.zeros(square) if features is None else _covariance(features, None),
            explored=Explored(zero, np.zeros((rows, dimension)), np.zeros(square), zero.copy(), zero.copy()),
            scale=np.asarray(given.scale, dtype=np.float64),
            delta=np.asarray(given.delta, dtype=np.float64),
            features=features,
        )

    def policy(self, state: ModCbState, rows: Array) -> Learned | FixedArm:
        learner = state.learner
        theta, inverse = learner.theta.take(rows, axis=0), learner.inverse.take(rows, axis=0)
        every = range(self.dimension)
        inverse[:, every, every] *= self._seen(state, rows)  # as zero features would: V^-1 is diagonal beyond the class
        grown, delta = learner.log_determinant.take(rows), state.delta.take(rows)
        beta = state.scale.take(rows) * radius(grown, delta, self.noise, self.penalty, self.norm)
        chance = np.minimum(1, (self.arms / (state.plays.take(rows) + 1)) ** self.kappa).astype(np.float32)
        if state.features is None:
            return Learned(single(theta), packed(inverse), single(beta), chance)
        arm = best_arm(upper_bounds(state.features.take(rows, axis=0), theta, inverse, beta), None)
        return FixedArm(arm.astype(arm_type(self.arms)), chance)

    def act(self, policy: Learned | FixedArm, observation: Observation, rng: Generator) -> ModCbDecision:
        best = self._best(policy, observation)
        coin = rng.random((len(policy), 2))
        explored = coin[:, 0] < policy.exploration
        drawn = available_at(coin[:, 1], self.arms, observation.mask)
        return ModCbDecision(np.where(explored, drawn, best), explored)

    def action_probabilities(self, policy: Learned | FixedArm, observation: Observation) -> Array:
        explores = policy.exploration.astype(np.float64)[:, None]
        drawn = uniform(len(policy), self.arms, observation.mask)
        return explores * drawn + (1 - explores) * certain(self._best(policy, observation), self.arms)

    def _best(self, policy: Learned | FixedArm, observation: Observation) -> Array:
        """The arm of LinUCB in the current class."""
        if isinstance(policy, FixedArm):
            return policy.arm.astype(np.intp)
        features = self.observed(observation)
        index = upper_bounds(features, policy.theta, unpacked(policy.inverse), policy.radius)
        return best_arm(index, observation.mask)

    def learn(self, state: ModCbState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        explored, reward = feedback.decision.explored, feedback.reward
        state.plays[rows] += 1
        if state.features is None:
            features = self.observed(feedback.observation)
            x = played(features, feedback.action)
            state.covariance[rows] += _covariance(features, feedback.observation.mask)
        else:
            x = state.features[rows, feedback.action]
        if explored.any():
            _add(state.explored, rows[explored], x[explored], reward[explored])
        if not explored.all():
            others = ~explored
            seen = x[others] * self._seen(state, rows[others])
            learn(state.learner, rows[others], seen, reward[others])
        due = rows[state.plays.take(rows) % self.every == 0]
        if len(due):
            self._test(state, due)

    def _seen(self, state: ModCbState, rows: Array) -> Array:
        """Which features belong to the current class, (rows, D)."""
        found: Array = np.arange(self.dimension) < np.asarray(self.classes)[state.number.take(rows)][:, None]
        return found

    def _test(self, state: ModCbState, rows: Array) -> None:
        """Move to the smallest larger class whose features are needed."""
        classes = np.asarray(self.classes)
        number, n = state.number.take(rows), state.explored.plays.take(rows)
        following = classes[np.minimum(number + 1, len(classes) - 1)]
        ready = (number + 1 < len(classes)) & (n > NEEDED * following)
        rows, number, n = rows[ready], number[ready], n[ready]
        if not len(rows):
            return
        energy = self._energies(state, rows, range(number.min(), np.count_nonzero(NEEDED * classes < n.max())))
        gained = (energy - energy[np.arange(len(rows)), number][:, None]) / (n * (n - 1))[:, None]
        variance = state.explored.spread.take(rows) / n
        missed = gained > self.threshold * np.sqrt(classes) * (variance / n)[:, None]
        missed &= (np.arange(len(classes)) > number[:, None]) & (n[:, None] > NEEDED * classes)
        moves = missed.any(axis=1)
        if moves.any():
            state.number[rows[moves]] = missed[moves].argmax(axis=1)
            state.learner.put(rows[moves], Ridge.fresh(int(moves.sum()), self.dimension, self.penalty))

    def _energies(self, state: ModCbState, rows: Array, numbers: range) -> Array:
        """The e_i of these classes, (rows, classes), and -inf for the others."""
        every = range(self.dimension)
        covariance = state.covariance.take(rows, axis=0)
        if state.features is None:
            covariance /= state.plays.take(rows)[:, None, None]
        level = covariance[:, every, every].mean(axis=1)
        covariance[:, every, every] += RIDGE * np.where(level > 0, level, 1.0)[:, None]
        response, second = state.explored.response.take(rows, axis=0), state.explored.second.take(rows, axis=0)
        found = np.full((len(rows), len(self.classes)), -np.inf)
        for number in numbers:
            size = self.classes[number]
            inverse, b = np.linalg.inv(covariance[:, :size, :size]), response[:, :size]
            signal = np.einsum("ni,ni->n", np.einsum("nij,nj->ni", inverse, b), b)
            found[:, number] = signal - np.einsum("nij,nij->n", inverse, second[:, :size, :size])
        return found


def _covariance(features: Array, mask: Array | None) -> Array:
    """The mean of phi phi^T over the available arms, (rows, D, D)."""
    if mask is None:
        weighted = features / math.sqrt(features.shape[1])
    else:
        there = np.where(mask[:, :, None], features, 0.0)  # features of other arms may be anything
        weighted = there * (mask / np.sqrt(mask.sum(axis=1, keepdims=True)))[:, :, None]
    found: Array = np.matmul(weighted.transpose(0, 2, 1), weighted)
    return found


def _add(explored: Explored, rows: Array, x: Array, y: Array) -> None:
    """Add one explored play to each of these rows."""
    n = explored.plays.take(rows) + 1
    off = y - explored.mean.take(rows)
    explored.plays[rows] = n
    explored.mean[rows] += off / n
    explored.spread[rows] += off * (y - explored.mean.take(rows))
    weighted = x * y[:, None]
    explored.response[rows] += weighted
    explored.second[rows] += weighted[:, :, None] * weighted[:, None, :]
