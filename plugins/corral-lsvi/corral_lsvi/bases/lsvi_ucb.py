"""LSVI-UCB: least-squares value iteration with optimism, on the first d of D features of actions in states.

Before each episode, for h = H..1 and with V_{H+1} = 0, with sums over all past steps at stage h,

    Lambda_h  = lambda I + sum phi phi^T,
    w_h       = Lambda_h^-1 sum phi (r + V_{h+1}(s')),
    Q_h(s, a) = min(<phi(s, a), w_h> + beta ||phi(s, a)||_{Lambda_h^-1}, H R),   V_h(s) = max_a Q_h(s, a),

where R is the maximum reward of a step (1 in the source). It plays the action of the largest Q; ties go to the lowest
index. Every stage has its own Lambda_h and w_h.

There are finitely many states, so past steps enter the regression only through counts N_h of how often (s, a) led to s'
at stage h. With the sums G_h of rewards and the table of features Phi, the right-hand side is Phi^T (G_h + N_h
V_{h+1}). This is the same number, and an episode costs O(H (S^2 A + S A d^2)), independent of the number of past ones.

    beta = scale d H R sqrt(iota),   iota = ln(2 d N H/delta)

for N episodes, unless `radius` sets beta. With scale 1 it still explores after thousands of episodes. Much smaller
values can be far better, but a beta below H R sqrt(lambda)/||phi|| makes a pair that was never tried look worse than
H R, and the first action that pays may be kept forever.

With `switching = C` the policy changes only when det Lambda_h has grown by the factor 1 + C at some stage since the
last change. This happens at most d H ln(1 + N L^2/(lambda d))/ln(1 + C) times, with L the largest norm of features
(C = 1: determinant doubling, Gao et al. 2021, Wang et al. 2021).

Bound, for a scale of at least 1, lambda = 1 and L <= 1, if the MDP is linear in the first d features and rewards have
no noise (as in the proof of the source's Theorem 3.1; that a scale of 1 is enough is our claim, the source requires a
large enough one): with probability 1 - delta, for s up to N,

    U(s) = 2 H R sqrt(H s iota) + 2 sqrt(1 + C) beta H sqrt(2 d s ln(1 + N/(lambda d)))

which is of the order sqrt(d^3 H^4 s) iota, where s counts episodes.

It cannot renew actions: what it knows about them is in the weights w_h, which all actions share.

Source: Jin, Yang, Wang, Jordan, "Provably efficient reinforcement learning with linear function approximation", 2020,
Algorithm 1 and Theorem 3.1.

>>> from corral_core import try_out
>>> from corral_lsvi import NestedLinearMdp
>>> enough, too_few = (LsviUcb(dimension=d, penalty=0.01, radius=1.0, switching=1.0) for d in (4, 2))
>>> regret = [try_out(NestedLinearMdp(), base, horizon=400, rows=4).regret[:, -1].mean() for base in (enough, too_few)]
>>> bool(regret[0] < regret[1] / 4)
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, lt, optional
from corral_kit.linear.featured import MODERATE
from corral_kit.linear.ridge import Ridge, learn
from corral_kit.tabular.tables import TabularPolicy, look_up, table
from corral_kit.tabular.tabular import Tabular
from numpy.random import Generator

from corral_core import Array, Bound, CorralError, Feedback, Observation, Problem, Rows, Term, fitted, knob, parameter
from corral_core.bases.policies import InForce
from corral_core.environments.planning import backward
from corral_core.protocols.base import refuse
from corral_core.selection.received import features_in


class LsviUcbState(Rows):
    features: Array  # (rows, pairs, d), of every pair of a state and an action
    ridge: Ridge  # (rows, stages) regressions, of which V^-1 and its determinant are read
    reward: Array  # (rows, stages, pairs), sums of rewards
    led: Array  # (rows, stages, pairs, states), number of times a pair led to a state
    beta: Array  # (rows,)
    in_force: InForce | None = None  # if the policy rarely changes; since: (rows, stages), ln det Lambda - d ln lambda


@attrs.frozen
class LsviUcb(Tabular):
    """Least-squares value iteration with optimism (LSVI-UCB)."""

    name: ClassVar[str] = "lsvi-ucb"
    deterministic: ClassVar[bool] = True
    formula: ClassVar[str] = (
        "2 H R sqrt(H s iota) + 2 sqrt(1 + C) beta H sqrt(2 d s ln(1 + N/(lambda d))), iota = ln(2 d N H/delta)"
    )

    scale: float = knob(1.0, help="c, factor of the confidence width; large enough in the source", validator=MODERATE)
    radius: float | None = parameter(
        None, help="beta (default: scale d H sqrt(ln(2 d N H/delta)))", validator=optional(MODERATE)
    )
    penalty: float = parameter(1.0, help="lambda of the ridge regressions", validator=and_(ge(1e-9), le(1e9)))
    switching: float = parameter(
        0.0,
        help="C: the policy changes only when a determinant has grown by the factor 1 + C; 0: after every episode",
        validator=MODERATE,
    )
    dimension: int = fitted(help="d: only the first d features are used", validator=ge(1))
    length: float = parameter(
        1.0, help="upper bound L on the norm of features; used for U and memory only", validator=and_(gt(0), le(1e9))
    )
    step_high: float = fitted(help="R, the maximum reward of a step", validator=gt(0))
    horizon: int = fitted(help="number N of episodes", validator=ge(1))
    delta: float = fitted(help="failure probability of the confidence bounds", validator=and_(gt(0), lt(1)))

    def __attrs_post_init__(self) -> None:
        if self.radius is not None and self.scale != 1:
            raise CorralError(f"{self.name}: radius sets all of beta, so scale would have no effect; leave one out")

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(penalty=0.01, radius=1.0, switching=1.0), cls(dimension=1, scale=0.1)]

    def resolve(self, problem: Problem) -> Self:
        refuse(self, problem)
        if problem.dimension is None:
            raise CorralError(f"{self.name} needs features of actions in states; {problem.environment} has none")
        if problem.step_low is not None and problem.step_low < 0:
            raise CorralError(f"{self.name} needs rewards of at least 0; in {problem.environment} a step may pay less")
        return super().resolve(problem)

    # --- Base ---

    def init(self, given: Any, rng: Generator) -> LsviUcbState:
        rows, pairs = len(given), self.states * self.arms
        if not hasattr(given, "features"):
            raise CorralError(f"{self.name} needs features of actions in states; the environment shows none")
        shown = Problem(arms=self.arms, states=self.states, dimension=np.shape(given.features)[-1], episodic=True)
        features_in(given.features, shown, rows)
        features = np.array(given.features[..., : self.dimension], dtype=np.float64)
        state = LsviUcbState(
            features=features.reshape(rows, pairs, self.dimension),
            ridge=Ridge.fresh((rows, self.stages), self.dimension, self.penalty),
            reward=np.zeros((rows, self.stages, pairs)),
            led=np.zeros((rows, self.stages, pairs, self.states)),
            beta=self._beta(np.array(given.scale, dtype=np.float64)),
        )
        if self.switching:
            state.in_force = InForce.begin(self._planned(state, np.arange(rows)), state.ridge.log_determinant.copy())
        return state

    @property
    def rarely_changes(self) -> bool:
        return self.switching > 0

    def changed(self, state: LsviUcbState, rows: Array) -> Array:
        return super().changed(state, rows) if state.in_force is None else state.in_force.unasked.take(rows)

    def max_policies(self, plays: int) -> int:
        if not self.switching:
            return plays
        growth = self.stages * self.dimension * math.log1p(plays * self.length**2 / (self.penalty * self.dimension))
        return min(plays, 1 + math.ceil(growth / math.log1p(self.switching)))

    @property
    def scratch_bytes(self) -> int:
        return self.counted + 8 * 3 * self.stages * self.states * self.arms * self.dimension

    def policy(self, state: LsviUcbState, rows: Array) -> TabularPolicy:
        return self._planned(state, rows) if state.in_force is None else state.in_force.ask(rows)

    def act(self, policy: TabularPolicy, observation: Observation, rng: Generator) -> Array:
        return look_up(policy, observation)

    def learn(self, state: LsviUcbState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        steps = self.steps(rows, feedback.observation)
        pair = steps.state * self.arms + steps.action
        state.reward[steps.learner, steps.stage, pair] += steps.reward
        on = steps.outcome < self.states  # after an early end nothing more is earned
        state.led[steps.learner[on], steps.stage[on], pair[on], steps.outcome[on]] += 1
        seen = state.features[steps.learner, pair]
        learn(state.ridge.flat(), steps.learner * self.stages + steps.stage, seen, np.zeros(len(seen)))
        if state.in_force is not None:
            reached = state.ridge.log_determinant.take(rows, axis=0)
            grown = (reached > state.in_force.since.take(rows, axis=0) + math.log1p(self.switching)).any(axis=1)
            if grown.any():
                those = rows[grown]
                state.in_force.change(those, self._planned(state, those), reached[grown])

    def bound(self, delta: float) -> Bound | None:
        if self.radius is not None or self.scale < 1 or self.penalty != 1 or self.length > 1:
            return None
        d, H, N = self.dimension, self.stages, self.horizon
        iota = math.log(2 * d * N * H / delta)
        beta = self.scale * d * H * self.step_high * math.sqrt(iota)
        chance = 2 * H * self.step_high * math.sqrt(H * iota)
        optimism = 2 * math.sqrt(1 + self.switching) * beta * H * math.sqrt(2 * d * math.log1p(N / d))
        shape = Term(H * self.step_high * math.sqrt(d), 0.5)
        return Bound(lambda s: (chance + optimism) * np.sqrt(s), (shape,))

    # --- planning ---

    def _beta(self, scale: Array) -> Array:
        if self.radius is not None:
            return np.full(len(scale), self.radius)
        iota = math.log(2 * self.dimension * self.horizon * self.stages / self.delta)
        return scale * self.dimension * self.stages * self.step_high * math.sqrt(iota)

    def _planned(self, state: LsviUcbState, rows: Array) -> TabularPolicy:
        """The policy computed from everything that these rows have learned."""
        features, inverse = state.features.take(rows, axis=0), state.ridge.inverse.take(rows, axis=0)
        squared = np.einsum("nhpi,npi->nhp", features[:, None] @ inverse, features)
        bonus = state.beta.take(rows)[:, None, None] * np.sqrt(np.maximum(squared, 0.0))

        def backup(stage: int, value: Array) -> Array:
            target = state.reward[rows, stage] + np.einsum("npk,nk->np", state.led[rows, stage], value)
            weights = np.einsum("nij,nj->ni", inverse[:, stage], np.einsum("npi,np->ni", features, target))
            values = np.einsum("npi,ni->np", features, weights) + bonus[:, stage]
            return np.asarray(np.minimum(values, self.stages * self.step_high).reshape(-1, self.states, self.arms))

        return table(backward(backup, rows=len(rows), states=self.states, stages=self.stages))
