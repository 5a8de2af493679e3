"""Contexts: masks, nested dimensions, misspecification, products, one context for all arms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from corral_kit.linear.contexts import ContextualBandit
from corral_kit.linear.directions import blocks, in_blocks
from corral_linucb import (
    FosterNested,
    InfiniteNested,
    LinearArms,
    MisspecifiedArms,
    MisspecifiedContexts,
    NestedDimension,
    QuadraticArms,
    QuadraticContexts,
    SharedContext,
)

from corral_core import CorralError


@pytest.mark.parametrize("available", [0.02, 0.5, 0.9])
def test_masks_leave_arms_as_often_as_asked(available: float) -> None:
    """An arm is there with probability p + (1 - p)^K/K, which counts the draw where none survived.

    Each of 4 arms over 40,000 rows and plays within 5 standard errors, and one pair of arms likewise: 2e-5.
    """
    environment = SharedContext(available=available)
    rng = np.random.default_rng(9)
    instance = environment.draw(4000, rng)
    masks = np.stack([environment.observe(instance, rng).mask for _ in range(10)])
    assert masks.dtype == bool
    assert masks.any(axis=2).all()
    expected = available + (1 - available) ** 4 / 4
    error = 5 * np.sqrt(expected * (1 - expected) / 40_000)
    assert abs(masks.mean(axis=(0, 1)) - expected).max() < error
    both = (masks[:, :, 0] & masks[:, :, 1]).mean()
    assert abs(both - available**2) < 5 * np.sqrt(available**2 * (1 - available**2) / 40_000)
    assert (masks[0] != masks[1]).any()
    assert (masks[:, 0] != masks[:, 1]).any()


def test_only_changing_arms_may_be_missing() -> None:
    assert NestedDimension(available=0.5).problem.masked
    assert not NestedDimension().problem.masked
    assert QuadraticContexts(available=0.5).problem.masked
    for wrong in (0.0, -0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="available"):
            SharedContext(available=wrong)


def test_blocks_are_dyadic() -> None:
    assert [list(part) for part in blocks(16)] == [[0, 1, 2, 4, 8], [1, 1, 2, 4, 8]]
    assert [list(part) for part in blocks(1)] == [[0], [1]]


@pytest.mark.parametrize("dimension", [1, 2, 8, 64])
def test_directions_in_blocks_have_equal_energy(dimension: int) -> None:
    """Brute force over the blocks; directions are symmetric: means of 4,000 within 5 standard errors of 0 (4e-5)."""
    vectors = in_blocks(np.random.default_rng(10).standard_normal((1000, 4, dimension)))
    edges = [0, *(2**power for power in range(dimension.bit_length()))]
    for begin, end in pairwise(edges):
        energy = (vectors[:, :, begin:end] ** 2).sum(axis=2)
        assert energy == pytest.approx(np.full((1000, 4), 1 / (len(edges) - 1)))
        each = vectors[:, :, begin:end]
        assert abs(each.mean(axis=(0, 1))).max() < 5 * np.sqrt(1 / (len(edges) - 1) / (end - begin) / 4000)
    assert np.linalg.norm(vectors, axis=2) == pytest.approx(np.ones((1000, 4)))


@pytest.mark.parametrize("relevant", [1, 2, 8, 64])
def test_theta_has_norm_one_and_ends_at_d_star(relevant: int) -> None:
    for environment in (NestedDimension(relevant=relevant), InfiniteNested(relevant=relevant)):
        theta = environment.draw(50, np.random.default_rng(11)).theta
        assert theta.shape == (50, 64)
        assert np.linalg.norm(theta, axis=1) == pytest.approx(np.ones(50))
        assert (theta[:, relevant:] == 0).all()
        assert (theta[:, :relevant] != 0).all()


@pytest.mark.parametrize(
    "environment", [NestedDimension(misspecification=0.25), MisspecifiedContexts()], ids=["nested", "contexts"]
)
def test_means_are_linear_up_to_eps(environment: ContextualBandit) -> None:
    """Row by row from the formula; the deviation comes near eps, and its mean square is eps^2/2.

    Over 9,000 arms a tenth is beyond 10 standard errors.
    """
    rng = np.random.default_rng(12)
    instance = environment.draw(300, rng)
    assert np.linalg.norm(instance.direction, axis=1) == pytest.approx(np.ones(300))
    assert 0 <= instance.phase.min() < 0.2 < 6.1 < instance.phase.max() <= 2 * np.pi
    eps, deviations = environment.misspecification, []
    for _ in range(3):
        features = environment.observe(instance, rng).features
        assert np.linalg.norm(features, axis=2) == pytest.approx(np.ones((300, 10)))
        means = environment.means(instance, features)
        for row in range(300):
            linear = features[row] @ instance.theta[row]
            wave = np.cos(50 * features[row] @ instance.direction[row] + instance.phase[row])
            assert means[row] == pytest.approx((1 - eps) * linear + eps * wave)
            deviations.append(means[row] - (1 - eps) * linear)
    size = abs(np.array(deviations))
    assert 0.999 * eps < size.max() <= eps * (1 + 1e-12)
    assert (size**2).mean() == pytest.approx(eps**2 / 2, rel=0.1)


def test_without_misspecification_means_are_linear() -> None:
    environment, rng = NestedDimension(), np.random.default_rng(13)
    instance = environment.draw(20, rng)
    features = environment.observe(instance, rng).features
    assert environment.means(instance, features) == pytest.approx(np.einsum("rkd,rd->rk", features, instance.theta))


def test_fewer_features_than_d_star_miss_what_the_blocks_say() -> None:
    """A block of b coordinates gives E <a, theta>^2 the part 1/(7 * 4 b): in 4 blocks of sizes 1, 1, 2, 4.

    The share that the first d coordinates miss, over 20,000 arms; .05 is about 6 standard errors or more (1e-8).
    """
    environment, rng = NestedDimension(arms=20), np.random.default_rng(14)
    instance = environment.draw(1000, rng)
    features = environment.observe(instance, rng).features
    means = environment.means(instance, features)
    weight = 1 / np.array([1, 1, 2, 4])
    assert (means**2).mean() == pytest.approx(weight.sum() / 28, rel=0.05)
    for seen, d in enumerate([1, 2, 4, 8], start=1):
        missed = means - np.einsum("rkd,rd->rk", features[:, :, :d], instance.theta[:, :d])
        share = (missed**2).mean() / (means**2).mean()
        assert share == pytest.approx(weight[seen:].sum() / weight.sum(), abs=0.05)


def test_foster_contexts() -> None:
    """Action 0 has a mean of about 1/sqrt(1 + .0025 D): 0.53 at D = 1000, best nearly always; the other about 0.

    400 rows; .01 is beyond 8 standard errors, the other mean within 4.5: fails by chance in 1e-5.
    """
    environment, rng = FosterNested(), np.random.default_rng(15)
    instance = environment.draw(400, rng)
    assert np.linalg.norm(instance.theta, axis=1) == pytest.approx(np.ones(400))
    assert (instance.theta[:, 10:] == 0).all()
    features = environment.observe(instance, rng).features
    assert np.linalg.norm(features, axis=2) == pytest.approx(np.ones((400, 2)))
    means = environment.means(instance, features)
    assert means[:, 0].mean() == pytest.approx(1 / np.sqrt(3.5), abs=0.01)
    assert abs(means[:, 1].mean()) < 4.5 / np.sqrt(1000 * 400)
    assert (means[:, 0] > means[:, 1]).all()


@pytest.mark.parametrize("kind", [NestedDimension, InfiniteNested])
def test_dimensions_must_be_whole_blocks(kind) -> None:
    with pytest.raises(CorralError, match="dimension must be a power of two, such as 64, not 60"):
        kind(dimension=60)
    with pytest.raises(CorralError, match="relevant must be a power of two, such as 8, not 6"):
        kind(relevant=6)
    with pytest.raises(CorralError, match="relevant must be at most the dimension 4, not 8"):
        kind(dimension=4)
    with pytest.raises(ValueError, match="relevant"):
        kind(relevant=0)
    with pytest.raises(CorralError, match="misspecified-contexts: dimension must be a power of two"):
        MisspecifiedContexts(dimension=5)
    with pytest.raises(CorralError, match="relevant must be at most the dimension 5, not 10"):
        FosterNested(dimension=5)


def test_parameters_out_of_range_are_refused() -> None:
    for make in (MisspecifiedArms, MisspecifiedContexts, NestedDimension):
        for wrong in (-0.1, 1.1):
            with pytest.raises(ValueError, match="misspecification"):
                make(misspecification=wrong)
    for make in (LinearArms, SharedContext, QuadraticArms, QuadraticContexts, FosterNested):
        with pytest.raises(ValueError, match="arms"):
            make(arms=0)
    for make, name in ((MisspecifiedArms, "deviation"), (InfiniteNested, "set")):
        with pytest.raises(ValueError, match=name):
            make(**{name: "other"})


@pytest.mark.parametrize("kind", [QuadraticArms, QuadraticContexts])
def test_quadratic_means_are_linear_in_the_products(kind) -> None:
    """They fit svec(z z^T) exactly, and sum over an orthonormal basis to ||theta||^2 = 1."""
    environment, rng = kind(dimension=3), np.random.default_rng(16)
    instance = environment.draw(10, rng)
    observation = environment.observe(instance, rng)
    if kind is QuadraticArms:
        features, means = environment.shown(instance)["features"], instance.mean
    else:
        features, means = observation.features, environment.means(instance, observation.features)
    assert np.linalg.norm(features, axis=2) == pytest.approx(np.ones((10, 50)))
    for row in range(10):
        products = np.einsum("ki,kj->kij", features[row], features[row]).reshape(50, 9)
        weights, _, _, _ = np.linalg.lstsq(products, means[row], rcond=None)
        assert products @ weights == pytest.approx(means[row])
        assert np.trace(weights.reshape(3, 3)) == pytest.approx(1)
        assert np.linalg.matrix_rank(weights.reshape(3, 3), tol=1e-9) == 1
    assert environment.problem.changing == (kind is QuadraticContexts)


def test_shared_context_has_a_parameter_vector_an_arm() -> None:
    environment, rng = SharedContext(), np.random.default_rng(17)
    instance = environment.draw(30, rng)
    context = environment.observe(instance, rng).features
    assert environment.problem.shared
    assert np.linalg.norm(context, axis=1) == pytest.approx(np.ones(30))
    assert np.linalg.norm(instance.theta, axis=2) == pytest.approx(np.ones((30, 4)))
    means = environment.means(instance, context)
    for row in range(30):
        for arm in range(4):
            assert means[row, arm] == pytest.approx(context[row] @ instance.theta[row, arm])
