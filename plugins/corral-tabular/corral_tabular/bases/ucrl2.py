"""UCRL2 for episodes of H steps: the best policy in the best plausible model.

Rewards and transitions are the same at every stage. Let n be the number of visits of (s, a), p the frequencies of its
outcomes and r its mean reward above the minimum. Plausible are rewards up to r + w_r above the minimum, and transitions
within w_p of p in the L1 norm. Backward induction takes the largest of both at every stage (extended value iteration,
optimism.py). Versions differ in w and in when the policy is recomputed:

- `jaksch` (the source): w_r = R sqrt(7 ln(2SAt/delta)/(2n)), w_p = sqrt(14 S ln(2At/delta)/n), t the number of the next
  step and R the range of a reward; after an episode in which the visits of some (s, a) doubled.
- `tabularl` (what TabulaRL plays): w_r = R sqrt(4 ln(2SA(e+1)/delta)/n), w_p = sqrt(4 S ln(2SA(e+1)/delta)/n), e the
  number of the episode; after every episode. A small prior: weight 1e-4 on the minimum reward, 1e-5 on every outcome.
  delta is 0.05 by default.

n is at least 1, and `scale` multiplies w. TabulaRL overwrites its estimate with the optimistic transition, so the w_p/2
of a stage is still there at the stage before, and so on. With `aliased`, optimism adds up over the stages in the same
way (as long as it stays below probability 1; at 1 the estimate is not changed). This is a defect; it is here because a
figure seems to have been made with it. Ties are drawn uniformly. The outcome of the last step of an episode is not
used. An action is known only through its counts, which `renew` forgets; the policy is then computed anew.

Bound, for `jaksch` with a scale of at least 1: the source's Theorem 2, 34 D S sqrt(A t ln(t/delta)), with the diameter
D replaced by the length H of an episode, after which everything starts over (t = H s):

    U(s, delta) = 34 scale H S R sqrt(A H s ln(H s/delta))

The source never starts over and bounds the loss against the best average reward per step. The form carries over;
the constant is our claim. Nothing is proved for `tabularl` or for a smaller scale.

Source: Jaksch, Ortner, Auer, "Near-optimal regret bounds for reinforcement learning", 2010, Figure 1 and Theorem 2.

>>> from corral_core import try_out
>>> from corral_tabular import RiverSwim
>>> sound, aliased = (Ucrl2(version="tabularl", aliased=flag) for flag in (False, True))
>>> regret = [try_out(RiverSwim(), base, horizon=600, rows=4).regret[:, -1].mean() for base in (sound, aliased)]
>>> bool(regret[0] < 0.8 * regret[1])
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, lt
from corral_kit.tabular.tables import Ties, draw, probabilities, ties
from corral_kit.tabular.tabular import Tabular
from numpy.random import Generator

from corral_core import Array, Bound, CorralError, Feedback, Observation, Problem, Rows, Term, fitted, knob, parameter
from corral_core.bases.policies import InForce
from corral_tabular.counts import Counts
from corral_tabular.optimism import optimistic_values

PRIOR_REWARD, PRIOR_OUTCOMES, DELTA = 1e-4, 1e-5, 0.05  # TabulaRL's


class Ucrl2State(Rows):
    counts: Counts
    episodes: Array  # (rows,)
    steps: Array  # (rows,), also those that were forgotten since
    scale: Array
    delta: Array
    in_force: InForce | None = None  # if the policy rarely changes; since: the visits (rows, states, actions)


@attrs.frozen
class Ucrl2(Tabular):
    """Optimism over all plausible models (UCRL2), for episodes."""

    name: ClassVar[str] = "ucrl2"
    formula: ClassVar[str] = "34 scale H S R sqrt(A H s ln(H s/delta)), for version jaksch; R the range of a reward"

    renews: ClassVar[bool] = True

    version: Literal["jaksch", "tabularl"] = parameter(
        "jaksch", help="widths and updates as in the source, or as in TabulaRL"
    )
    aliased: bool = parameter(False, help="let optimism add up over the stages, a defect of TabulaRL")
    scale: float = knob(1.0, help="factor of the widths; 1 in the source", validator=and_(ge(0.0), le(1e9)))
    delta: float = fitted(
        help="failure probability of the confidence bounds; 0.05 in TabulaRL", validator=and_(gt(0), lt(1)), knob=True
    )
    step_low: float = fitted(help="minimum reward of a step")
    step_high: float = fitted(help="maximum reward of a step")

    def __attrs_post_init__(self) -> None:
        if self.aliased and self.version != "tabularl":
            raise CorralError(
                f'{self.name}: aliased is a defect of version "tabularl"; set that version, or leave aliased out'
            )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(version="tabularl", scale=0.3), cls(version="tabularl", aliased=True)]

    def resolve(self, problem: Problem) -> Self:
        told = attrs.evolve(self, delta=DELTA) if self.delta is None and self.version == "tabularl" else self
        return super(Ucrl2, told).resolve(problem)

    def init(self, given: Any, rng: Generator) -> Ucrl2State:
        rows = len(given)
        state = Ucrl2State(
            counts=Counts.fresh(rows, self.states, self.arms, self.outcomes),
            episodes=np.zeros(rows, dtype=np.int64),
            steps=np.zeros(rows, dtype=np.int64),
            scale=np.array(given.scale, dtype=np.float64),
            delta=np.array(given.delta, dtype=np.float64),
        )
        if self.rarely_changes:
            state.in_force = InForce.begin(self._planned(state, np.arange(rows)), state.counts.taken.copy())
        return state

    @property
    def rarely_changes(self) -> bool:
        return self.version == "jaksch"

    @property
    def scratch_bytes(self) -> int:
        return 9 * self.counted

    def changed(self, state: Ucrl2State, rows: Array) -> Array:
        return super().changed(state, rows) if state.in_force is None else state.in_force.unasked.take(rows)

    def max_policies(self, plays: int) -> int:
        if not self.rarely_changes:
            return plays
        doublings = self.states * self.arms * (1 + math.log2(max(plays, 1) * self.stages))
        return min(plays, 1 + math.ceil(doublings))

    def policy(self, state: Ucrl2State, rows: Array) -> Ties:
        return self._planned(state, rows) if state.in_force is None else state.in_force.ask(rows)

    def act(self, policy: Ties, observation: Observation, rng: Generator) -> Array:
        return draw(policy, observation, self.arms, rng)

    def action_probabilities(self, policy: Ties, observation: Observation) -> Array:
        return probabilities(policy, observation, self.arms)

    def renew(self, state: Ucrl2State, rows: Array, arms: Array) -> None:
        state.counts.forget(rows, arms)
        if state.in_force is not None:
            those = rows[arms.any(axis=1)]
            state.in_force.change(those, self._planned(state, those), state.counts.taken.take(those, axis=0))
            state.in_force.unasked[rows] = True

    def learn(self, state: Ucrl2State, rows: Array, feedback: Feedback, rng: Generator) -> None:
        state.counts.add(self.steps(rows, feedback.observation))
        state.episodes[rows] += 1
        state.steps[rows] += feedback.observation.alive.sum(axis=1)
        if state.in_force is not None:
            taken, before = state.counts.taken.take(rows, axis=0), state.in_force.since.take(rows, axis=0)
            doubled = (taken - before >= np.maximum(before, 1.0)).any(axis=(1, 2))
            if doubled.any():
                those = rows[doubled]
                state.in_force.change(those, self._planned(state, those), taken[doubled])

    def bound(self, delta: float) -> Bound | None:
        if self.version != "jaksch" or self.scale < 1:
            return None
        span = self.step_high - self.step_low
        factor = 34 * self.scale * self.stages * self.states * span * math.sqrt(self.arms * self.stages)
        shape = Term(self.stages * span * math.sqrt(self.states * self.arms), 0.5)
        return Bound(lambda s: factor * np.sqrt(s * np.log(self.stages * s / delta)), (shape,))

    # --- planning ---

    def _planned(self, state: Ucrl2State, rows: Array) -> Ties:
        """The best policy in the best plausible model of these rows."""
        counts = state.counts.take(rows)
        arrived = counts.led.sum(axis=3)
        reward, transition = self._likely(counts, arrived)
        reward_width, width = self._widths(state, rows, counts, arrived)
        hopeful = self.step_low + reward + reward_width
        values = optimistic_values(hopeful, transition, width, self.stages, self.aliased)
        return ties(values, np.zeros(len(rows)))

    def _likely(self, counts: Counts, arrived: Array) -> tuple[Array, Array]:
        """Mean rewards above the minimum, and probabilities of outcomes (uniform if there are no visits)."""
        above = counts.replace(reward=counts.reward - self.step_low * counts.taken)
        if self.version == "tabularl":
            return above.likely(PRIOR_OUTCOMES, PRIOR_REWARD)
        known = arrived[..., None] > 0
        transition = np.where(known, counts.led, 1.0) / np.where(known, arrived[..., None], self.outcomes)
        return above.reward / np.maximum(counts.taken, 1.0), transition

    def _widths(self, state: Ucrl2State, rows: Array, counts: Counts, arrived: Array) -> tuple[Array, Array]:
        """The confidence widths of rewards and of transitions."""
        visits, arrived = np.maximum(counts.taken, 1.0), np.maximum(arrived, 1.0)
        pairs, delta = self.states * self.arms, state.delta.take(rows)
        if self.version == "tabularl":
            log = np.log(2 * pairs * (state.episodes.take(rows) + 2) / delta)  # for episode e = episodes + 1
            squared, squared_transition = 4 * log, 4 * self.states * log
        else:
            time = state.steps.take(rows) + 1
            squared = 3.5 * np.log(2 * pairs * time / delta)
            squared_transition = 14 * self.states * np.log(2 * self.arms * time / delta)
        scale = state.scale.take(rows)[:, None, None]
        reward_width = (self.step_high - self.step_low) * np.sqrt(squared[:, None, None] / visits)
        return scale * reward_width, scale * np.sqrt(squared_transition[:, None, None] / arrived)
