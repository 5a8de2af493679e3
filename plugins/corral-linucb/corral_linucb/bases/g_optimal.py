"""Phased elimination by G-optimal designs, for fixed arms. It need not know how far from linear the rewards are.

In a phase of length m, pi is a design of the active arms with max_a ||a||^2_{V(pi)^-1} <= 2 rank. Every active arm is
played u(a) = ceil(m pi(a)) times (first the arm with the most plays left, ties: the lowest index), theta is the
least-squares estimate from the plays of this phase, and the arms that stay are

    {a: max_b <theta, b - a> <= 2 sigma sqrt((4 d/m) ln(1/alpha))},  alpha = delta/k.

Then m doubles; it starts at ceil(4 d ln ln max(d, 3)) + 16. A late reward counts in the phase in which it arrives, if
its arm is still active.

Bound: U(s, delta) = 32 sigma sqrt(d s ln(k s/delta)) + 2 m_1 (high - low), m_1 the first length, for linear rewards and
a base that runs with this delta. It holds until play s except with probability 2 delta log2(1 + s). The estimate of an
active arm is off by more than w_i = sigma sqrt((4 d/m_i) ln(k/delta)) in phase i with probability at most 2 delta/k. If
no estimate is, the best arm stays, every arm that stays is at most 4 w_i below it, and n plays of the next phase cost
at most 4 w_i n. If no design has more than m_1 arms (true for the source's designs and in our tests), these costs sum
to at most 4 sqrt(8) 2.78 sigma sqrt(d s ln(k/delta)). A `scale` above 1 multiplies the first term; below 1 nothing is
proved, so there is no bound. If rewards are linear up to epsilon, the source adds a term of the order
epsilon s sqrt(d) ln s; U omits it.

It cannot respect masks: a phase plays given arms a given number of times and would wait for an arm that is rarely
available, and nothing is known about the order of eliminated arms if only these are available. It does not learn from
others: eliminated arms never return, and the widths hold only for plays that were planned before the phase.

Source: Lattimore, Szepesvari, Weisz, "Learning with good feature representations in bandits and in RL with a generative
model", 2020.

>>> from corral_core import Problem
>>> GOptimal().resolve(Problem(arms=9, dimension=3, noise=0.5, low=-1, high=1, delta=0.01)).first_phase
18
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import ge
from corral_kit.linear.featured import Featured
from numpy.random import Generator

from corral_core import Array, Bound, CorralError, Feedback, Observation, Pick, Problem, Rows, Term, fitted
from corral_core.bases.policies import arm_type
from corral_linucb.design import coordinates, design, gram

TOLERANCE = 1.0  # designs are within twice the optimum, as the width of the elimination assumes


class GOptimalState(Rows):
    features: Array  # (rows, arms, d)
    width: Array  # (rows,), 2 sigma sqrt(4 d ln(1/alpha)), times the scale
    length: Array  # (rows,), m
    active: Array  # (rows, arms)
    left: Array  # (rows, arms), plays left in this phase
    unfinished: Array  # (rows,), the sum of `left`
    plays: Array  # (rows, arms), in this phase
    total: Array  # (rows, arms), sum of their rewards


@attrs.frozen
class GOptimal(Featured):
    """Phased elimination by G-optimal designs."""

    name: ClassVar[str] = "g-optimal"
    formula: ClassVar[str] = "32 sigma sqrt(d s ln(Ks/delta)) + 2 (4 d ln ln max(d, 3) + 17) (high - low)"

    deterministic: ClassVar[bool] = True

    arms: int = fitted(help="number of arms k", validator=ge(1))
    low: float = fitted(help="lowest mean reward")
    high: float = fitted(help="highest mean reward")

    @property
    def first_phase(self) -> int:
        """The length of the first phase."""
        return math.ceil(4 * self.dimension * math.log(math.log(max(self.dimension, 3)))) + 16

    def resolve(self, problem: Problem) -> Self:
        found = super().resolve(problem)
        if problem.changing:
            raise CorralError(f"{self.name} needs fixed arms; {problem.environment} changes them from play to play")
        return found

    def init(self, given: Any, rng: Generator) -> GOptimalState:
        features, rows = self.shown(given), len(given)
        assert features is not None
        log = np.log(self.arms / np.asarray(given.delta, dtype=np.float64))
        state = GOptimalState(
            features=features,
            width=2 * given.scale * self.noise * np.sqrt(4 * self.dimension * log),
            length=np.full(rows, self.first_phase),
            active=np.ones((rows, self.arms), dtype=bool),
            left=np.zeros((rows, self.arms), dtype=np.int64),
            unfinished=np.zeros(rows, dtype=np.int64),
            plays=np.zeros((rows, self.arms), dtype=np.int64),
            total=np.zeros((rows, self.arms)),
        )
        _start_phase(state, np.arange(rows))
        return state

    def policy(self, state: GOptimalState, rows: Array) -> Pick:
        return Pick(state.left.take(rows, axis=0).argmax(axis=1).astype(arm_type(self.arms)))

    def act(self, policy: Pick, observation: Observation, rng: Generator) -> Array:
        return policy.arm.astype(np.intp)

    def learn(self, state: GOptimalState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        arm = feedback.action
        state.plays[rows, arm] += 1
        state.total[rows, arm] += feedback.reward
        planned = state.left[rows, arm] > 0
        state.left[rows, arm] -= planned
        unfinished = state.unfinished.take(rows) - planned
        state.unfinished[rows] = unfinished
        ended = unfinished == 0
        if ended.any():
            over = rows[ended]
            _eliminate(state, over)
            state.length[over] *= 2
            _start_phase(state, over)

    def bound(self, delta: float) -> Bound | None:
        if self.scale < 1:
            return None
        first = 2 * self.first_phase * (self.high - self.low)
        factor = 32 * self.scale * self.noise * math.sqrt(self.dimension)
        return Bound(
            lambda s: factor * np.sqrt(s * np.log(self.arms * s / delta)) + first,
            (Term(self.noise * math.sqrt(self.dimension), 0.5),),
        )


def _eliminate(state: GOptimalState, rows: Array) -> None:
    """Keep the arms that the estimate of this phase cannot distinguish from the best."""
    active = state.active.take(rows, axis=0)
    arms, rank, _ = coordinates(state.features.take(rows, axis=0), active)
    plays, total = state.plays.take(rows, axis=0), state.total.take(rows, axis=0)
    response = np.einsum("nai,na->ni", arms, total)
    theta = np.linalg.solve(gram(arms, plays, rank), response[:, :, None])
    value = np.where(active, (arms @ theta)[:, :, 0], -np.inf)
    widest = state.width.take(rows) / np.sqrt(state.length.take(rows))
    state.active[rows] = active & (value.max(axis=1)[:, None] - value <= widest[:, None])


def _start_phase(state: GOptimalState, rows: Array) -> None:
    """Set how often each active arm is played in the next phase."""
    weights = design(state.features.take(rows, axis=0), state.active.take(rows, axis=0), TOLERANCE)
    # Weights are sums with rounding errors: these must not turn a whole number of plays into one more.
    left = np.ceil(state.length.take(rows)[:, None] * weights - 1e-9).astype(np.int64)
    state.left[rows] = left
    state.unfinished[rows] = left.sum(axis=1)
    state.plays[rows] = 0
    state.total[rows] = 0.0
