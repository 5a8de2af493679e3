"""Policies that many bases share: arms drawn uniformly."""

from __future__ import annotations

import numpy as np

from corral_core.bases.policies import available_at, uniform

MASK = np.array([[True, False, True], [False, True, False]])


def test_uniform_probabilities() -> None:
    assert uniform(1, 4, None).tolist() == [[0.25] * 4]
    assert uniform(2, 3, MASK).tolist() == [[0.5, 0, 0.5], [0, 1, 0]]


def test_an_arm_at_a_share_of_the_available_ones() -> None:
    """Evenly spread shares give every available arm equally often."""
    shares = (np.arange(600) + 0.5) / 600
    assert np.bincount(available_at(shares, 4, None)).tolist() == [150] * 4
    assert np.bincount(available_at(shares, 3, MASK[[0] * 600]), minlength=3).tolist() == [300, 0, 300]
    assert (available_at(shares, 3, MASK[[1] * 600]) == 1).all()
