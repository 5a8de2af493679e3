"""EXP3.P with forced exploration: every base keeps at least probability p.

    G_j += (g 1{j played} + beta) / P_j,    P = (1 - M p) softmax(eta G) + p

with beta = p/2 and eta = p/(1 + beta), unless they are set.

Source: Bubeck and Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit problems", 2012,
Figure 3.1; as a meta of smoothed bases, Pacchiano et al. 2020. Two corrections to the latter's box: the mixture must
be (1 - M p) softmax + p to sum to one, and eta = 1 breaks the condition (1 + beta) M eta <= gamma of the theorem it
cites; the eta above is the largest that meets it.

The rate "auto" is p = min(1/2M, T^-(1-a)/(2-a) M^-1/(2-a) c^1/(2-a)) for a bound c T^a, and Theorem 4.11 of Pacchiano
et al. promises a regret of the order sqrt(MT) + MTp + 1/p + T^a p^(a-1) c.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import and_, gt, lt, optional
from numpy.random import Generator

from corral_core.bounds import Term
from corral_core.errors import CorralError
from corral_core.metas import theorem
from corral_core.metas.learning_rates import ALPHA, C, Target, aim, rate_of
from corral_core.metas.sampling import among, draw
from corral_core.protocols.meta import Condition, Guarantee, Meta, MetaProblem, NeedsBounds, Verdict
from corral_core.protocols.parameters import parameter
from corral_core.rows import Array


@attrs.define(eq=False)
class Exp3PState:
    gains: Array  # G
    sampled: Array  # P
    floor: float  # p
    beta: float
    eta: float
    low: float
    high: float


@attrs.frozen
class Exp3P(Meta):
    """Exponential weights that explore every base with at least a fixed probability (EXP3.P)."""

    name: ClassVar[str] = "exp3p"
    needs_bounds: ClassVar[NeedsBounds] = "one"
    records: ClassVar[tuple[str, ...]] = ("estimated-gains",)

    p: float | str = parameter(
        "auto", help='minimum probability of a base, up to 1/(2M): a number, a formula like "T^(-1/3)", or "auto"'
    )
    eta: float | str = parameter("auto", help='learning rate: a number, a formula, or "auto" for p/(1 + beta)')
    beta: float | str = parameter("auto", help='bonus of every base, up to 1: a number, a formula, or "auto" for p/2')
    alpha: float | None = parameter(None, help=ALPHA, validator=optional(and_(gt(0), lt(1))))
    c: float | None = parameter(None, help=C, validator=optional(gt(0)))

    def rate(self, problem: MetaProblem) -> float:
        """p, as given or from the paper's table."""
        given = rate_of(self.p, problem, "p")
        if given is None:
            return exp3p_rate(problem.bases, problem.rounds, self.aim(problem))
        most = 0.5 / problem.bases
        if given > most:
            raise CorralError(f"exp3p: p must be at most 1/(2M) = {most:.4g} with M = {problem.bases}, not {given}")
        return given

    def aim(self, problem: MetaProblem) -> Target:
        """The alpha and c that an automatic rate is made for."""
        return aim(problem, self.alpha, self.c, self.name)

    def init(self, rows: int, problem: MetaProblem) -> Exp3PState:
        shape = (problem.bases, rows)
        floor, beta, eta = self._rates(problem)
        return Exp3PState(np.zeros(shape), np.full(shape, 1 / problem.bases), floor, beta, eta, *problem.gains)

    def _rates(self, problem: MetaProblem) -> tuple[float, float, float]:
        """p, beta and eta."""
        floor, beta, eta = self.rate(problem), rate_of(self.beta, problem, "beta"), rate_of(self.eta, problem, "eta")
        beta = floor / 2 if beta is None else beta
        if beta > 1:
            raise CorralError(f"exp3p: beta must be at most 1, not {beta:.4g}")
        return floor, beta, floor / (1 + beta) if eta is None else eta

    def choose(self, state: Exp3PState, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        state.sampled = among(active, state.sampled)
        return draw(state.sampled, rng)

    def update(self, state: Exp3PState, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        floor, rows = state.floor, np.arange(len(chosen))
        unit = (gain - state.low) / (state.high - state.low)
        with np.errstate(divide="ignore"):
            state.gains += np.where(active, state.beta / state.sampled, 0.0)
        state.gains[chosen, rows] += unit / probability
        kept = np.where(active, state.gains, -np.inf)
        weights = np.exp(state.eta * (kept - kept.max(axis=0)))
        weights /= weights.sum(axis=0)
        count = active.sum(axis=0)
        state.sampled = (1 - count * floor) * weights + np.where(active, floor, 0.0)
        return None

    def probabilities(self, state: Exp3PState) -> Array:
        return state.sampled

    def recorded(self, state: Exp3PState) -> dict[str, Array]:
        return {"estimated-gains": state.gains}

    def choices(self, problem: MetaProblem) -> list[str]:
        rate = self.rate(problem)
        source = "given" if self.p != "auto" else f"auto: {self.aim(problem).sentence}"
        others = {"eta": self.eta, "beta": self.beta}
        given = [
            f"{name} = {rate_of(value, problem, name):.4g} (given)" for name, value in others.items() if value != "auto"
        ]
        return [f"p = {rate:.4g} ({source})", *given]

    def guarantee(self, told: MetaProblem) -> Guarantee | None:
        rate = self.rate(told)
        return Guarantee(
            source=theorem.SOURCE,
            formula=f"sqrt(MT) + MTp + 1/p + T^alpha p^(alpha-1) c, p = {rate:.4g}",
            order=lambda term, rounds: exp3p_order(told.bases, rounds, rate, term),
            row=self.aim(told).row if self.p == "auto" else theorem.GIVEN,
            requires=theorem.REQUIRES,
            conditions=(*self._conditions(told), *theorem.conditions(told)),
        )

    def _conditions(self, told: MetaProblem) -> Iterator[Condition]:
        floor, beta, eta = self._rates(told)
        yield Condition(f"beta = {beta:.4g} is p/2 = {floor / 2:.4g}", math.isclose(beta, floor / 2))
        most = floor / (1 + beta)
        yield Condition(f"eta = {eta:.4g} is p/(1 + beta) = {most:.4g}", math.isclose(eta, most))


def exp3p_rate(bases: int, rounds: float, aim: Target) -> float:
    """p = min(1/2M, T^-(1-a)/(2-a) M^-1/(2-a) c^1/(2-a)), with c = 1 if unknown, and T^-1/3 if alpha is."""
    if aim.alpha is None:
        rate = rounds ** (-1 / 3)
    else:
        rate = (rounds ** (aim.alpha - 1) * (aim.c or 1.0) / bases) ** (1 / (2 - aim.alpha))
    return float(min(rate, 0.5 / bases))


def exp3p_order(bases: int, rounds: float, rate: float, term: Term) -> float:
    """sqrt(MT) + MTp + 1/p + T^alpha p^(alpha-1) c; constants and logarithms are left out."""
    c, alpha = term
    exploring = bases * rounds * rate + 1 / rate + rounds**alpha * rate ** (alpha - 1) * c
    return float(math.sqrt(bases * rounds) + exploring)
