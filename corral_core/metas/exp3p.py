"""EXP3.P with forced exploration: every base keeps at least probability p.

    G_j += (g 1{j played} + p/2) / P_j,    P = (1 - M p) softmax(eta G) + p,    eta = p / (1 + p/2)

Source: Bubeck and Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit problems", 2012,
Figure 3.1; as a meta of smoothed bases, Pacchiano et al. 2020. Two corrections to the latter's box: the mixture must
be (1 - M p) softmax + p to sum to one, and eta = 1 breaks the condition (1 + beta) M eta <= gamma of the theorem it
cites; the eta above is the largest that meets it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.metas.learning_rates import exp3p_rate, rate_of, target
from corral_core.metas.sampling import among, draw
from corral_core.protocols.meta import Meta, MetaProblem, NeedsBounds, Verdict
from corral_core.protocols.parameters import parameter
from corral_core.rows import Array


@attrs.define(eq=False)
class Exp3PState:
    gains: Array  # G
    sampled: Array  # P
    floor: float  # p
    low: float
    high: float


@attrs.frozen
class Exp3P(Meta):
    """Exponential weights that explore every base with at least a fixed probability (EXP3.P)."""

    name: ClassVar[str] = "exp3p"
    needs_bounds: ClassVar[NeedsBounds] = "one"

    p: float | str = parameter("auto", help='minimum probability of a base: a number up to 1/(2M), or "auto"')

    def rate(self, problem: MetaProblem) -> float:
        """p, as given or from the paper's table."""
        given = rate_of(self.p, problem.horizon, "p")
        if given is None:
            return exp3p_rate(problem.bases, problem.horizon, target(problem.bounds))
        most = 0.5 / problem.bases
        if given > most:
            raise CorralError(f"exp3p: p must be at most 1/(2M) = {most:.4g} with M = {problem.bases}, not {given}")
        return given

    def init(self, rows: int, problem: MetaProblem) -> Exp3PState:
        shape = (problem.bases, rows)
        low, high = problem.gains
        return Exp3PState(np.zeros(shape), np.full(shape, 1 / problem.bases), self.rate(problem), low, high)

    def choose(self, state: Exp3PState, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        state.sampled = among(active, state.sampled)
        return draw(state.sampled, rng)

    def update(self, state: Exp3PState, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        floor, rows = state.floor, np.arange(len(chosen))
        unit = (gain - state.low) / (state.high - state.low)
        with np.errstate(divide="ignore"):
            state.gains += np.where(active, floor / 2 / state.sampled, 0.0)
        state.gains[chosen, rows] += unit / probability
        kept = np.where(active, state.gains, -np.inf)
        weights = np.exp(floor / (1 + floor / 2) * (kept - kept.max(axis=0)))
        weights /= weights.sum(axis=0)
        count = active.sum(axis=0)
        state.sampled = (1 - count * floor) * weights + np.where(active, floor, 0.0)
        return None

    def probabilities(self, state: Exp3PState) -> Array:
        return state.sampled

    def choices(self, problem: MetaProblem) -> list[str]:
        rate = self.rate(problem)
        if self.p != "auto":
            return [f"p = {rate:.4g} (given)"]
        return [f"p = {rate:.4g} (auto: the paper's table, row '{target(problem.bounds).row}')"]
