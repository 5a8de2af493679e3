"""The environments: closed forms and brute force."""

from __future__ import annotations

from itertools import pairwise

import attrs
import numpy as np
import pytest
from corral_linucb.environments.contextual import ContextualBandit
from corral_linucb.environments.directions import blocks, in_blocks
from corral_linucb.environments.fixed import IndependentArms, LinearArms, MisspecifiedArms
from corral_linucb.environments.infinite import InfiniteNested
from corral_linucb.environments.nested import FosterNested, MisspecifiedContexts, NestedDimension
from corral_linucb.environments.quadratic import Quadratic
from corral_linucb.environments.shared_context import SharedContext

from corral_core.environments import chosen
from corral_core.errors import CorralError
from corral_core.parsing import build
from corral_core.protocols import Environment
from corral_core.rows import Array

FIXED = [LinearArms(), IndependentArms(), MisspecifiedArms(), Quadratic()]
FRESH = [
    NestedDimension(),
    NestedDimension(misspecification=0.2),
    MisspecifiedContexts(),
    FosterNested(dimension=200),
    Quadratic(contexts="fresh"),
    SharedContext(),
]
MASKED = [attrs.evolve(environment, available=0.3) for environment in FRESH]
FINITE = [*FIXED, *FRESH, *MASKED]
INFINITE = [InfiniteNested(), InfiniteNested(set="ellipsoid")]


def label(environment: Environment) -> str:
    """Its name, and what is not as by default."""
    plain, mine = attrs.asdict(type(environment)()), attrs.asdict(environment)
    return "-".join([environment.name, *(f"{name}={mine[name]}" for name in mine if mine[name] != plain[name])])


def true_means(environment: Environment, instance, observation) -> Array:
    """(rows, arms), for any environment with finite arms."""
    return instance.mean if observation.features is None else environment.means(instance, observation.features)


def some_arm(environment: Environment, observation, rows: int, rng: np.random.Generator) -> Array:
    """An arm that is there, in every row."""
    keys = rng.random((rows, environment.arms))
    return (keys if observation.mask is None else np.where(observation.mask, keys, -1)).argmax(axis=1)


# --- All of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", FINITE, ids=label)
@pytest.mark.parametrize("rows", [1, 7])
def test_shapes_are_those_of_the_problem(environment: Environment, rows: int) -> None:
    """A row alone gives what it gives among others."""
    rng, problem = np.random.default_rng(1), environment.problem
    instance = environment.draw(rows, rng)
    features = (rows, problem.dimension) if problem.shared else (rows, problem.arms, problem.dimension)
    shown = environment.shown(instance)
    assert len(instance) == rows
    play = environment.play(instance, lambda seen: some_arm(environment, seen, rows, rng), rng)
    if problem.changing:
        assert not shown
        assert play.observation.features.shape == features
    else:
        assert shown["features"].shape == features
        assert play.observation.features is None
    if problem.masked:
        assert play.observation.mask.shape == (rows, problem.arms)
    else:
        assert play.observation.mask is None
    assert play.reward.shape == play.regret.shape == (rows,)
    assert play.reward.dtype == play.regret.dtype == np.float64


@pytest.mark.parametrize("environment", FINITE, ids=label)
def test_regret_is_against_the_best_arm_that_is_there(environment: Environment) -> None:
    """Brute force over the arms of 300 rows, at three plays."""
    rng, rows = np.random.default_rng(2), 300
    instance = environment.draw(rows, rng)
    low, high = environment.problem.range
    for _ in range(3):
        observation = environment.observe(instance, rng)
        means = true_means(environment, instance, observation)
        assert ((means >= low - 1e-12) & (means <= high + 1e-12)).all()
        there = [range(environment.arms)] * rows
        if observation.mask is not None:
            there = [np.flatnonzero(mask) for mask in observation.mask]
        best = np.array([max(arms, key=mean.__getitem__) for mean, arms in zip(means, there, strict=True)])
        assert (environment.pay(instance, observation, best, rng)[1] == 0).all()
        action = some_arm(environment, observation, rows, rng)
        regret = environment.pay(instance, observation, action, rng)[1]
        expected = [mean[arm] - mean[other] for mean, arm, other in zip(means, best, action, strict=True)]
        assert regret == pytest.approx(np.array(expected))
        assert (regret >= 0).all()
        assert regret.max() > 0


