"""Common part of bases with features: their parameters, and how they get the features of arms."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, lt

from corral_core import Array, Base, CorralError, Observation, Problem, fitted, knob, parameter
from corral_core.protocols.problem import action_of
from corral_core.selection.received import features_in
from corral_kit.linear.arms import certain

MODERATE: Any = and_(ge(0.0), le(1e9))  # larger values would overflow


@attrs.frozen
class Featured(Base):
    """A base that models rewards by the first d features of its actions.

    If the same finitely many arms are available at every play, their features are shown before the first play, and a
    policy is one arm. Otherwise (arms change, or some are masked) every observation shows the features, and a policy is
    what values any arm, so it decides among any subset of arms.

    What is known about one arm is known through the features, in parameters that all arms share. So it cannot be
    forgotten, and arms cannot be renewed, unless every arm has parameters of its own.
    """

    takes_shared: ClassVar[bool] = False  # whether one context for all arms is enough

    scale: float = knob(1.0, help="factor of the confidence width; 1 in the source", validator=MODERATE)
    dimension: int = fitted(help="d: only the first d features are used", validator=ge(1))
    noise: float = fitted(help="sub-Gaussian scale sigma of the rewards", validator=ge(0))
    delta: float = fitted(help="failure probability of the confidence bounds", validator=and_(gt(0), lt(1)), knob=True)
    problem: Problem | None = attrs.field(default=None, kw_only=True, repr=False, metadata={"hidden": True})

    def resolve(self, problem: Problem) -> Self:
        if problem.shared and not self.takes_shared:
            raise CorralError(
                f"{self.name} needs features of every arm; {problem.environment} has one context for all of them, "
                f"so use disjoint-linucb of corral-linucb"
            )
        needs_all_arms(self, problem)
        return attrs.evolve(super().resolve(problem), problem=problem)

    @property
    def resolved(self) -> Problem:
        """The problem that this base was fitted to."""
        if self.problem is None:
            raise CorralError(f"{self.name} has not been fitted to a problem: call resolve(problem) first")
        return self.problem

    @property
    def fixed(self) -> bool:
        """Whether the same finitely many arms are available at every play."""
        problem = self.resolved
        return problem.actions == "finite" and not (problem.changing or problem.masked)

    def shown(self, given: Any, size: int | None = None) -> Array | None:
        """The first d (or `size`) features of fixed arms, (rows, arms, d); None if every observation shows them."""
        if not self.fixed:
            return None
        environment = self.resolved.environment
        if not hasattr(given, "features"):
            raise CorralError(f"{self.name} needs the features of fixed arms; {environment} shows none")
        features_in(given.features, self.resolved, len(given))
        return np.array(given.features[..., : size or self.dimension], dtype=np.float64)

    def observed(self, observation: Observation) -> Array:
        """The first d features of this play's observation."""
        if observation.features is None:
            raise CorralError(f"{self.name} needs features at every play; {self.resolved.environment} shows none")
        return observation.features[..., : self.dimension]

    def arms_in(self, observation: Observation) -> int | None:
        """The number of arms, available or not; None if neither the problem nor this observation shows it."""
        if self.resolved.arms is not None:
            return self.resolved.arms
        if observation.mask is not None:
            return int(observation.mask.shape[1])
        features = observation.features
        return None if features is None or features.ndim != 3 else int(features.shape[1])

    def action_probabilities(self, policy: Any, observation: Observation) -> Array | None:
        """1 for the arm that `act` plays, if it draws nothing; None for infinitely many actions."""
        arms = self.arms_in(observation) if self.resolved.actions == "finite" else None
        if arms is None or not self.deterministic:
            return None
        return certain(action_of(self.act(policy, observation, None)), arms)  # type: ignore[arg-type]


@attrs.frozen
class Linear(Featured):
    """A base with a ridge regression of the rewards on the features.

    If arms change from play to play, policies store V^-1 in single precision, which is enough for features of length
    about sqrt(lambda).
    """

    masks: ClassVar[bool] = True

    penalty: float = parameter(1.0, help="lambda of the ridge regression", validator=and_(ge(1e-9), le(1e9)))
    norm: float = parameter(1.0, help="upper bound S on the norm of theta", validator=MODERATE)


def needs_all_arms(base: Base, problem: Problem) -> None:
    """Raise an error if the base has another number of arms than the problem."""
    arms = getattr(base, "arms", None)
    if arms is not None and problem.arms is not None and arms != problem.arms:
        raise CorralError(f"{base.name} plays all {problem.arms} arms of {problem.environment}; leave arms out")
