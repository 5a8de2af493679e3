"""CORRAL: log-barrier mirror descent with rates that grow.

Sample base j from pbar; with loss l = 1 - gain, estimate the loss vector by l/pbar_j at j and 0 elsewhere; take a
log-barrier step from p; mix, pbar = (1 - gamma) p + gamma/M. Whenever pbar_i falls below its threshold, set its
threshold to pbar_i/2 and multiply eta_i by exp(1/ln T), so that a rarely played base can recover.

Source: Agarwal, Luo, Neyshabur, Schapire, "Corralling a band of bandit algorithms", 2017, Algorithm 1; as a meta of
smoothed stochastic bases, Pacchiano et al., "Model selection in contextual stochastic bandit problems", 2020. The
latter passes the reward where the loss belongs and overwrites p by pbar; `mixing="overwrite"` keeps the second.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

import attrs
import numpy as np
from attrs.validators import and_, gt, lt, optional
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.metas.learning_rates import ALPHA, C, Target, aim, corral_rate, rate_of
from corral_core.metas.log_barrier import log_barrier_step
from corral_core.metas.sampling import among, draw
from corral_core.protocols.meta import Meta, MetaProblem, NeedsBounds, Verdict
from corral_core.protocols.parameters import parameter
from corral_core.rows import Array


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
    mixing: Literal["separate", "overwrite"] = parameter(
        "separate", help="keep p separate from the sampling distribution, or overwrite it as in the paper's box"
    )
    loss_factor: float = parameter(
        1.0, help="multiplies the loss; 2 is the feedback of the paper's analysis", validator=gt(0)
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
        gamma = rate_of(self.gamma, problem, "gamma", zero=True)
        growth = rate_of(self.growth, problem, "growth")
        if gamma is not None and gamma > 1:
            raise CorralError(f"{self.name}: gamma is a share of all plays and must be at most 1, not {self.gamma}")
        return CorralState(
            p=uniform,
            sampled=uniform.copy(),
            eta=np.full(shape, self.rate(problem)),
            threshold=uniform / 2,
            gamma=1 / problem.rounds if gamma is None else gamma,
            growth=math.exp(1 / math.log(max(problem.rounds, 3))) if growth is None else growth,
        )

    def choose(self, state: CorralState, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        state.sampled = among(active, state.sampled)
        return draw(state.sampled, rng)

    def update(self, state: CorralState, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        some = None if active.all() else active
        loss = self.loss_factor * (1 - gain) / probability
        state.p = log_barrier_step(among(active, state.p), state.eta, chosen, loss, some)
        state.sampled = (1 - state.gamma) * state.p
        if some is None:
            state.sampled += state.gamma / len(state.p)
        else:
            state.sampled += np.where(some, state.gamma / some.sum(axis=0), 0.0)
        if self.mixing == "overwrite":
            state.p = state.sampled
        below = state.sampled < state.threshold
        if some is not None:
            below &= some
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
