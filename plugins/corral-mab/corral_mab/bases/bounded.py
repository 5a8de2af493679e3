"""Bases whose bound needs every reward in [low, high], contexts that do not change and all arms at every play.

>>> from corral_core import Problem
>>> from corral_mab import Exp3
>>> known = Problem(arms=2, noise=0.5, low=0.0, high=1.0, reward_low=0.0, reward_high=1.0)
>>> unknown = Problem(arms=2, noise=0.5, low=0.0, high=1.0)
>>> Exp3().resolve(known).has_bound, Exp3().resolve(unknown).has_bound
(True, False)
"""

from __future__ import annotations

from typing import Self

import attrs

from corral_core import Base, Problem, fitted, parameter


@attrs.frozen(kw_only=True)
class NeedsBoundedRewards(Base):
    """A base whose bound holds only if rewards are bounded, contexts do not change and no arm is masked."""

    low: float = fitted(help="lowest mean reward")
    high: float = fitted(help="highest mean reward")
    changing: bool = fitted(help="whether contexts change; then there is no bound")
    masked: bool = fitted(help="whether arms may be unavailable", hidden=True)
    bounded: bool | None = parameter(
        None,
        help="whether every reward lies in [low, high]; if not, there is no bound (default: from the environment)",
    )

    def resolve(self, problem: Problem) -> Self:
        fit = super().resolve(problem)
        if fit.bounded is not None:
            return fit
        return attrs.evolve(fit, bounded=problem.pays_within(fit.low, fit.high))

    def unmet(self, problem: Problem) -> str:
        if self.bounded and not problem.pays_within(self.low, self.high):
            return f"all rewards in [{self.low:.4g}, {self.high:.4g}]"
        return super().unmet(problem)

    @property
    def has_bound(self) -> bool:
        """Whether its bound holds in the problem that it was resolved for."""
        return bool(self.bounded) and not self.changing and not self.masked
