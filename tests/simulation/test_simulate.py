"""What a simulation reckons with before it plays.

Also tests `simulation/curve.py` and `simulation/record.py`.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from corral_heavytail import Tofu
from corral_linucb import LinUcb, NestedDimension
from corral_mab import BernoulliArms, Ucb

from corral_core.errors import CorralError
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import Meta
from corral_core.selection.options import PRESETS
from corral_core.simulation.curve import Curve
from corral_core.simulation.memory import bytes_per_row
from corral_core.simulation.record import TYPES, Record, Recorder, record_bytes, shapes
from corral_core.simulation.simulate import try_out


def test_memory_follows_the_policies_that_a_base_leaves() -> None:
    """64 features, 8.6 kB a policy: ten thousand smoothed rounds of them, or the few that rare switching leaves."""
    environment = NestedDimension()
    problem = attrs.evolve(environment.problem, delta=0.1)

    def needed(switching: float, preset: str) -> int:
        base = LinUcb(switching=switching).resolve(problem)
        return bytes_per_row(environment, [Curve("alone", (base,), ("linucb",), None, PRESETS[preset])], 20_000)

    policy = 4 * (64 + 64 * 65 // 2 + 1)
    always, rarely, never = needed(0.0, "paper"), needed(0.5, "paper"), needed(0.0, "practice")
    assert always - never == int(1.5 * policy * 10_000)
    assert rarely < always / 8


def test_memory_follows_what_a_base_keeps() -> None:
    """64 features and a payoff a play, each 8 bytes, in pages that are three quarters full.

    Several bases share the plays, unless all learn from each of them.
    """
    environment = NestedDimension()
    problem = attrs.evolve(environment.problem, delta=0.1, horizon=20_000)

    def needed(horizon: int, meta: Meta | None = None, bases: int = 1) -> int:
        kin = tuple(Tofu(moment=1.0 + number).resolve(problem) for number in range(bases))
        labels = tuple(str(base.moment) for base in kin)
        return bytes_per_row(environment, [Curve("tofu", kin, labels, meta, PRESETS["practice"])], horizon)

    a_play = 1.5 * 8 * 65
    assert needed(20_000) - needed(10_000) == a_play * 10_000
    assert needed(20_000, Uniform(), 3) - needed(10_000, Uniform(), 3) == a_play * 10_000
    assert needed(20_000, OriginalCorral(), 3) - needed(10_000, OriginalCorral(), 3) == 3 * a_play * 10_000


def test_bases_that_share_the_rounds_can_leave_more_policies_than_one_that_has_all() -> None:
    """Rare switching is logarithmic in the plays: eight bases that share them leave nearly eight times as many."""
    environment = NestedDimension(dimension=16, relevant=4)
    problem = attrs.evolve(environment.problem, delta=0.1)

    def needed(bases: int, preset: str) -> int:
        kin = tuple(LinUcb(switching=0.5, scale=1 + number).resolve(problem) for number in range(bases))
        labels = tuple(str(base.scale) for base in kin)
        return bytes_per_row(environment, [Curve("uniform", kin, labels, Uniform(), PRESETS[preset])], 20_000)

    one, eight = (needed(bases, "paper") - needed(bases, "practice") for bases in (1, 8))
    assert 4 * one < eight < 8 * one


def test_every_array_of_a_record_has_its_type_and_size() -> None:
    """A chunk that is read is checked against them."""
    assert tuple(TYPES) == tuple(Record.names)
    curve = Curve("ucb", (LinUcb(),), ("linucb",), None, PRESETS["practice"])
    record = Recorder(curve, rows=3, horizon=500).record
    assert {name: (value.shape, value.dtype) for name, value in record.to_arrays().items()} == {
        name: (shape, np.dtype(TYPES[name])) for name, shape in shapes(3, 500, 1).items()
    }
    assert record.nbytes == record_bytes(3, 500, 1)


@pytest.mark.parametrize("method", ["init", "policy"])
def test_a_base_that_raises_at_once_is_left_to_its_own_curve(method: str) -> None:
    """The estimate of memory calls it in the command, where an exception would end the other curves, too."""

    def fails(self, *_):
        raise ZeroDivisionError("a bug of the author's")

    broken = attrs.frozen(type("Broken", (Ucb,), {method: fails, "name": "broken"}))()
    world = BernoulliArms(arms=3)
    problem = attrs.evolve(world.problem, horizon=100, delta=0.01)
    bases = [base.resolve(problem) for base in (broken, Ucb())]
    curves = [Curve(base.name, (base,), (base.name,), None, PRESETS["paper"]) for base in bases]
    assert bytes_per_row(world, curves, 100) == bytes_per_row(world, curves[1:], 100)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"horizon": None}, "try_out: horizon must be a whole number, not None"),
        ({"horizon": 0}, "try_out: horizon must be at least 1, not 0"),
        ({"horizon": 10, "rows": 2.5}, "try_out: rows must be a whole number, not 2.5"),
    ],
)
def test_wrong_sizes_are_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CorralError) as refused:
        try_out(BernoulliArms(means=(0.5, 0.6)), Ucb(), **changes)
    assert str(refused.value) == sentence
