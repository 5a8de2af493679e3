"""Uniform choice: the control that every other meta-algorithm should beat."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.metas.sampling import among, draw
from corral_core.protocols.meta import Meta, MetaProblem, Verdict
from corral_core.rows import Array


@attrs.define(eq=False)
class UniformState:
    sampled: Array


@attrs.frozen
class Uniform(Meta):
    """Chooses each base with the same probability, regardless of what it earns: the control."""

    name: ClassVar[str] = "uniform"
    needs_horizon: ClassVar[bool] = False

    def init(self, rows: int, problem: MetaProblem) -> UniformState:
        return UniformState(np.full((problem.bases, rows), 1 / problem.bases))

    def choose(self, state: UniformState, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        state.sampled = among(active, state.sampled)
        return draw(state.sampled, rng)

    def update(
        self, state: UniformState, chosen: Array, probability: Any, gain: Array, active: Array
    ) -> Verdict | None:
        return None

    def probabilities(self, state: UniformState) -> Array:
        return state.sampled
