"""kNN-UCB: the mean reward of the nearest earlier plays of an arm, plus a bonus that shrinks with its plays.

The index of an arm that was played n times, at context x, is

    mean reward of its k plays nearest to x
    + scale sqrt(ln n ln(n K/delta)) n^(-1/(2+d)),   k = floor(n^(2/(2+d))),

and the arm with the largest index is played (ties: the lowest number), after each arm was played `initial` times. The
bonus is the same at all contexts. Only the first d features count, and their distance is Euclidean. If two plays are at
equal distance, the earlier one is nearer. If arms are masked, available arms with fewer than `initial` plays come
first. If arms have their own features, x is the arm's.

Neighbours are exact (search.py). A policy is the number of plays of each arm, hence a prefix of the history: 4 K + 12
bytes. A play costs 8 (d + 1) bytes, up to twice that while a page fills. If trees are used (from 16,384 plays of an arm
on, 32,768 with 2 or 3 features, none with more than 12), it costs about 4 d + 9 more for each doubling beyond 1,024
plays; 6 if d = 1.

Bound, for a horizon of T plays, with M0 = `initial` and M1 = `scale`:

    K M0 (high - low)
    + 2 (2+d)/(1+d) M1 sqrt(ln T ln(T K/delta)) K^(1/(2+d)) s^((1+d)/(2+d)),

the first plays and twice the sum of the bonuses. (With ln s instead of ln T it would not be concave at first.) In the
source M1 is a large enough constant, and the order is proved for contexts that are drawn independently of what was
played; the contexts of one arm are not. Nothing is proved if arms are masked: then no bound is claimed.

Source: Guan, Jiang, "Nonparametric stochastic contextual bandits", 2018, Algorithm 2. M0 and M1 are its names. Its text
leaves open whether the square root covers both logarithms (here it does), and how large M1 is; 1 explores far too
long, and 0.1 suits rewards in [0, 1] with noise of that size. With such a small bonus, an arm may never be tried again
if all its first plays were at contexts where it is bad. If it is good at half of the contexts, this has probability
2^-M0. So M0 is 5.

>>> from corral_core import try_out
>>> from corral_nonparam import Lipschitz
>>> regret = try_out(Lipschitz(dimension=2, relevant=1), KnnUcb(dimension=1), horizon=400, rows=4).regret
>>> bool((regret[:, -1] < 400 / 3.1416 / 3).all())  # uniform play loses 1/pi per play
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, lt
from corral_kit.linear.arms import played
from corral_kit.linear.featured import MODERATE, needs_all_arms
from numpy.random import Generator

from corral_core import (
    Array,
    Base,
    Bound,
    CorralError,
    Feedback,
    Observation,
    Problem,
    Rows,
    Term,
    fitted,
    knob,
    parameter,
)
from corral_core.protocols.base import refuse
from corral_nonparam.history import History, Plays
from corral_nonparam.search import nearest_means, tree_bytes


class KnnUcbState(Rows):
    scale: Array  # (rows,)
    delta: Array  # (rows,)
    history: History


class Prefix(Rows):
    """The policy: for every arm, the number of its first plays that count."""

    row: Array  # (rows,), in the history
    plays: Array  # (rows, arms)
    scale: Array
    doubt: Array  # ln(1/delta)
    history: History


@attrs.frozen
class KnnUcb(Base):
    """Optimism about the mean reward of the nearest neighbours (kNN-UCB)."""

    name: ClassVar[str] = "knn-ucb"
    formula: ClassVar[str] = (
        "K M0 (high - low) + 2 (2+d)/(1+d) M1 sqrt(ln T ln(T K/delta)) K^(1/(2+d)) s^((1+d)/(2+d)); "
        "none if arms are masked"
    )
    masks: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True
    renews: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True

    scale: float = knob(0.1, help="factor of the bonus (M1)", validator=MODERATE)
    initial: int = parameter(
        5, help="plays of every arm before the index is used (M0)", validator=and_(ge(1), le(10**9))
    )
    dimension: int = fitted(help="d: only the first d features are used", validator=ge(1))
    arms: int = fitted(help="number of arms K", validator=ge(1))
    delta: float = fitted(help="failure probability of the confidence bounds", validator=and_(gt(0), lt(1)), knob=True)
    problem: Problem | None = attrs.field(default=None, kw_only=True, repr=False, metadata={"hidden": True})

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(dimension=1, initial=1, scale=1.0)]

    def resolve(self, problem: Problem) -> Self:
        refuse(self, problem)
        if problem.dimension is None:
            raise CorralError(f"{self.name} needs features; {problem.environment} has none")
        if not problem.changing:
            raise CorralError(
                f"{self.name} needs contexts that change from play to play; in {problem.environment} they are fixed, "
                f"so all earlier plays of an arm are equally near"
            )
        needs_all_arms(self, problem)
        return attrs.evolve(super().resolve(problem), problem=problem)

    def bound(self, delta: float) -> Bound | None:
        problem = self.problem
        if problem is None or problem.low is None or problem.high is None or problem.horizon is None or problem.masked:
            return None
        d, arms, spread, horizon = self.dimension, self.arms, problem.high - problem.low or 1.0, max(problem.horizon, 3)
        alpha, start = (1 + d) / (2 + d), arms * self.initial * spread
        logarithms = math.sqrt(math.log(horizon) * math.log(horizon * arms / delta))
        c = 2 / alpha * self.scale * logarithms * arms ** (1 / (2 + d))

        def literal(s: Array) -> Array:
            found: Array = start + c * s**alpha
            return found

        return Bound(literal, (Term((problem.noise or spread) * arms ** (1 / (2 + d)), alpha),))

    def history_bytes(self, plays: int) -> int:
        return plays * (8 * (self.dimension + 1) + tree_bytes(self.dimension, plays))

    def init(self, given: Any, rng: Generator) -> KnnUcbState:
        scale, delta = (np.array(value, dtype=np.float64) for value in (given.scale, given.delta))
        return KnnUcbState(scale, delta, History(len(given), self.arms))

    def policy(self, state: KnnUcbState, rows: Array) -> Prefix:
        plays = state.history.length.reshape(-1, self.arms).take(rows, axis=0)
        return Prefix(
            rows.astype(np.int32),
            plays.astype(np.int32),
            state.scale.take(rows).astype(np.float32),
            -np.log(state.delta.take(rows)).astype(np.float32),
            state.history,
        )

    def act(self, policy: Prefix, observation: Observation, rng: Generator) -> Array:
        there = observation.mask
        few = policy.plays < self.initial
        if there is not None:
            few &= there
        action: Array = few.argmax(axis=1)
        ready = np.flatnonzero(~few.any(axis=1))
        if len(ready):
            known = np.ones((len(ready), self.arms), dtype=bool) if there is None else there[ready]
            index = self._index(policy.take(ready), self._seen(observation)[ready], known)
            action[ready] = index.argmax(axis=1)
        return action

    def learn(self, state: KnnUcbState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        x = self._seen(feedback.observation)
        if x.ndim == 3:
            x = played(x, feedback.action)
        plays = Plays(np.ascontiguousarray(x, dtype=np.float64), np.asarray(feedback.reward, dtype=np.float64))
        state.history.append(rows * self.arms + feedback.action, plays)

    def renew(self, state: KnnUcbState, rows: Array, arms: Array) -> None:
        row, arm = np.nonzero(arms)
        state.history.forget(rows[row] * self.arms + arm)

    def _seen(self, observation: Observation) -> Array:
        """The first d features of the context, or of every arm."""
        if observation.features is None:
            raise CorralError(f"{self.name} needs features at every play, but this observation has none")
        return observation.features[..., : self.dimension]

    def _index(self, policy: Prefix, x: Array, there: Array) -> Array:
        """The index of every arm, (rows, arms); minus infinity if the arm is unavailable."""
        row, arm = np.nonzero(there)
        count = policy.plays[row, arm].astype(np.int64)
        query = (x[row, arm] if x.ndim == 3 else x[row]).astype(np.float64)
        if not np.isfinite(query).all():
            raise CorralError(f"{self.name} needs features that are finite numbers")
        number = policy.row[row].astype(np.int64) * self.arms + arm
        mean = nearest_means(policy.history, number, count, query, neighbours(count, self.dimension))
        scale, doubt = policy.scale[row].astype(np.float64), policy.doubt[row].astype(np.float64)
        width = np.sqrt(np.log(count) * (np.log(count * self.arms) + doubt)) * count ** (-1 / (2 + self.dimension))
        index = np.full(there.shape, -np.inf)
        index[row, arm] = mean + scale * width
        return index


@np.errstate(over="ignore")
def neighbours(count: Array, dimension: int) -> Array:
    """k = floor(n^(2/(2+d))), computed exactly: rounding of the power never loses a neighbour.

    >>> neighbours(np.array([1, 7, 8, 999, 1000]), 1).tolist()
    [1, 3, 4, 99, 100]
    """
    k, power, square = np.floor(count ** (2 / (2 + dimension))), 2 + dimension, count.astype(np.float64) ** 2
    k += (k + 1) ** power < square + 0.5  # both sides are integers: one half exceeds any rounding
    k -= k**power > square + 0.5
    return np.maximum(k, 1).astype(np.int64)