@pytest.mark.parametrize("environment", FINITE, ids=label)
def test_rewards_are_the_means_plus_the_noise_that_is_said(environment: Environment) -> None:
    """20,000 rewards: mean within 4.5 standard errors, variance within 4.5 of its own; fails by chance in 2e-5."""
    rng, rows = np.random.default_rng(3), 2000
    instance = environment.draw(rows, rng)
    noise = []
    for _ in range(10):
        observation = environment.observe(instance, rng)
        action = some_arm(environment, observation, rows, rng)
        mean = chosen(true_means(environment, instance, observation), action)
        noise.append(environment.pay(instance, observation, action, rng)[0] - mean)
    scaled = np.concatenate(noise) / environment.problem.noise
    assert abs(scaled.mean()) < 4.5 / np.sqrt(scaled.size)
    assert abs(scaled.var() - 1) < 4.5 * np.sqrt(2 / scaled.size)


class Streams:
    """A stand-in for a generator, with one stream a row."""

    def __init__(self, seeds: list[int]) -> None:
        self.streams = [np.random.default_rng(seed) for seed in seeds]

    def random(self, shape) -> Array:
        _, *rest = np.atleast_1d(shape)
        return np.stack([stream.random(tuple(rest)) for stream in self.streams])

    def standard_normal(self, shape) -> Array:
        _, *rest = np.atleast_1d(shape)
        return np.stack([stream.standard_normal(tuple(rest)) for stream in self.streams])


