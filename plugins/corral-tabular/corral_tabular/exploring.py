"""Common part of bases that are epsilon-greedy."""

from __future__ import annotations

import attrs
from attrs.validators import and_, ge, le
from corral_kit.tabular.tables import Ties, draw, probabilities
from corral_kit.tabular.tabular import Tabular
from numpy.random import Generator

from corral_core import Array, Observation, knob


@attrs.frozen
class EpsilonGreedyTabular(Tabular):
    """Plays a uniformly random action with probability epsilon, else one of the best, drawn uniformly."""

    epsilon: float = knob(0.1, help="probability of a random action, in every step", validator=and_(ge(0.0), le(1.0)))

    def act(self, policy: Ties, observation: Observation, rng: Generator) -> Array:
        return draw(policy, observation, self.arms, rng)

    def action_probabilities(self, policy: Ties, observation: Observation) -> Array:
        return probabilities(policy, observation, self.arms)
