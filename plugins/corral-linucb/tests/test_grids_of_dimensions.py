"""LinUCB with other numbers of features: which are kin, and that kin play as they would apart."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_kit.linear.rank_one import MOST
from corral_linucb import LinUcb, MisspecifiedLinUcb, QuadraticLinUcb
from corral_linucb.bases.linucb import ROOMS

from corral_core import Array, Base, Feedback, Problem, parameter
from corral_core.protocols.parameters import kin
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows, group_kin

FIXED = Problem(arms=6, dimension=18, noise=0.4, low=-1, high=1, delta=0.02)


def groups(bases: list[LinUcb], problem: Problem) -> list[list[int]]:
    """The dimensions of kin."""
    fitted = [base.resolve(problem) for base in bases]
    return [[fitted[number].dimension for number in group] for group in group_kin(fitted)]


def test_which_dimensions_are_kin() -> None:
    """With fixed arms those that share room; otherwise a policy would grow with the room."""
    bases = [LinUcb(dimension=d) for d in range(1, 19)]
    shared = [[1, 2, 3, 4], [5, 6], [7, 8], [9, 10, 11, 12], [13, 14, 15, 16], [17, 18]]
    assert groups(bases, FIXED) == shared
    assert groups([LinUcb(), *bases], FIXED)[0] == [18, 17, 18]
    alone = [[d] for d in range(1, 19)]
    assert groups(bases, attrs.evolve(FIXED, changing=True)) == alone
    assert groups(bases, attrs.evolve(FIXED, masked=True)) == alone
    assert groups([QuadraticLinUcb(dimension=d) for d in range(1, 19)], FIXED) == alone


def test_many_features_are_not_padded() -> None:
    assert max(ROOMS) == MOST
    bases = [LinUcb(dimension=d) for d in (25, 32, 33, 40)]
    assert groups(bases, attrs.evolve(FIXED, dimension=64)) == [[25, 32], [33], [40]]


def played(bases: list[Base], features: Array, noise: Array) -> tuple[Array, Array]:
    """Arms (plays, learners) of these bases in one block, and the squared widths of all arms in the end."""
    learners, rng = np.arange(len(features)), np.random.default_rng(4)
    size = bases[0].resolved.dimension
    given = given_rows(bases, {"features": features[: len(features) // len(bases), :, :size]}, 4)
    state, theta, arms = bases[0].init(given, rng), np.cos(np.arange(features.shape[2])), []
    for errors in noise:
        arm = bases[0].act(bases[0].policy(state, learners), NOTHING, rng)
        reward = features[learners, arm] @ theta + errors
        bases[0].learn(state, learners, Feedback(NOTHING, arm, reward), rng)
        arms.append(arm)
    return np.array(arms), state.arms.width


@pytest.mark.parametrize("kind", [LinUcb, MisspecifiedLinUcb])
def test_kin_play_the_same_arms_as_without_room_to_spare(kind: type[LinUcb]) -> None:
    """Dimensions 9 to 12 in one block of four rows each, and each where the problem has no more features.

    300 plays, so that everything is recomputed twice.
    """
    rng = np.random.default_rng(3)
    features, noise = np.tile(rng.standard_normal((4, 6, 18)) / 3, (4, 1, 1)), rng.standard_normal((300, 16))
    block = [kind(dimension=d).resolve(FIXED) for d in (9, 10, 11, 12)]
    arms, width = played(block, features, noise)
    for slot, base in enumerate(block):
        own = slice(4 * slot, 4 * slot + 4)
        exact = kind(dimension=base.dimension).resolve(attrs.evolve(FIXED, dimension=base.dimension))
        assert (base.kinship, exact.kinship) == (12, base.dimension)
        alone, their_width = played([exact], features[own], noise[:, own])
        assert (alone == arms[:, own]).all()
        assert width[own] == pytest.approx(their_width, rel=1e-10)


def test_features_beyond_its_own_change_nothing() -> None:
    """A base with room for six features and five of its own, where the others are small or large."""
    rng = np.random.default_rng(5)
    features = rng.standard_normal((4, 6, 18))
    other = features.copy()
    other[:, :, 5:] *= 100
    base = LinUcb(dimension=5).resolve(FIXED)
    assert base.kinship == 6
    features[:, :, 5:] = 0.0  # so that rewards are the same
    found = []
    for shown in (features, other):
        state = base.init(given_rows([base], {"features": shown}, 4), rng)
        for _ in range(50):
            arm = base.policy(state, np.arange(4)).arm
            reward = features[np.arange(4), arm].sum(axis=1)
            base.learn(state, np.arange(4), Feedback(NOTHING, arm, reward), rng)
        found.append(state.arms)
    assert (found[0].width == found[1].width).all() and (found[0].mean == found[1].mean).all()


def test_another_dimension_of_a_fitted_base_has_its_own_room() -> None:
    base = LinUcb(dimension=5).resolve(FIXED)
    larger = attrs.evolve(base, dimension=7)
    assert (base.kinship, larger.kinship) == (6, 8)
    assert not kin(base, larger) and kin(base, attrs.evolve(base, dimension=6))
    assert LinUcb(1.0, 5).dimension == 5, "knobs of a subclass keep their places"


@attrs.frozen
class Waves(LinUcb):
    """Features that are not zero where those of the arm are."""

    def mapped(self, features: Array) -> Array:
        return np.cos(features)


def test_a_base_that_maps_its_features_has_no_room_to_spare() -> None:
    assert groups([Waves(dimension=d) for d in (3, 4, 5)], FIXED) == [[3], [4], [5]]


@attrs.frozen
class Plain(LinUcb):
    """Reads its penalty from itself, so bases with other penalties are no kin."""

    penalty: float = parameter(5.0, help="lambda, not a knob here")


def test_a_knob_that_is_declared_anew_is_none() -> None:
    fitted = [
        Plain(penalty=penalty, norm=norm).resolve(FIXED) for penalty, norm in ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0))
    ]
    assert [group.tolist() for group in group_kin(fitted)] == [[0, 2], [1]]
