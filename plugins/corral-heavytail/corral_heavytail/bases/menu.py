"""MENU: median of means under optimism, for linear rewards with heavy tails and fixed arms.

It plays in epochs. In epoch n the arm with the largest <x, theta> + beta_{n-1} ||x||_{V^-1} (ties: the lowest index) is
played k times. With V = lambda I + sum x x^T over epochs, and B_j the sum over epochs of x times the j-th reward of the
epoch, there are k estimates theta_j = V^-1 B_j. The base uses the most central one: let m_j be the smallest distance in
the norm of V within which at least half of the others lie; theta is the estimate with the smallest m_j (ties: the
lowest index). The parameters are

    k      = ceil(24 ln(e N/delta))  (`repeats`)
    beta_n = 3 scale ((9 d c)^(1/(1+eps)) n^((1-eps)/(2(1+eps))) + sqrt(lambda) S)

where E|noise|^(1+eps) <= c (`moment`). A reward that arrives after its epoch has ended is ignored unless the arm is
still the same. If the horizon is at most k, the base only plays the arm of the first epoch.

The source's constants are made for proofs. At N = 20,000 and delta = 1/N they give k = 500, so there are only forty
epochs, and a width at which the base explores ten dimensions all the time. Public re-implementations use
`repeats = 51, scale = 0.02`. The experiments here use 51 and a scale that was calibrated on problems other than theirs:
0.01 with Student-t noise (at eps = 1) and 0.002 with Pareto payoffs (at eps = 1/2). Nothing is proved for any of these.

Bound, if no two means differ by more than 2 or lambda >= L^2, with the logarithm at s = N, which makes it concave:

    U(s) = 6 ((9 d c)^(1/(1+eps)) + sqrt(lambda) S + 1)
           s^(1/(1+eps)) k^(eps/(1+eps)) sqrt(2 d ln(1 + N L^2/(lambda d)))

A `scale` above 1 multiplies it. With a scale below 1, or fewer repeats than the source's k, nothing is proved, so there
is no bound.

It cannot respect masks: an epoch plays one arm k times, whatever else is available. It does not learn from others: an
epoch's rewards are those of its own arm, and the plays of other arms belong to no epoch.

Source: Shao, Yu, King, Lyu, "Almost optimal algorithms for linear stochastic bandits with heavy-tailed payoffs", 2018.

>>> from corral_core import try_out
>>> from corral_heavytail import StudentTArms
>>> base = Menu(moment=3.0, norm=2.0, repeats=11, scale=0.02)
>>> regret = try_out(StudentTArms(arms=5, dimension=2), [base], horizon=400, rows=4).regret
>>> bool((regret[:, -1] < 400).all())
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, lt, optional
from corral_kit.linear.arms import best_arm, played, upper_bounds
from corral_kit.linear.featured import Linear
from corral_kit.linear.ridge import Ridge, learn
from numpy.random import Generator

from corral_core import Array, Bound, CorralError, Feedback, Observation, Pick, Problem, Rows, Term, fitted, parameter
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

AT_ONCE = 2**21  # maximum number of pairwise distances in memory


class MenuState(Rows):
    features: Array  # (rows, arms, d)
    ridge: Ridge  # over epochs; only its V^-1 is used
    response: Array  # (rows, k, d), B
    arm: Array  # (rows,), the arm of this epoch
    repeat: Array  # (rows,), how many rewards of this epoch have arrived
    unasked: Array  # (rows,), whether the policy has not been requested since it changed
    epsilon: Array  # (rows,)
    width: Array  # (rows,), 3 scale (9 d c)^(1/(1+eps))
    least: Array  # (rows,), 3 scale sqrt(lambda) S


@attrs.frozen
class Menu(Linear):
    """Median of means under optimism (MENU), for fixed arms with heavy tails."""

    name: ClassVar[str] = "menu"
    masks: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True
    formula: ClassVar[str] = (
        "6 ((9dc)^(1/(1+eps)) + sqrt(lambda) S + 1) s^(1/(1+eps)) k^(eps/(1+eps)) sqrt(2d ln(1 + N L^2/(lambda d)))"
    )

    epsilon: float = epsilon_field()
    moment: float | None = moment_field("c, the moment E|noise|^(1 + epsilon)", ge(0))
    magnitude: float | None = magnitude_field()
    repeats: int | None = parameter(
        None,
        help="k: how often the arm of an epoch is played (default: ceil(24 ln(e N/delta)))",
        validator=optional(and_(ge(1), le(10_000))),
    )
    length: float = parameter(
        1.0, help="bound L on the norm of an arm's features; used only in U", validator=and_(gt(0), le(1e9))
    )
    arms: int = fitted(help="number of arms", validator=ge(1))
    horizon: int = horizon_field()
    delta: float = fitted(help="failure probability of the confidence bounds", validator=and_(gt(0), lt(1)))
    noise: float = attrs.field(default=0.0, init=False, repr=False, metadata={"hidden": True})  # uses a moment instead

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(moment=1.0), cls(epsilon=0.5, magnitude=2.0, repeats=3, scale=0.1)]

    def resolve(self, problem: Problem) -> Self:
        found = super().resolve(problem)
        if problem.changing:
            raise CorralError(
                f"{self.name} needs fixed arms, because it plays one arm many times; {problem.environment} changes "
                f"them from play to play (use tofu instead)"
            )
        repeats = source_repeats(found.horizon, found.delta) if found.repeats is None else found.repeats
        return filled(found, problem, repeats=repeats, moment=settled(found, problem, raw=False))

    @property
    def epoch(self) -> int:
        """The number of plays in an epoch."""
        assert self.repeats is not None
        return self.repeats

    # --- Base ---

    def init(self, given: Any, rng: Generator) -> MenuState:
        features, rows = self.shown(given), len(given)
        assert features is not None
        epsilon = np.asarray(given.epsilon, dtype=np.float64)
        scale, moment = np.asarray(given.scale, dtype=np.float64), np.asarray(given.moment, dtype=np.float64)
        state = MenuState(
            features=features,
            ridge=Ridge.fresh(rows, self.dimension, self.penalty),
            response=np.zeros((rows, self.epoch, self.dimension)),
            arm=np.zeros(rows, dtype=np.intp),
            repeat=np.zeros(rows, dtype=np.int64),
            unasked=np.ones(rows, dtype=bool),
            epsilon=epsilon,
            width=3 * scale * root(9 * self.dimension * moment, epsilon),
            least=3 * scale * math.sqrt(self.penalty) * self.norm,
        )
        everyone = np.arange(rows)
        state.arm[:] = self._optimistic(state, everyone, np.zeros((rows, self.dimension)))
        return state

    def policy(self, state: MenuState, rows: Array) -> Pick:
        state.unasked[rows] = False
        return Pick(state.arm.take(rows).astype(arm_type(self.arms)))

    def act(self, policy: Pick, observation: Observation, rng: Generator) -> Array:
        return policy.arm.astype(np.intp)

    def learn(self, state: MenuState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        arm, reward = feedback.action, feedback.reward
        own = arm == state.arm.take(rows)
        if not own.all():  # late rewards, from an epoch that has ended
            rows, arm, reward = rows[own], arm[own], reward[own]
        x = state.features[rows, arm]
        repeat = state.repeat.take(rows)
        with np.errstate(over="ignore", invalid="ignore"):  # an estimate that overflows is never chosen
            state.response[rows, repeat] += x * reward[:, None]
        state.repeat[rows] = repeat + 1
        ended = repeat + 1 == self.epoch
        if ended.any():
            self._end_epoch(state, rows[ended], x[ended])

    @property
    def rarely_changes(self) -> bool:
        return True

    def changed(self, state: MenuState, rows: Array) -> Array:
        unasked: Array = state.unasked.take(rows)
        return unasked

    def max_policies(self, plays: int) -> int:
        return 1 + plays // self.epoch

    def bound(self, delta: float) -> Bound | None:
        assert self.moment is not None
        if self.scale < 1 or self.epoch < source_repeats(self.horizon, self.delta):
            return None
        d, power = self.dimension, 1 / (1 + self.epsilon)
        width = (9 * d * self.moment) ** power + math.sqrt(self.penalty) * self.norm + 1
        grown = math.sqrt(2 * d * math.log1p(self.horizon * self.length**2 / (self.penalty * d)))
        factor = 6 * self.scale * width * self.epoch ** (self.epsilon * power) * grown
        return Bound(lambda s: factor * s**power, (Term(self.moment**power * math.sqrt(d), power),))

    # --- The end of an epoch ---

    def _end_epoch(self, state: MenuState, rows: Array, x: Array) -> None:
        learn(state.ridge, rows, x, np.zeros(len(rows)))
        arm = self._optimistic(state, rows, central(state.response, state.ridge.inverse, rows))
        state.unasked[rows] |= arm != state.arm.take(rows)
        state.arm[rows] = arm
        state.repeat[rows] = 0

    def _optimistic(self, state: MenuState, rows: Array, theta: Array) -> Array:
        """The arm of the next epoch."""
        epochs = state.ridge.plays.take(rows).astype(np.float64)
        beta = state.width.take(rows) * growth(epochs, state.epsilon.take(rows)) + state.least.take(rows)
        index = upper_bounds(state.features.take(rows, axis=0), theta, state.ridge.inverse.take(rows, axis=0), beta)
        return best_arm(index, None)


def source_repeats(horizon: int, delta: float) -> int:
    """The source's k = ceil(24 ln(e N/delta))."""
    return math.ceil(24 * (1 + math.log(horizon) - math.log(delta)))


