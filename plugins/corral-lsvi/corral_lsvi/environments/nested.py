"""Linear MDPs with D features of every action in every state, of which the first d* matter.

An MDP is linear in features phi(s, a) if P_h(s' | s, a) = <phi(s, a), mu_h(s')> and r_h(s, a) = <phi(s, a), theta_h>.
Here phi = (x, z)/sqrt(2): x = 0.8 e_k + 0.2 y lies in the simplex of R^d*, with an anchor k(s, a) drawn uniformly (each
is used by some pair) and y ~ Dirichlet(1); z is uniform on the unit sphere of R^(D-d*) and irrelevant. For i <= d*

    mu_h,i ~ sqrt(2) Dirichlet(0.3, ..., 0.3) over the S states,
    theta_h,i ~ sqrt(2) U[0, 1/2] for i < d*,   theta_h,d* = sqrt(2),

and both are zero for i > d*. So rows of P_h are probabilities and rewards lie in [0, 1], exactly. The values of every
policy are linear in the first d* features. With fewer features, a learner does not see the anchor that pays most.
||phi|| <= 1, and ||mu_h(S)|| = sqrt(2 d*), sqrt(2) times the normalisation of the source. Episodes of H steps start in
state 0; rewards have no noise. Every row draws its own MDP.

Source of the assumption: Jin, Yang, Wang, Jordan, "Provably efficient reinforcement learning with linear function
approximation", 2020, Assumption A; of the nested features: Pacchiano et al. 2020, Section 6. The distributions were
made for Corral.
"""

from __future__ import annotations

from typing import ClassVar, Self

import attrs
import numpy as np
from attrs.validators import ge
from corral_kit.linear.directions import check_relevant, sphere
from numpy.random import Generator

from corral_core import Array, CorralError, Problem, Rows, parameter
from corral_core.environments.finite_mdp import FiniteMdp, Model, unit_rewards

PURE = 0.8  # weight of the anchor in x


class NestedMdpInstance(Rows):
    features: Array  # (rows, states, actions, D), phi
    model: Model


@attrs.frozen
class NestedLinearMdp(FiniteMdp):
    """Linear MDPs with D features, of which the first d* matter."""

    name: ClassVar[str] = "nested-linear-mdp"

    states: int = parameter(12, help="number of states", validator=ge(1))
    arms: int = parameter(3, help="number of actions", validator=ge(1))
    stages: int = parameter(6, help="number H of steps per episode", validator=ge(1))
    dimension: int = parameter(8, help="number D of features of an action in a state", validator=ge(1))
    relevant: int = parameter(4, help="number d* of leading features that matter", validator=ge(1))

    def __attrs_post_init__(self) -> None:
        check_relevant(self.name, self.dimension, self.relevant)
        if self.relevant > self.states * self.arms:
            pairs = self.states * self.arms
            raise CorralError(
                f"{self.name}: relevant must be at most {pairs}, states times actions, not {self.relevant}"
            )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(states=4, arms=2, stages=3, dimension=2, relevant=2)]

    @property
    def problem(self) -> Problem:
        sizes = {"states": self.states, "arms": self.arms, "stages": self.stages}
        return unit_rewards(self.name, **sizes, dimension=self.dimension)

    def draw(self, rows: int, rng: Generator) -> NestedMdpInstance:
        x = self._simplex(rows, rng)
        junk = sphere(rng, rows, self.states, self.arms, self.dimension - self.relevant)
        mu = _dirichlet(0.3, (rows, self.stages, self.relevant, self.states), rng)
        theta = rng.random((rows, self.stages, self.relevant)) / 2
        theta[..., -1] = 1.0
        transition = np.einsum("nsai,nhik->nhsak", x, mu)
        reward = np.einsum("nsai,nhi->nhsa", x, theta)
        features = np.concatenate([x, junk], axis=-1) / np.sqrt(2)
        return NestedMdpInstance(features, Model.of(transition, reward[..., None], self.stages))

    def model(self, instance: NestedMdpInstance) -> Model:
        return instance.model

    def shown(self, instance: NestedMdpInstance) -> dict[str, Array]:
        return {"features": instance.features}

    def _simplex(self, rows: int, rng: Generator) -> Array:
        """The vector x of every pair of a state and an action."""
        pairs = self.states * self.arms
        order = np.argsort(rng.random((rows, pairs)), axis=1)
        anchor = (rng.random((rows, pairs)) * self.relevant).astype(np.intp)
        np.put_along_axis(anchor, order[:, : self.relevant], np.arange(self.relevant), axis=1)
        x = PURE * np.eye(self.relevant)[anchor] + (1 - PURE) * _dirichlet(1.0, (rows, pairs, self.relevant), rng)
        return np.asarray(x.reshape(rows, self.states, self.arms, self.relevant))


def _dirichlet(weight: float, shape: tuple[int, ...], rng: Generator) -> Array:
    """Dirichlet draws along the last axis, with the same weight for each entry."""
    drawn = rng.standard_gamma(weight, shape)
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))
