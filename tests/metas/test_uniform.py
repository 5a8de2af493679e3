"""The control."""

from __future__ import annotations

import mpmath
import numpy as np

from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import MetaProblem


def test_every_base_is_as_likely_whatever_it_earns() -> None:
    """Chi-square over 40 rounds of 2000 rows, 4 degrees of freedom: fails with probability 1e-6 for a right sampler."""
    bases, rows, rounds = 5, 2000, 40
    meta, rng = Uniform(), np.random.default_rng(1)
    state = meta.init(rows, MetaProblem(bases=bases, horizon=rounds, delta=0.01))
    active, counts = np.ones((bases, rows), dtype=bool), np.zeros(bases)
    for _ in range(rounds):
        chosen, probability = meta.choose(state, active, rng)
        np.testing.assert_allclose(probability, 0.2, rtol=1e-15)
        counts += np.bincount(chosen, minlength=bases)
        assert meta.update(state, chosen, probability, (chosen == 0).astype(float), active) is None
        assert (meta.probabilities(state) == 0.2).all()
    expected = rows * rounds / bases
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert mpmath.gammainc(2, statistic / 2, mpmath.inf, regularized=True) > 1e-6


def test_the_bases_that_are_left_share_alike() -> None:
    meta, rng = Uniform(), np.random.default_rng(2)
    state = meta.init(3, MetaProblem(bases=4, horizon=10, delta=0.01))
    active = np.array([[True, True, False], [True, False, False], [True, True, True], [True, True, False]])
    chosen, probability = meta.choose(state, active, rng)
    np.testing.assert_allclose(meta.probabilities(state), active / active.sum(axis=0), rtol=1e-15)
    np.testing.assert_allclose(probability, [1 / 4, 1 / 3, 1], rtol=1e-15)
    assert chosen[2] == 2
