"""Shares of plays over time, of metas that draw nothing."""

from __future__ import annotations

import numpy as np
from corral_report.figures.bases import pooled


def test_shares_of_a_round_robin_are_even() -> None:
    """Three bases in turn, two or three plays per checkpoint: there shares jump, over 60 plays they do not."""
    plays = np.unique(np.linspace(0, 600, 241)[1:].astype(int))
    turns = np.arange(600)[:, None] % 3 == np.arange(3)
    lengths = np.diff(plays, prepend=0)[:, None]
    shares = np.diff(np.cumsum(turns, axis=0)[plays - 1], axis=0, prepend=0) / lengths
    assert shares.min() == 0
    found = pooled(shares, plays, 60)
    assert np.abs(found - 1 / 3).max() < 0.02
    np.testing.assert_allclose((found * lengths).sum(axis=0), 200)


def test_few_plays_are_one_group() -> None:
    shares, plays = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([1, 2, 4])
    np.testing.assert_allclose(pooled(shares, plays, 40), [[0.25, 0.75]] * 3)


def test_long_intervals_stay_as_they_are() -> None:
    shares, plays = np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([1000, 2000])
    np.testing.assert_allclose(pooled(shares, plays, 40), shares)