@pytest.mark.parametrize("environment", [*FINITE, *INFINITE], ids=label)
def test_rows_do_not_touch_each_other(environment: Environment) -> None:
    """The third of five rows, and the same row alone."""
    plays = []
    for seeds in ([1, 2, 3, 4, 5], [3]):
        rng = Streams(seeds)
        instance = environment.draw(len(seeds), rng)
        finite = environment.problem.actions == "finite"
        action = np.zeros(len(seeds), dtype=int) if finite else 0.3 * instance.theta
        for _ in range(3):
            play = environment.play(instance, lambda _, action=action: action, rng)
        plays.append(play)
    among, alone = plays[0].take(np.array([2])).to_arrays(), plays[1].to_arrays()
    assert among.keys() == alone.keys()
    for name in among:
        assert among[name] == pytest.approx(alone[name], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("environment", [*FINITE, *INFINITE], ids=label)
def test_what_is_drawn_does_not_depend_on_the_action(environment: Environment) -> None:
    """Curves are paired: whatever is played, the next play is the same."""
    seen = []
    for arm in (0, 1):
        rng = np.random.default_rng(4)
        instance = environment.draw(5, rng)
        observation = environment.observe(instance, rng)
        action = np.full(5, arm) if environment.problem.actions == "finite" else 0.1 * arm * instance.theta
        environment.pay(instance, observation, action, rng)
        seen.append(rng.random())
    assert seen[0] == seen[1]


@pytest.mark.parametrize("environment", [*FINITE, *INFINITE], ids=label)
def test_it_can_be_built_from_a_file(environment: Environment) -> None:
    values = attrs.asdict(environment)
    assert build(type(environment), values, "environment") == environment
    with pytest.raises(CorralError, match="noise"):
        build(type(environment), values | {"noise": 0.0}, "environment")
    with pytest.raises(CorralError, match="dimension"):
        build(type(environment), values | {"dimension": 0}, "environment")


# --- Fixed arms -------------------------------------------------------------------------------------------------------


def test_linear_arms_are_linear() -> None:
    """Least squares finds a theta in the unit cube that explains all 50 means of every row."""
    environment = LinearArms(dimension=3)
    instance = environment.draw(40, np.random.default_rng(5))
    assert environment.problem.range == (0, 3)
    assert ((instance.features >= 0) & (instance.features <= 1)).all()
    for features, mean in zip(instance.features, instance.mean, strict=True):
        theta, residual, _, _ = np.linalg.lstsq(features, mean)
        assert residual[0] < 1e-20
        assert ((theta > -1e-9) & (theta < 1 + 1e-9)).all()


def test_features_of_independent_arms_say_nothing() -> None:
    """The same features as linear-arms from the same seed, and no correlation with means that are U[0, 10].

    The correlation of 100,000 pairs, and the mean, within 4.5 standard errors: fails by chance in 2e-5.
    """
    environment = IndependentArms()
    instance = environment.draw(2000, np.random.default_rng(6))
    assert environment.problem.range == (0, 10)
    assert (instance.features == LinearArms().draw(2000, np.random.default_rng(6)).features).all()
    mean = instance.mean.ravel()
    assert abs(np.corrcoef(instance.features[:, :, 0].ravel(), mean)[0, 1]) < 4.5 / np.sqrt(mean.size)
    assert abs(mean.mean() - 5) < 4.5 * 10 / np.sqrt(12 * mean.size)
    assert mean.min() < 0.1
    assert mean.max() > 9.9
    with pytest.raises(CorralError, match="low must be less than high"):
        IndependentArms(low=2.0, high=1.0)


def linear_part(environment: MisspecifiedArms, rows: int, seed: int) -> tuple[Array, Array]:
    """What the arms would pay without deviation, and (mean - (1 - eps) linear)/eps: h."""
    linear = attrs.evolve(environment, misspecification=0.0).draw(rows, np.random.default_rng(seed)).mean
    mean = environment.draw(rows, np.random.default_rng(seed)).mean
    return linear, (mean - (1 - environment.misspecification) * linear) / environment.misspecification


@pytest.mark.parametrize("deviation", ["uniform", "rademacher", "adversarial"])
def test_misspecified_arms_deviate_by_at_most_eps(deviation) -> None:
    """Linear without deviation, h as named; its mean over 50,000 arms within 4.5 standard errors: 1e-5."""
    environment = MisspecifiedArms(misspecification=0.3, deviation=deviation)
    instance = attrs.evolve(environment, misspecification=0.0).draw(20, np.random.default_rng(7))
    assert np.linalg.norm(instance.features, axis=2) == pytest.approx(np.ones((20, 50)))
    for features, mean in zip(instance.features, instance.mean, strict=True):
        theta, residual, _, _ = np.linalg.lstsq(features, mean)
        assert residual[0] < 1e-20
        assert np.linalg.norm(theta) == pytest.approx(1)
    _, h = linear_part(environment, 1000, 7)
    assert (abs(h) < 1 + 1e-12).all()
    if deviation == "uniform":
        assert abs(h.mean()) < 4.5 / np.sqrt(3 * h.size)
        assert h.std() == pytest.approx(1 / np.sqrt(3), rel=0.02)
    else:
        assert abs(h) == pytest.approx(np.ones(h.shape))
    if deviation == "rademacher":
        assert abs(h.mean()) < 4.5 / np.sqrt(h.size)


@pytest.mark.parametrize("arms", [1, 2, 7, 50])
def test_the_adversary_hurts_the_linear_optimum(arms: int) -> None:
    """It gets -1, half of the arms +1, and with eps = .5 it is the best arm in few rows.

    The other arms are raised alike: how often, within 5 standard errors of all 7 arms at once (1e-5).
    """
    environment = MisspecifiedArms(arms=arms, misspecification=0.5, deviation="adversarial")
    linear, h = linear_part(environment, 4000, 8)
    optimum = linear.argmax(axis=1)
    assert chosen(h, optimum) == pytest.approx(-np.ones(4000))
    assert ((h > 0).sum(axis=1) == arms // 2).all()
    if arms == 7:
        often = (h > 0).mean(axis=0)  # an arm is not the optimum in 6 rows of 7, and then raised in 3 of 6
        assert abs(often - 3 / 7).max() < 5 * np.sqrt(3 / 7 * 4 / 7 / 4000)
    if arms == 50:
        mean = environment.draw(4000, np.random.default_rng(8)).mean
        assert (mean.argmax(axis=1) == optimum).mean() < 0.01
        assert (mean.max(axis=1) - chosen(mean, optimum)).mean() > 0.5


# --- Contexts ---------------------------------------------------------------------------------------------------------


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
    assert Quadratic(contexts="fresh", available=0.5).problem.masked
    with pytest.raises(CorralError, match="fixed arms are always there"):
        Quadratic(available=0.5)
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


@pytest.mark.parametrize("environment", [NestedDimension(misspecification=0.25), MisspecifiedContexts()], ids=label)
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
    for make in (LinearArms, SharedContext, Quadratic, FosterNested):
        with pytest.raises(ValueError, match="arms"):
            make(arms=0)
    for make, name in ((MisspecifiedArms, "deviation"), (InfiniteNested, "set"), (Quadratic, "contexts")):
        with pytest.raises(ValueError, match=name):
            make(**{name: "other"})


# --- Quadratic and shared ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contexts", ["fixed", "fresh"])
def test_quadratic_means_are_linear_in_the_products(contexts) -> None:
    """They fit svec(z z^T) exactly, and sum over an orthonormal basis to ||theta||^2 = 1."""
    environment, rng = Quadratic(contexts=contexts, dimension=3), np.random.default_rng(16)
    instance = environment.draw(10, rng)
    observation = environment.observe(instance, rng)
    means = true_means(environment, instance, observation)
    features = environment.shown(instance)["features"] if contexts == "fixed" else observation.features
    assert np.linalg.norm(features, axis=2) == pytest.approx(np.ones((10, 50)))
    for row in range(10):
        products = np.einsum("ki,kj->kij", features[row], features[row]).reshape(50, 9)
        weights, _, _, _ = np.linalg.lstsq(products, means[row])
        assert products @ weights == pytest.approx(means[row])
        assert np.trace(weights.reshape(3, 3)) == pytest.approx(1)
        assert np.linalg.matrix_rank(weights.reshape(3, 3), tol=1e-9) == 1
    assert environment.problem.changing == (contexts == "fresh")


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


# --- Infinite sets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", INFINITE, ids=label)
def test_the_best_action_of_an_infinite_set(environment: InfiniteNested) -> None:
    """x = M M theta/||M theta|| attains ||M theta||; 5,000 random actions on the boundary stay below it."""
    environment, rng = attrs.evolve(environment, dimension=4, relevant=2), np.random.default_rng(18)
    instance = environment.draw(6, rng)
    observation = environment.observe(instance, rng)
    axes = np.ones((6, 4)) if observation.features is None else observation.features
    scaled = axes * instance.theta
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    best = axes * scaled / length
    assert environment.pay(instance, observation, best, rng)[1] == pytest.approx(np.zeros(6), abs=1e-12)
    assert environment.pay(instance, observation, -best, rng)[1] == pytest.approx(2 * length[:, 0])
    least = np.full(6, np.inf)
    for _ in range(5000):
        direction = rng.standard_normal((6, 4))
        action = axes * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        regret = environment.pay(instance, observation, action, rng)[1]
        assert regret == pytest.approx(length[:, 0] - (action * instance.theta).sum(axis=1))
        least = np.minimum(least, regret)
    assert (least > 0).all()
    assert least.max() < 0.05


@pytest.mark.parametrize("rows", [1, 5])
def test_what_infinite_sets_show(rows: int) -> None:
    rng = np.random.default_rng(19)
    for environment in INFINITE:
        instance, problem = environment.draw(rows, rng), environment.problem
        play = environment.play(instance, lambda seen, theta=instance.theta: 0.4 * theta, rng)
        assert problem.actions == environment.set
        assert problem.changing == (environment.set == "ellipsoid")
        assert (problem.arms, problem.dimension, problem.range) == (None, 64, (-1, 1))
        assert play.reward.shape == play.regret.shape == (rows,)
    axes = [environment.observe(instance, rng).features for _ in range(2)]
    assert axes[0].shape == (rows, 64)
    assert ((axes[0] >= 0.5) & (axes[0] <= 1)).all()
    assert (axes[0] != axes[1]).all()
    assert INFINITE[0].observe(instance, rng).features is None


@pytest.mark.parametrize("environment", INFINITE, ids=label)
def test_rewards_of_infinite_sets(environment: InfiniteNested) -> None:
    """20,000 rewards of one action a row: mean and variance within 4.5 standard errors, 2e-5."""
    rng = np.random.default_rng(20)
    instance = environment.draw(20_000, rng)
    observation = environment.observe(instance, rng)
    scaled = (environment.pay(instance, observation, 0.4 * instance.theta, rng)[0] - 0.4) / environment.noise
    assert abs(scaled.mean()) < 4.5 / np.sqrt(20_000)
    assert abs(scaled.var() - 1) < 4.5 * np.sqrt(2 / 20_000)


@pytest.mark.parametrize("environment", INFINITE, ids=label)
def test_actions_outside_the_set_are_named(environment: InfiniteNested) -> None:
    rng = np.random.default_rng(21)
    instance = environment.draw(3, rng)
    observation = environment.observe(instance, rng)
    axes = np.ones((3, 64)) if observation.features is None else observation.features
    edge = np.zeros((3, 64))
    edge[:, 1] = axes[:, 1]
    environment.pay(instance, observation, edge * (1 + 1e-10), rng)
    for wrong, message in [
        (edge * np.array([[1.0], [1 + 1e-6], [1.0]]), r"row 1 .*norm 1 at most.*, not 1\.000001"),
        (edge * 1e200, "row 0 .*norm 1 at most"),
        (edge + np.array([[0.0], [0.0], [np.nan]]), "row 2 .*not nan"),
    ]:
        with pytest.raises(CorralError, match=message):
            environment.pay(instance, observation, wrong, rng)
