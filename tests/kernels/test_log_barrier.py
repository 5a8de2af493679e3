"""The log-barrier step and the mixture: both twins give the same bits, and rows do not depend on each other."""

from typing import Any

import numpy as np
import pytest

from corral_core.kernels.log_barrier import log_barrier_step, mixture
from corral_core.testing import bits, same_bits

ROWS = (1, 2, 3, 17, 48, 512)


def losses(rng: np.random.Generator, own: Any) -> dict[str, Any]:
    """Losses of the chosen base, whose probability is given."""
    rows = len(own)
    return {
        "usual": rng.random(rows) / own,
        "none": np.zeros(rows),
        "tiny": np.full(rows, 1e-300),
        "huge": np.full(rows, 1e12),
        "of both signs": rng.standard_normal(rows) / own,
        "gains": -rng.random(rows) / own,
    }


KINDS = ("usual", "none", "tiny", "huge", "of both signs", "gains")


def probabilities(rng: np.random.Generator, bases: int, rows: int, extreme: bool) -> Any:
    p = 10.0 ** rng.uniform(-12, 0, (bases, rows)) if extreme else rng.random((bases, rows)) + 0.01
    return p / p.sum(axis=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extreme", [False, True], ids=["usual", "extreme"])
@pytest.mark.parametrize("rows", [*ROWS, 63, 64, 65])
@pytest.mark.parametrize("bases", [1, 2, 3, 4, 5, 18])
def test_same_bits_of_a_step(bases: int, rows: int, extreme: bool, kind: str) -> None:
    rng = np.random.default_rng([bases, rows, extreme])
    p = probabilities(rng, bases, rows, extreme)
    eta = 10.0 ** rng.uniform(-4, 1 if extreme else -1, (bases, rows))
    chosen = rng.integers(0, bases, rows)
    own = p[chosen, np.arange(rows)]
    loss = losses(rng, own)[kind]
    if kind in ("gains", "of both signs"):
        loss = np.maximum(loss, -0.5 / (eta[chosen, np.arange(rows)] * own))
    q, given = same_bits(log_barrier_step, p, eta, chosen, loss, None)
    assert bits(list(given)) == bits([p, eta, chosen, loss, None]), "it changes nothing"
    assert (q > 0).all()
    np.testing.assert_allclose(q.sum(axis=0), 1, rtol=1e-12)
    check_rows_apart(q, p, eta, chosen, loss, None)


def check_rows_apart(q: Any, p: Any, eta: Any, chosen: Any, loss: Any, active: Any) -> None:
    """The same alone, in another order, and among fewer."""
    rows = len(loss)
    for some in ([0], [rows - 1], list(range(rows))[::-1], list(range(0, rows, 3))):
        cut = [np.ascontiguousarray(each[..., some]) for each in (p, eta, chosen, loss)]
        mask = None if active is None else np.ascontiguousarray(active[:, some])
        assert bits(log_barrier_step.arrays(*cut, mask)) == bits(np.ascontiguousarray(q[:, some]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("bases", [2, 3, 5, 18])
@pytest.mark.filterwarnings("error")
def test_same_bits_with_inactive_bases(bases: int, rows: int, kind: str) -> None:
    rng = np.random.default_rng([bases, rows])
    active = rng.random((bases, rows)) < 0.6
    chosen = rng.integers(0, bases, rows)
    active[chosen, np.arange(rows)] = True
    p = np.where(active, probabilities(rng, bases, rows, False), 0.0)
    p /= p.sum(axis=0)
    eta = 10.0 ** rng.uniform(-4, -1, (bases, rows))
    loss = losses(rng, p[chosen, np.arange(rows)])[kind]
    q, _ = same_bits(log_barrier_step, p, eta, chosen, loss, active)
    assert (q[~active] == 0).all() and (q[active] > 0).all()
    np.testing.assert_allclose(q.sum(axis=0), 1, rtol=1e-12)
    check_rows_apart(q, p, eta, chosen, loss, active)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("bases", [1, 2, 4, 5, 18])
def test_same_bits_of_the_mixture(bases: int, rows: int) -> None:
    rng = np.random.default_rng([bases, rows])
    p = probabilities(rng, bases, rows, True)
    for gamma in (0.0, 1e-5, 0.3, 1.0):
        for threshold in (np.zeros_like(p), np.full_like(p, 2.0), rng.random(p.shape) * 0.1):
            (found, below), _ = same_bits(mixture, p, gamma, threshold)
            assert (found == (1 - gamma) * p + gamma / bases).all()
            assert below == (found < threshold).any()
