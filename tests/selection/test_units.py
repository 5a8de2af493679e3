"""What a meta sees of a reward: the options units, clip and test_variance."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from corral_mab import Ucb, UniformPlay

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.exp3p import Exp3P
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import MetaProblem, Verdict
from corral_core.protocols.problem import NOTHING
from corral_core.rows import Array
from corral_core.selection.options import Options
from corral_core.selection.setup import meta_problem

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, ROUNDS, selection

WIDE = attrs.evolve(PROBLEM, low=-2.0, high=6.0)


@attrs.frozen
class Listener(Uniform):
    """Remembers the gains."""

    name: ClassVar[str] = "listener"
    clip: ClassVar[tuple[float, float]] = (-1.0, 2.0)
    heard: list[float] = attrs.field(factory=list)

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        self.heard.extend(gain)
        return None


@pytest.mark.parametrize(
    ("given", "heard"),
    [
        # (reward + 2)/8, cut to [-1, 2]
        ({}, [-1.0, 0.25, 1.0, 2.0]),
        ({"clip": (0.0, 0.5)}, [0.0, 0.25, 0.5, 0.5]),
        ({"clip": "none"}, [-1.25, 0.25, 1.0, 3.0]),
        ({"units": "raw"}, [-10.0, 0.0, 6.0, 14.0]),  # cut at the same rewards: -2 - 8 and -2 + 2 * 8
        ({"units": "raw", "clip": "none"}, [-12.0, 0.0, 6.0, 22.0]),
        # U(1) of uniform play is its range, 8, which is also the most that a bias subtracts
        ({"units": "raw", "clip": "none", "bias": 0.5}, [-16.0, -4.0, 2.0, 18.0]),
        ({"clip": "none", "bias": 0.5}, [-1.75, -0.25, 0.5, 2.5]),
    ],
)
def test_what_the_meta_sees(given: dict[str, Any], heard: list[float]) -> None:
    meta = Listener()
    chosen = selection([UniformPlay()], meta, options=Options(player="plain", **given), problem=WIDE)
    chosen.tell(chosen.ask(NOTHING)[1], np.array([-12.0, 0.0, 6.0, 22.0]))
    assert meta.heard == heard


def test_corral_can_learn_from_one_minus_the_reward() -> None:
    """Raw units and no clip: the update is that of CORRAL with the loss 1 - reward, whatever the range."""
    chosen = selection(
        [UniformPlay(), UniformPlay()],
        Corral(eta=0.05),
        rows=1,
        options=Options(player="plain", units="raw", clip="none"),
        problem=WIDE,
    )
    twin = Corral(eta=0.05)
    state, active = twin.init(1, MetaProblem(bases=2, horizon=ROUNDS, delta=0.01)), np.ones((2, 1), dtype=bool)
    luck = np.random.default_rng(3)
    for _ in range(50):
        _, ticket = chosen.ask(NOTHING)
        reward = luck.normal(0.5, 2, 1)
        chosen.tell(ticket, reward)
        twin.update(state, ticket.chosen, ticket.probability, reward, active)
        np.testing.assert_array_equal(chosen.probabilities, state.sampled)


def test_gains_and_bounds_are_told_in_the_same_units() -> None:
    base = UniformPlay().resolve(WIDE)

    def told(**given: Any) -> MetaProblem:
        return meta_problem([base], WIDE, Options(**given), 10)

    assert [each.bounds[0](1) for each in (told(), told(units="raw"))] == [1.0, 8.0]
    assert told(clip=(-1.0, 2.0)).gains == (-1.0, 2.0)
    assert told(clip=(-1.0, 2.0), bias=1.0).gains == (-2.0, 2.0)
    assert told(clip="none").gains == (0.0, 1.0)
    assert told(clip="none", units="raw").gains == told(units="raw").gains == (WIDE.low, WIDE.high)


def test_exp3p_maps_another_clip_to_the_unit_interval() -> None:
    chosen = selection([Ucb()] * 2, Exp3P(p=0.1), rows=1, options=Options(player="plain", clip=(-1.0, 3.0)))
    _, ticket = chosen.ask(NOTHING)
    chosen.tell(ticket, np.array([1.0]))
    gains = chosen.judge.state.gains[:, 0] - 0.05 / 0.5
    assert gains[ticket.chosen[0]] == pytest.approx(0.5 / 0.5)


@pytest.mark.parametrize(
    ("given", "problem", "v"),
    [
        ({}, PROBLEM, 1.5),
        ({}, WIDE, 1 + 2 * (0.5 / 8) ** 2),
        ({"units": "raw"}, WIDE, 64 + 0.5),
        ({"test_variance": 1.0}, WIDE, 1.0),
        ({}, attrs.evolve(PROBLEM, noise=None), 9.0),
        ({"clip": (0.0, 1.0)}, attrs.evolve(PROBLEM, noise=None), 1.0),
        ({"clip": "none", "test_variance": 4.0}, attrs.evolve(PROBLEM, noise=None), 4.0),
    ],
)
def test_the_width_of_the_base_test(given: dict[str, Any], problem: Any, v: float) -> None:
    options = Options(base_test=True, **given)
    chosen = selection([UniformPlay(), UniformPlay()], Corral(), options=options, problem=problem)
    width = 2 * math.sqrt(2 * v * math.log(4 * ROUNDS * 2 / 0.01))
    assert chosen.judge._base_test._width == pytest.approx(width, rel=1e-15)


def test_a_test_without_noise_clip_or_width_is_refused() -> None:
    unknown = attrs.evolve(PROBLEM, noise=None, environment="my-arms")
    with pytest.raises(
        CorralError, match="base_test needs the noise of my-arms, which is unknown: set clip or test_var"
    ):
        selection([UniformPlay()], Corral(), options=Options(base_test=True, clip="none"), problem=unknown)


@pytest.mark.parametrize("clip", [(1.0, 0.0), (0.0,), (0.0, math.inf), (math.nan, 1.0)])
def test_a_clip_that_makes_no_sense_is_refused(clip: Any) -> None:
    with pytest.raises(ValueError, match="clip must be"):
        Options(clip=clip)


@pytest.mark.parametrize("variance", [0, -1.0, math.inf, math.nan])
def test_a_variance_that_makes_no_sense_is_refused(variance: float) -> None:
    with pytest.raises(ValueError, match="test_variance must be a positive number"):
        Options(test_variance=variance)
