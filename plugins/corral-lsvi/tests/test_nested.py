"""Nested linear MDPs satisfy the assumption exactly, and fewer features than matter do not."""

from __future__ import annotations

import numpy as np
import pytest
from corral_lsvi import NestedLinearMdp

from corral_core import Array, CorralError
from corral_core.environments.planning import following

WORLDS = [
    NestedLinearMdp(),
    NestedLinearMdp(states=7, arms=2, stages=3, dimension=5, relevant=2),
    NestedLinearMdp(states=5, arms=4, stages=4, dimension=6, relevant=6),
    NestedLinearMdp(states=3, arms=2, stages=2, dimension=3, relevant=1),
]


def residual(features: Array, values: Array) -> float:
    """How far values (states, actions) are from linear in features (states, actions, d), at most."""
    flat = features.reshape(-1, features.shape[-1])
    weights = np.linalg.lstsq(flat, values.reshape(-1), rcond=None)[0]
    return float(np.abs(flat @ weights - values.reshape(-1)).max())


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_rows_are_probabilities_and_rewards_lie_in_the_unit_interval(world: NestedLinearMdp) -> None:
    """To the rounding of a sum of so many terms."""
    instance = world.draw(200, np.random.default_rng(1))
    model, features = instance.model, instance.features
    assert model.probability.min() >= 0
    assert np.abs(model.probability.sum(axis=-1) - 1).max() < 1e-15 * world.states
    assert model.reward.min() >= 0 and model.reward.max() <= 1 + 1e-15
    assert np.linalg.norm(features, axis=-1).max() <= 1 + 1e-15
    assert features.shape == (200, world.states, world.arms, world.dimension)
    assert world.shown(instance)["features"] is features


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_values_of_every_policy_are_linear_in_what_matters(world: NestedLinearMdp) -> None:
    """To 1e-12, of random policies and of the best; and with a feature less they are not, in any of 20 instances."""
    rng = np.random.default_rng(2)
    instance, relevant = world.draw(20, rng), world.relevant
    policy = rng.dirichlet(np.ones(world.arms), size=(20, world.stages, world.states))
    table = np.eye(world.arms)[rng.integers(world.arms, size=(20, world.stages, world.states))]
    for values in (
        instance.model.values(world.stages, following(policy)),
        instance.model.values(world.stages, following(table)),
        instance.model.optimal,
    ):
        for row in range(20):
            for stage in range(world.stages):
                assert residual(instance.features[row, ..., :relevant], values[row, stage]) < 1e-12
                if relevant > 1:
                    assert residual(instance.features[row, ..., : relevant - 1], values[row, stage]) > 1e-3


def test_transitions_and_rewards_are_linear_in_what_matters() -> None:
    """P_h = <phi, mu_h> and r_h = <phi, theta_h>: every column is linear in the first d* features to 1e-12."""
    world = WORLDS[0]
    instance = world.draw(5, np.random.default_rng(3))
    for row in range(5):
        features = instance.features[row, ..., : world.relevant]
        for stage in range(world.stages):
            assert residual(features, instance.model.reward[row, stage, ..., 0]) < 1e-12
            for state in range(world.states):
                assert residual(features, instance.model.probability[row, stage, ..., state]) < 1e-12


def test_every_anchor_is_used_and_the_last_pays_most() -> None:
    world = NestedLinearMdp(states=3, arms=2, stages=2, dimension=8, relevant=6)
    instance = world.draw(300, np.random.default_rng(4))
    anchors = instance.features[..., :6].argmax(axis=-1).reshape(300, -1)
    assert (np.sort(anchors, axis=1) == np.arange(6)).all(), "six pairs, six anchors"
    reward = instance.model.reward[..., 0].reshape(300, 2, -1)
    assert (np.take_along_axis(reward, anchors.argmax(axis=1)[:, None, None], axis=2)[..., 0] > 0.8).all()


def test_junk_is_uniform_on_the_sphere() -> None:
    """By coordinate, means vanish, second moments are 1/4 and fourth ones 3/(4 6): 18,000 each, 4.5 standard errors."""
    world = WORLDS[0]
    junk = np.sqrt(2) * world.draw(500, np.random.default_rng(5)).features[..., world.relevant :]
    np.testing.assert_allclose(np.linalg.norm(junk, axis=-1), 1.0)
    for moment, exact in ((junk, 0.0), (junk**2, 1 / 4), (junk**4, 1 / 8)):
        flat = moment.reshape(-1, 4)
        assert (np.abs(flat.mean(axis=0) - exact) < 4.5 * flat.std(axis=0) / np.sqrt(len(flat))).all()


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"relevant": 9}, "relevant must be at most the dimension 8, not 9"),
        ({"states": 2, "arms": 1, "relevant": 3}, "relevant must be at most 2, states times actions"),
    ],
)
def test_what_cannot_be_drawn_is_refused(sizes: dict[str, int], said: str) -> None:
    with pytest.raises(CorralError, match=said):
        NestedLinearMdp(**sizes)  # type: ignore[arg-type]
