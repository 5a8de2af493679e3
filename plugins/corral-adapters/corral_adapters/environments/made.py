"""Common part of the Gymnasium environments: which one it is, and how long an episode lasts."""

from __future__ import annotations

from typing import Any

import attrs
from attrs.validators import ge, optional

from corral_adapters.libraries import library, reason, table
from corral_core import CorralError, EpisodicMdp, parameter


@attrs.frozen
class Made(EpisodicMdp):
    """An environment made by gymnasium.make."""

    id: str = parameter(help="id of the environment for gymnasium.make, such as FrozenLake-v1")
    settings: Any = parameter({}, help="other arguments of gymnasium.make, as a table", validator=table)
    stages: int | None = parameter(
        None, help="maximum number of steps per episode (default: the environment's limit)", validator=optional(ge(1))
    )
    low: float | None = parameter(None, help="smallest possible mean return")
    high: float | None = parameter(None, help="largest possible mean return")

    def __attrs_post_init__(self) -> None:
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise CorralError(f"{self.name}: low must be less than high, not {self.low} and {self.high}")

    def _make(self) -> Any:
        gymnasium = library("gymnasium", "gymnasium")
        limit = {} if self.stages is None else {"max_episode_steps": self.stages}
        try:
            return gymnasium.make(self.id, disable_env_checker=True, **limit, **self.settings)
        except Exception as error:
            raise CorralError(f"{self.name}: {self.id} cannot be made: {reason(error)}") from error

    def _steps(self, env: Any) -> int:
        steps = env.spec.max_episode_steps
        if steps is None:
            raise CorralError(f"{self.name}: an episode of {self.id} may never end; set stages")
        return int(steps)
