"""Wrapped policies are saved as plain values."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corral_adapters import MabWiser, River
from corral_adapters.objects import filled, known

from corral_core import CorralError, Problem, Selection
from corral_core.checks import cases_of
from corral_core.checks.saving import states_survive_saving

POLICIES = [
    MabWiser("LinUCB", {"alpha": 0.5, "scale": True}),
    MabWiser("LinGreedy"),
    MabWiser("Popularity"),
    MabWiser("Softmax"),
    MabWiser("Random"),
    River("UCB", {"delta": 1.0}),
    River("BayesUCB"),
    River("RandomPolicy"),
    River("ThompsonSampling", {"reward_obj": "Beta"}),
]  # besides the examples, which the conformance checks save


@pytest.mark.parametrize("base", POLICIES, ids=lambda base: f"{base.name}-{base.algorithm}")
def test_a_saved_policy_goes_on_with_the_same_bits(base: Any) -> None:
    states_survive_saving(cases_of(base)[0])


def test_a_policy_that_hides_its_statistics_is_refused_by_name(tmp_path: Path) -> None:
    base = River("EpsilonGreedy", {"epsilon": 0.2, "reward_obj": "EWMean"})
    problem = Problem("shop", arms=3, low=0.0, high=1.0)
    selection = Selection([base.resolve(problem)], None, problem, rng=1)
    with pytest.raises(CorralError, match="river: EpsilonGreedy cannot be saved: it holds a RsEWMean"):
        selection.save(tmp_path / "shop.npz")
    assert list(tmp_path.iterdir()) == []


class Thing:
    def __init__(self) -> None:
        self.model = np.zeros((2, 2), order="F")
        self.arms: Any = defaultdict(Part)
        self.square = abs


class Part:
    def __init__(self) -> None:
        self.total = 0.0


def test_objects_are_filled_in_place_with_their_layout() -> None:
    thing, fresh = Thing(), Thing()
    thing.model[0, 1] = 3.0
    thing.arms["b"].total, thing.arms["a"].total = 2.0, np.float32(1.5)
    parts = fresh.arms
    filled(fresh, known(thing, "it"))
    assert fresh.arms is parts and list(parts) == ["b", "a"]
    assert (parts["b"].total, parts["a"].total) == (2.0, 1.5) and isinstance(parts["a"].total, np.float32)
    assert fresh.model.tolist() == [[0.0, 3.0], [0.0, 0.0]] and fresh.model.flags.f_contiguous
    assert fresh.square is abs and isinstance(parts["new"], Part)
    thing.model[0, 1] = 4.0
    assert fresh.model[0, 1] == 3.0
