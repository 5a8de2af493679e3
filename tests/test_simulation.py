"""What a simulation reckons with before it plays."""

from __future__ import annotations

import attrs
from corral_linucb.bases.linucb import LinUcb
from corral_linucb.environments.nested import NestedDimension

from corral_core.options import PRESETS
from corral_core.simulation import Curve, bytes_per_row


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
