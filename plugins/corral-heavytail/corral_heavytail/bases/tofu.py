"""TOFU: truncation under optimism, for linear rewards with heavy tails.

Like LinUCB it plays argmax_a <a, theta> + beta ||a||_{V^-1} (ties: the lowest index), with V = lambda I + sum x x^T.
Its estimate leaves out implausibly large payoffs, separately in each direction: with W = V^(-1/2) X^T, d x s,

    g_i   = sum_l W_il y_l [|W_il y_l| <= b_s],   theta = V^(-1/2) g
    b_s   = (b/ln(2N/delta))^(1/(1+eps)) s^((1-eps)/(2(1+eps)))
    beta  = scale (4 sqrt(d) b^(1/(1+eps)) ln(2dN/delta)^(eps/(1+eps))
                   s^((1-eps)/(2(1+eps))) + sqrt(lambda) S)

where E|y|^(1+eps) <= b (`moment`, of the payoff itself and not of its noise) and s counts plays. An estimate reads all
past payoffs, which takes s d steps, so a new one is made only when det V has grown by a factor 1 + C (`switching`)
since the last (the source makes one at every play: `switching = 0`). That costs a factor sqrt(1 + C) of regret.

The source's width is made for proofs: at N = 20,000 in ten dimensions the base explores all the time. Public
re-implementations use `scale = 0.2`. The experiments here use a scale that was calibrated on problems other than
theirs: 0.05 with Student-t noise (at eps = 1) and 0.01 with Pareto payoffs (at eps = 1/2). Nothing is proved for any of
these. No scale fits all dimensions: if means grow with d, so does b^(1/(1+eps)), and the width grows like d^(3/2).

Bound, if no two means differ by more than 2 or lambda >= L^2, with logarithms at s = N, which makes it concave:

    U(s) = 2 sqrt(1 + C) s^(1/(1+eps)) sqrt(2 d ln(1 + N L^2/(lambda d)))
           (4 sqrt(d) b^(1/(1+eps)) ln(2dN/delta)^(eps/(1+eps)) + sqrt(lambda) S + 1)

A `scale` above 1 multiplies it; below 1 nothing is proved, so there is no bound. As for LinUCB, sets of actions may
change, so masks leave it as it is.

An estimate is computed from all past plays, and the level of truncation from their number, so it learns from the plays
of others as from its own.

Source: Shao, Yu, King, Lyu, "Almost optimal algorithms for linear stochastic bandits with heavy-tailed payoffs", 2018.

>>> from corral_core import try_out
>>> from corral_heavytail import ParetoArms
>>> base = Tofu(epsilon=0.5, moment=2.0, norm=1.5, scale=0.2)
>>> regret = try_out(ParetoArms(arms=5, dimension=2), [base], horizon=200, rows=4).regret
>>> bool((regret[:, -1] < 200).all())
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import ge, gt
from corral_kit.linear import optimism
from corral_kit.linear.arms import best_arm, played, upper_bounds
from corral_kit.linear.featured import MODERATE
from corral_kit.linear.optimism import Optimistic, beliefs
from corral_kit.linear.ridge import Ridge, learn

from corral_core import Array, Bound, Feedback, Log, Pick, Problem, Rows, Term, fitted, parameter
from corral_core.bases.policies import arm_type
from corral_core.protocols.base import filled
from corral_heavytail.tails import (
    epsilon_field,
    growth,
    horizon_field,
    magnitude_field,
    moment_field,
    root,
    settled,
)


class Payoff(Rows):
    """A past play."""

    reward: Array
    arm: Array | None = None  # if arms are fixed
    features: Array | None = None  # if they change, (rows, d)


class TofuState(optimism.OptimisticState):
    tail: Any = None  # (rows,), eps
    moment: Any = None  # (rows,)
    past: Any = None  # a Log of `Payoff`


@attrs.frozen
class Tofu(Optimistic):
    """Truncation under optimism (TOFU), for arms with heavy tails."""

    name: ClassVar[str] = "tofu"
    more_knobs: ClassVar[tuple[str, ...]] = ("penalty", "norm")
    formula: ClassVar[str] = (
        "2 sqrt(1 + C) s^(1/(1+eps)) (4 sqrt(d) b^(1/(1+eps)) ln(2dN/delta)^(eps/(1+eps)) + sqrt(lambda) S + 1) "
        "sqrt(2d ln(1 + N L^2/(lambda d)))"
    )

    epsilon: float = epsilon_field()
    moment: float | None = moment_field("b, the moment E|y|^(1 + epsilon) of a payoff", gt(0))
    magnitude: float | None = magnitude_field()
    switching: float = parameter(
        0.05,
        help="C: the policy changes only when det V has grown by a factor 1 + C (0: at every play)",
        validator=MODERATE,
    )
    arms: int = fitted(help="number of arms", validator=ge(1))
    horizon: int = horizon_field()
    noise: float = attrs.field(default=0.0, init=False, repr=False, metadata={"hidden": True})  # uses a moment instead

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(moment=1.0), cls(epsilon=0.5, magnitude=2.0, scale=0.2, switching=0.0)]

    def resolve(self, problem: Problem) -> Self:
        found = super().resolve(problem)
        return filled(found, problem, moment=settled(found, problem, raw=True))

    def history_bytes(self, plays: int) -> int:
        return plays * (8 + (arm_type(self.arms)(0).nbytes if self.fixed else 8 * self.dimension))

    def bound(self, delta: float) -> Bound | None:
        assert self.moment is not None
        if self.scale < 1:
            return None
        d, power = self.dimension, 1 / (1 + self.epsilon)
        log = (math.log(2 * d * self.horizon) - math.log(delta)) ** (self.epsilon * power)
        width = 4 * math.sqrt(d) * self.moment**power * log + math.sqrt(self.penalty) * self.norm + 1
        grown = math.sqrt(2 * d * math.log1p(self.horizon * self.squared_length / (self.penalty * d)))
        factor = 2 * math.sqrt(1 + self.switching) * self.scale * width * grown
        return Bound(lambda s: factor * s**power, (Term(self.moment**power * math.sqrt(d), power),))

    # --- Differences from LinUCB ---

    def _fresh(self, given: Any) -> TofuState:
        return TofuState(
            ridge=Ridge.fresh(len(given), self.dimension, given.penalty),
            scale=np.asarray(given.scale, dtype=np.float64),
            delta=np.asarray(given.delta, dtype=np.float64),
            arms=self.shown(given),
            tail=np.asarray(given.epsilon, dtype=np.float64),
            moment=np.asarray(given.moment, dtype=np.float64),
            past=Log(len(given), Payoff),
        )

    def _fit(self, state: optimism.OptimisticState, rows: Array, feedback: Feedback) -> None:
        assert isinstance(state, TofuState)
        action, reward = feedback.action, np.asarray(feedback.reward, dtype=np.float64)
        if state.arms is not None:
            x, arm = state.arms[rows, action], action.astype(arm_type(self.arms))
            entry = Payoff(reward, arm=arm)
        else:
            x = np.array(played(self.observed(feedback.observation), action), dtype=np.float64)
            entry = Payoff(reward, features=x)
        learn(state.ridge, rows, x, np.zeros(len(rows)))  # only its V^-1 and ln det V are used
        state.past.append(rows, entry)

    def _radius(self, state: optimism.OptimisticState, rows: Array) -> Array:
        assert isinstance(state, TofuState) and state.offset is not None
        epsilon, delta, d = state.tail.take(rows), state.delta.take(rows), self.dimension
        log = (math.log(2 * d * self.horizon) - np.log(delta)) ** (epsilon / (1 + epsilon))
        grown = growth(state.ridge.plays.take(rows).astype(np.float64), epsilon)
        width = 4 * math.sqrt(d) * root(state.moment.take(rows), epsilon) * log * grown
        return np.asarray(state.scale.take(rows) * (width + state.offset.take(rows)))

    def _current(self, state: optimism.OptimisticState, rows: Array) -> Any:
        assert isinstance(state, TofuState)
        beta, theta = self._radius(state, rows), self.estimate(state, rows)
        inverse = state.ridge.inverse.take(rows, axis=0)
        if state.arms is not None:
            index = upper_bounds(state.arms.take(rows, axis=0), theta, inverse, beta)
            return Pick(best_arm(index, None).astype(arm_type(self.arms)))
        return beliefs(theta, inverse, beta)

    def estimate(self, state: TofuState, rows: Array) -> Array:
        """The estimate theta of these rows, (rows, d).

        This loops over rows: their pasts differ in length, and a row's sum must not depend on padding to the length of
        another row. It happens rarely, and the work within a row outweighs the loop.
        """
        epsilon, plays = state.tail.take(rows), state.ridge.plays.take(rows).astype(np.float64)
        log = math.log(2 * self.horizon) - np.log(state.delta.take(rows))
        level = root(state.moment.take(rows) / log, epsilon)
        level *= growth(plays, epsilon)
        eigenvalues, basis = np.linalg.eigh(state.ridge.inverse.take(rows, axis=0))
        halves = (basis * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :]) @ basis.transpose(0, 2, 1)
        theta = np.zeros((len(rows), self.dimension))
        for at, row in enumerate(rows):
            count = int(state.ridge.plays[row])
            if count:
                past: Payoff = state.past.get(np.full(count, row), np.arange(count))
                x = state.arms[row].take(past.arm, axis=0) if past.features is None else past.features
                theta[at] = halves[at] @ truncated(halves[at] @ x.T, past.reward, level[at])
        return theta


def truncated(w: Array, reward: Array, level: float) -> Array:
    """The truncated sums g_i = sum_l W_il y_l [|W_il y_l| <= level], (d,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        terms = w * reward
    terms[~(np.abs(terms) <= level)] = 0.0  # also NaN, from an infinite payoff where w is 0
    total: Array = terms.sum(axis=1)
    return total
