"""Environment: draws problem instances, one per row, and pays for actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import attrs
from numpy.random import Generator

from corral_core.protocols.named import Named
from corral_core.protocols.problem import Observation, Problem
from corral_core.rows import Array, Rows


class Play(Rows):
    """One play of every row."""

    observation: Any  # what a base learns from: Observation, or Trajectory
    action: Any
    reward: Array
    regret: Array | None = None  # from means; None if the environment does not report regret


Act = Callable[[Observation], Array]


@attrs.frozen
class Environment(Named):
    """Draws problem instances, one per row, and pays for actions."""

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """What bases and metas may know about the environment."""

    @abstractmethod
    def draw(self, rows: int, rng: Generator) -> Any:
        """One instance of the problem per row."""

    @abstractmethod
    def play(self, instance: Any, act: Act, rng: Generator) -> Play:
        """One play of all rows: a single action each, or an episode."""

    def at_horizon(self, horizon: int) -> Self:
        """This environment for this many plays; raises a `CorralError` if it was made for another number."""
        return self

    def shown(self, instance: Any) -> dict[str, Array]:
        """What every base is given before the first play, one value per row: for example the features of fixed arms."""
        return {}