def central(response: Array, inverse: Array, rows: Array) -> Array:
    """The estimate among each row's k estimates V^-1 B_j that is nearest to half of the others, in the norm of V.

    The squared distances are G_jj + G_ll - 2 G_jl with G = B^T V^-1 B: one product gives all pairs. There are k^2 of
    them per row, so only some rows are in memory at a time.
    """
    k, d = response.shape[1:]
    theta = np.empty((len(rows), d))
    some = max(1, AT_ONCE // k**2)
    for first in range(0, len(rows), some):
        these = rows[first : first + some]
        b, v_inverse = response.take(these, axis=0), inverse.take(these, axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            estimates = b @ v_inverse
            distance = _distances(b, v_inverse)
        half = np.partition(distance, k // 2, axis=2)[:, :, k // 2]  # the nearest estimate is the estimate itself
        theta[first : first + some] = played(estimates, half.argmin(axis=1))
    theta[~np.isfinite(theta).all(axis=1)] = 0.0  # most estimates overflowed: nothing is known
    return theta


def _distances(b: Array, inverse: Array) -> Array:
    """The squared distances, (rows, k, k); infinite if an estimate overflowed.

    The median of each coordinate is subtracted first: if the mean is millions of times the noise, its squares would
    swallow the noise. The result is exactly symmetric, because nearest neighbours tie with each other, and ties go to
    the lowest index.
    """
    middle = b.shape[1] // 2
    b = b - np.partition(b, middle, axis=1)[:, middle, None]
    gram = b @ inverse @ np.ascontiguousarray(b.transpose(0, 2, 1))
    gram = (gram + gram.transpose(0, 2, 1)) / 2
    square = np.einsum("nkk->nk", gram)
    distance: Array = square[:, :, None] + square[:, None, :] - 2 * gram
    distance[~np.isfinite(distance)] = np.inf
    return np.maximum(distance, 0.0, out=distance)
