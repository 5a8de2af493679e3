"""CORRAL: log-barrier mirror descent with rates that grow.

Sample base j from pbar; with loss l = 1 - gain, estimate the loss vector by l/pbar_j at j and 0 elsewhere; take a
log-barrier step from p; mix, pbar = (1 - gamma) p + gamma/M. Whenever pbar_i falls below its threshold, set its
threshold to pbar_i/2 and multiply eta_i by exp(1/ln T), so that a rarely played base can recover.

Source: Agarwal, Luo, Neyshabur, Schapire, "Corralling a band of bandit algorithms", 2017, Algorithm 1; as a meta of
smoothed stochastic bases, Pacchiano et al., "Model selection in contextual stochastic bandit problems", 2020. The
latter passes the reward where the loss belongs and overwrites p by pbar; `mixing="overwrite"` keeps the second.

The rate "auto" is eta = M^alpha / (c T^alpha), and Theorem 4.11 of the latter promises a regret of the order

    sqrt(MT) + M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self, get_args

import attrs
import numpy as np
from attrs.validators import and_, gt, in_, lt, optional
from numpy.random import Generator

from corral_core.bounds import Term
from corral_core.errors import CorralError
from corral_core.kernels.log_barrier import mixture
from corral_core.metas import theorem
from corral_core.metas.learning_rates import ALPHA, C, Target, aim, rate_of
from corral_core.metas.log_barrier import log_barrier_step
from corral_core.metas.sampling import among, draw, everyone
from corral_core.protocols.meta import Condition, Guarantee, Meta, MetaProblem, NeedsBounds, Verdict
from corral_core.protocols.parameters import parameter
from corral_core.rows import Array

Mixing = Literal["separate", "overwrite"]


@attrs.define(eq=False)
class CorralState:
    p: Array  # the iterate of mirror descent
    sampled: Array  # pbar: the distribution that bases are drawn from
    eta: Array
    threshold: Array
    gamma: float
    growth: float


@attrs.frozen
class Corral(Meta):
    """Log-barrier mirror descent over the bases (CORRAL)."""

    name: ClassVar[str] = "corral"
    needs_bounds: ClassVar[NeedsBounds] = "one"
    clip: ClassVar[tuple[float, float]] = (-1.0, 2.0)
    records: ClassVar[tuple[str, ...]] = ("learning-rates",)

    eta: float | str = parameter("auto", help='learning rate: a number, a formula like "M / sqrt(T)", or "auto"')
    gamma: float | str = parameter(
        "auto", help='share of uniform play: a number from 0 to 1, a formula, or "auto" for 1/T'
    )
    growth: float | str = parameter(
        "auto", help='factor by which rates grow: a number, a formula, or "auto" for exp(1/ln T)'
    )
    alpha: float | None = parameter(None, help=ALPHA, validator=optional(and_(gt(0), lt(1))))
    c: float | None = parameter(None, help=C, validator=optional(gt(0)))
    mixing: Mixing = parameter(
        "separate",
        help="keep p separate from the sampling distribution, or overwrite it as in the paper's box",
        validator=in_(get_args(Mixing)),
    )
    loss_factor: float = parameter(
        1.0,
        help="multiplies the loss; 2 is the feedback of the paper's analysis",
        validator=and_(gt(0), lt(math.inf)),
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(mixing="overwrite", eta="20/sqrt(T)")]

    def rate(self, problem: MetaProblem) -> float:
        """eta, as given or from the paper's table."""
        given = rate_of(self.eta, problem, "eta")
        return corral_rate(problem.bases, problem.rounds, self.aim(problem)) if given is None else given

    def aim(self, problem: MetaProblem) -> Target:
        """The alpha and c that an automatic rate is made for."""
        return aim(problem, self.alpha, self.c, self.name)

    def init(self, rows: int, problem: MetaProblem) -> CorralState:
        shape = (problem.bases, rows)
        uniform = np.full(shape, 1 / problem.bases)
        gamma, growth = self._mixture(problem)
        return CorralState(
            p=uniform,
            sampled=uniform.copy(),
            eta=np.full(shape, self.rate(problem)),
            threshold=uniform / 2,
            gamma=gamma,
            growth=growth,
        )

    def _mixture(self, problem: MetaProblem) -> tuple[float, float]:
        """gamma and the growth of rates, as given or as the sources have them."""
        gamma = rate_of(self.gamma, problem, "gamma", zero=True)
        growth = rate_of(self.growth, problem, "growth")
        if gamma is not None and gamma > 1:
            raise CorralError(f"{self.name}: gamma is a share of all plays and must be at most 1, not {gamma:.4g}")
        usual = usual_mixture(problem.rounds)
        return usual[0] if gamma is None else gamma, usual[1] if growth is None else growth

    def choose(self, state: CorralState, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        state.sampled = among(active, state.sampled)
        return draw(state.sampled, rng)

    def update(self, state: CorralState, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        loss = (1 - gain) / probability
        if self.loss_factor != 1:
            loss *= self.loss_factor
        if everyone(active):
            state.p = log_barrier_step(state.p, state.eta, chosen, loss)
            state.sampled, fell = mixture(state.p, state.gamma, state.threshold)
        else:
            state.p = log_barrier_step(among(active, state.p), state.eta, chosen, loss, active)
            state.sampled = (1 - state.gamma) * state.p + np.where(active, state.gamma / active.sum(axis=0), 0.0)
            fell = True
        if self.mixing == "overwrite":
            state.p = state.sampled
        if not fell:
            return None
        below = (state.sampled < state.threshold) & active
        if not below.any():
            return None
        np.copyto(state.threshold, state.sampled / 2, where=below)
        np.multiply(state.eta, state.growth, out=state.eta, where=below)
        return Verdict(restart=below)

    def probabilities(self, state: CorralState) -> Array:
        return state.sampled

    def recorded(self, state: CorralState) -> dict[str, Array]:
        return {"learning-rates": state.eta}

    def choices(self, problem: MetaProblem) -> list[str]:
        eta = self.rate(problem)
        if self.eta != "auto":
            return [f"eta = {eta:.4g} (given)"]
        return [f"eta = {eta:.4g} (auto: {self.aim(problem).sentence})"]

    def guarantee(self, told: MetaProblem) -> Guarantee | None:
        eta = self.rate(told)
        return Guarantee(
            source=theorem.SOURCE,
            formula=f"sqrt(MT) + M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha), eta = {eta:.4g}",
            order=lambda term, rounds: corral_order(told.bases, rounds, eta, term),
            row=self.aim(told).row if self.eta == "auto" else theorem.GIVEN,
            requires={**theorem.REQUIRES, "restart": True},
            conditions=(*self.own_conditions(told), *self._overwrites(), *theorem.conditions(told)),
        )

    def own_conditions(self, told: MetaProblem) -> Iterator[Condition]:
        """Whether its parameters are those of both sources; any rate eta is."""
        gamma, growth = self._mixture(told)
        share, factor = usual_mixture(told.rounds)
        yield Condition(f"gamma = {gamma:.4g} is 1/T = {share:.4g}", math.isclose(gamma, share))
        yield Condition(f"growth = {growth:.4g} is exp(1/ln T) = {factor:.4g}", math.isclose(growth, factor))
        yield Condition(f"loss_factor = {self.loss_factor:.4g} is 1 or 2", self.loss_factor in (1, 2))

    def _overwrites(self) -> Iterator[Condition]:
        if self.mixing == "overwrite":  # the paper's box does it, but its proof relies on a lemma that keeps both
            yield Condition("overwriting p by the sampling distribution keeps the regret", None)


def usual_mixture(rounds: int) -> tuple[float, float]:
    """gamma = 1/T and the growth exp(1/ln T) of rates; T = 3 in the latter if it is less."""
    return 1 / rounds, math.exp(1 / math.log(max(rounds, 3)))


def corral_rate(bases: int, rounds: int, aim: Target) -> float:
    """eta = M^alpha / (c T^alpha), with c = 1 if it is unknown, and T^-1/2 if alpha is unknown too; at most 1.

    With a rate above 1 a single loss would move all the probability.
    """
    if aim.alpha is None:
        return float(rounds**-0.5)
    return float(min((bases / rounds) ** aim.alpha / (aim.c or 1.0), 1.0))


def learning_order(bases: int, rounds: float, eta: float, term: Term) -> float:
    """M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha); constants and logarithms are left out."""
    c, alpha = np.float64(term.c), term.alpha
    with np.errstate(over="ignore"):
        return float(bases / eta + rounds * eta + rounds * c ** (1 / alpha) * eta ** ((1 - alpha) / alpha))


def corral_order(bases: int, rounds: float, eta: float, term: Term) -> float:
    """sqrt(MT) + M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha); constants and logarithms are left out."""
    return math.sqrt(bases * rounds) + learning_order(bases, rounds, eta, term)
