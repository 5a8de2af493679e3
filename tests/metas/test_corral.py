"""CORRAL against a plain twin, and against what its source says of it."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from corral_core.bounds import Bound, Term
from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.protocols.meta import MetaProblem
from corral_core.rows import Array


class Twin:
    """CORRAL-Update for one row, as Agarwal et al. print it: lists, loops, and bisection in lambda."""

    def __init__(self, bases: int, horizon: int, eta: float, mixing: str) -> None:
        self.p = [1 / bases] * bases
        self.pbar = [1 / bases] * bases
        self.eta = [eta] * bases
        self.rho = [2.0 * bases] * bases
        self.gamma = 1 / horizon
        self.beta = math.exp(1 / math.log(horizon))
        self.mixing = mixing

    def update(self, chosen: int, loss: float) -> list[bool]:
        """One round; says which thresholds were halved."""
        bases = len(self.p)
        weighted = [loss / self.pbar[chosen] if base == chosen else 0.0 for base in range(bases)]
        self.p = self.mirror_step(weighted)
        self.pbar = [(1 - self.gamma) * p + self.gamma / bases for p in self.p]
        if self.mixing == "overwrite":
            self.p = list(self.pbar)
        raised = []
        for base in range(bases):
            raised.append(1 / self.pbar[base] > self.rho[base])
            if raised[base]:
                self.rho[base] = 2 / self.pbar[base]
                self.eta[base] *= self.beta
        return raised

    def mirror_step(self, losses: list[float]) -> list[float]:
        def inverses(lam: float) -> list[float]:
            return [1 / p + eta * (cost - lam) for p, eta, cost in zip(self.p, self.eta, losses, strict=True)]

        low, high = min(losses), max(losses)
        for _ in range(100):
            lam = (low + high) / 2
            if min(inverses(lam)) <= 0 or sum(1 / each for each in inverses(lam)) > 1:
                high = lam
            else:
                low = lam
        step = [1 / each for each in inverses(low)]
        return [each / sum(step) for each in step]


def told(bases: int, horizon: int, *terms: Term | None) -> MetaProblem:
    bounds = tuple(term and Bound(lambda s: s, (term,)) for term in terms)
    return MetaProblem(bases=bases, horizon=horizon, delta=0.01, bounds=bounds)


def everyone(bases: int, rows: int) -> Array:
    return np.ones((bases, rows), dtype=bool)


# --- the update ---


@pytest.mark.parametrize("mixing", ["separate", "overwrite"])
@pytest.mark.parametrize(("bases", "loss_factor"), [(2, 1.0), (5, 1.0), (5, 2.0)])
def test_the_twin_agrees(mixing: str, bases: int, loss_factor: float) -> None:
    """300 rounds of gains in [-1/2, 3/2], so that some losses are negative; the twin is told what was drawn."""
    horizon, rows, eta = 300, 3, 0.2
    meta = Corral(eta=eta, mixing=mixing, loss_factor=loss_factor)  # type: ignore[arg-type]
    state = meta.init(rows, told(bases, horizon))
    twins = [Twin(bases, horizon, eta, mixing) for _ in range(rows)]
    rng, active = np.random.default_rng(bases), everyone(bases, rows)
    means, raises = np.linspace(0, 1, bases), 0
    for _ in range(horizon):
        chosen, probability = meta.choose(state, active, rng)
        assert probability is not None
        gain = means[chosen] + rng.uniform(-0.5, 0.5, rows)
        before = state.threshold.copy()
        verdict = meta.update(state, chosen, probability, gain, active)
        restart = np.zeros((bases, rows), dtype=bool) if verdict is None else verdict.restart
        for row, twin in enumerate(twins):
            assert probability[row] == pytest.approx(twin.pbar[chosen[row]], rel=1e-9)
            raised = twin.update(int(chosen[row]), loss_factor * (1 - gain[row]))
            assert restart[:, row].tolist() == raised
            np.testing.assert_allclose(state.p[:, row], twin.p, rtol=1e-9)
            np.testing.assert_allclose(state.sampled[:, row], twin.pbar, rtol=1e-9)
            np.testing.assert_allclose(state.eta[:, row], twin.eta, rtol=1e-12)
            np.testing.assert_allclose(1 / state.threshold[:, row], twin.rho, rtol=1e-9)
        np.testing.assert_array_equal(restart, state.sampled < before)
        np.testing.assert_allclose(state.p.sum(axis=0), 1, atol=1e-14)
        np.testing.assert_allclose(meta.probabilities(state).sum(axis=0), 1, atol=1e-14)
        raises += int(restart.sum())
    assert raises > 0


def test_mixing_decides_what_the_next_step_starts_from() -> None:
    """After one step with gamma = 1/2, `overwrite` has p = pbar, and `separate` the p of the step itself."""
    for mixing in ("separate", "overwrite"):
        meta = Corral(eta=1.0, gamma=0.5, mixing=mixing)  # type: ignore[arg-type]
        state = meta.init(1, told(2, 100))
        # 1/p' = 2 + 2 - lam and 2 - lam with p' summing to one: lam^2 - 4 lam + 2 = 0, so lam = 2 - sqrt 2.
        meta.update(state, np.array([0]), np.array([0.5]), np.array([0.0]), everyone(2, 1))
        step = np.array([1 / (2 + math.sqrt(2)), 1 / math.sqrt(2)])
        mixed = step / 2 + 1 / 4
        np.testing.assert_allclose(state.sampled[:, 0], mixed, rtol=1e-15)
        np.testing.assert_allclose(state.p[:, 0], step if mixing == "separate" else mixed, rtol=1e-15)


def test_rates_grow_at_most_as_the_horizon_allows() -> None:
    """pbar >= gamma/M lets a base fall at most log2 T times below its threshold: eta <= e^(1/ln 2) eta_0 < 4.3 eta_0.

    With so large an eta every base but one falls all the way down.
    """
    bases, rows, horizon, eta = 4, 32, 1024, 100.0
    meta = Corral(eta=eta)
    state, active, rng = meta.init(rows, told(bases, horizon)), everyone(bases, rows), np.random.default_rng(3)
    raises = np.zeros((bases, rows))
    for _ in range(horizon):
        chosen, probability = meta.choose(state, active, rng)
        verdict = meta.update(state, chosen, probability, np.zeros(rows), active)
        raises += 0 if verdict is None else verdict.restart
    assert raises.max() >= 4
    assert raises.max() <= math.log2(horizon) + 1
    assert state.eta.max() <= 4.3 * eta
    np.testing.assert_allclose(state.eta, eta * np.exp(raises / math.log(horizon)), rtol=1e-12)
    assert state.sampled.min() >= 1 / (horizon * bases)


def test_the_better_base_wins() -> None:
    """Gains 1 and 0. Erratum M1: handed rewards for losses, the update would prefer the base that never earns.

    Nothing raises p of the bad base, and each play of it nearly halves it. To keep more than 0.05, it must be drawn
    less than six times in 1000 rounds with probability above 0.05 each: less than 1e-14 in any row.
    """
    rows, horizon = 32, 1000
    meta = Corral(eta=1.0)
    state, active, rng = meta.init(rows, told(2, horizon)), everyone(2, rows), np.random.default_rng(4)
    for _ in range(horizon):
        chosen, probability = meta.choose(state, active, rng)
        meta.update(state, chosen, probability, chosen.astype(float), active)
    assert meta.probabilities(state)[1].min() > 0.95


# --- dropped bases ---


@pytest.mark.parametrize("mixing", ["separate", "overwrite"])
def test_a_dropped_base_has_probability_zero_and_the_others_renormalise(mixing: str) -> None:
    bases, rows = 4, 200
    meta = Corral(eta=0.3, mixing=mixing)  # type: ignore[arg-type]
    state, active, rng = meta.init(rows, told(bases, 500)), everyone(bases, rows), np.random.default_rng(5)
    for _ in range(5):
        chosen, probability = meta.choose(state, active, rng)
        meta.update(state, chosen, probability, rng.random(rows), active)
    before = state.sampled.copy()
    active[2, ::2] = False
    chosen, probability = meta.choose(state, active, rng)
    share = before / (1 - before[2])
    np.testing.assert_allclose(state.sampled[[0, 1, 3], ::2], share[[0, 1, 3], ::2], rtol=1e-14)
    np.testing.assert_allclose(state.sampled[:, 1::2], before[:, 1::2], rtol=1e-14)
    np.testing.assert_allclose(probability, state.sampled[chosen, np.arange(rows)], rtol=1e-14)
    for _ in range(30):
        meta.update(state, chosen, probability, rng.random(rows), active)
        assert (state.p[~active] == 0).all() and (state.sampled[~active] == 0).all()
        np.testing.assert_allclose(state.sampled.sum(axis=0), 1, atol=1e-14)
        assert state.sampled[active].min() >= 1 / (500 * bases)
        chosen, probability = meta.choose(state, active, rng)
        assert active[chosen, np.arange(rows)].all()


def test_a_dropped_base_leaves_the_update_of_the_smaller_problem() -> None:
    """Three bases of which one was dropped at the start play like two, with the rates of three."""
    two, three = Corral(eta=0.3), Corral(eta=0.3)
    small, large = two.init(1, told(2, 200)), three.init(1, told(3, 200))
    small.threshold[:] = 1 / 6
    rng, active = np.random.default_rng(6), np.array([[True], [False], [True]])
    large.p = large.sampled = np.array([[0.5], [0.0], [0.5]])
    for _ in range(200):
        chosen, probability = two.choose(small, everyone(2, 1), rng)
        gain = rng.random(1)
        first = two.update(small, chosen, probability, gain, everyone(2, 1))
        second = three.update(large, 2 * chosen, probability, gain, active)
        np.testing.assert_allclose(large.sampled[[0, 2]], small.sampled, rtol=1e-9)
        assert (first is None) == (second is None)
        if second is not None:
            assert not second.restart[1]
            np.testing.assert_array_equal(second.restart[[0, 2]], first.restart)
    assert small.eta.max() > 0.3


# --- rates ---


@pytest.mark.parametrize(
    ("terms", "eta", "row"),
    [
        # M = 4, T = 10^4. The paper: M^alpha / (c T^alpha), (4/10^4)^(1/2) = 0.02
        ([Term(2.0, 0.5)] * 4, 0.01, "alpha and c known"),
        ([Term(2.0, 0.5)] * 3 + [Term(3.0, 0.5)], 0.02, "alpha known, c unknown"),
        # (4/10^4)^(3/4) = 0.02^(3/2)
        ([Term(1.0, 0.75)] * 3 + [Term(9.0, 0.75)], 0.02**1.5, "alpha known, c unknown"),
        # T^(-1/2)
        ([Term(2.0, 0.5)] * 3 + [Term(2.0, 0.6)], 0.01, "neither alpha nor c known"),
        ([Term(2.0, 0.5)] * 3 + [None], 0.01, "neither alpha nor c known"),
        ([Term(2.0, 0.5)] * 3 + [Term(2.0, 1.0)], 0.01, "neither alpha nor c known"),
    ],
)
def test_auto_takes_the_rate_of_the_papers_table(terms: list[Term | None], eta: float, row: str) -> None:
    problem = told(4, 10_000, *terms)
    assert Corral().rate(problem) == pytest.approx(eta, rel=1e-14)
    np.testing.assert_allclose(Corral().init(2, problem).eta, np.full((4, 2), eta), rtol=1e-14)
    (choice,) = Corral().choices(problem)
    assert f"eta = {eta:.4g}" in choice and f"'{row}'" in choice


@pytest.mark.parametrize(("given", "eta"), [("20/sqrt(T)", 0.2), (" 0.5 / sqrt(T) ", 0.005), (3, 3.0), (0.25, 0.25)])
def test_a_rate_that_is_given_is_used(given: float | str, eta: float) -> None:
    assert Corral(eta=given).rate(told(4, 10_000)) == pytest.approx(eta, rel=1e-14)
    assert Corral(eta=given).choices(told(4, 10_000)) == [f"eta = {eta:.4g} (given)"]


def test_gamma_and_growth() -> None:
    state = Corral().init(1, told(4, 10_000))
    assert state.gamma == 1e-4
    assert state.growth == pytest.approx(math.exp(1 / math.log(10_000)), rel=1e-15)
    state = Corral(gamma=0.1, growth=1.5).init(1, told(4, 10_000))
    assert (state.gamma, state.growth) == (0.1, 1.5)


SENSELESS = ["fast", "20/sqrt(N)", "-1/sqrt(T)", "", -1.0, math.nan, math.inf]
ZERO = [0, "0/sqrt(T)"]  # gamma may be 0


@pytest.mark.parametrize(
    ("parameter", "given"),
    [
        (name, given)
        for name in ("eta", "gamma", "growth")
        for given in (SENSELESS if name == "gamma" else SENSELESS + ZERO)
    ],
)
def test_a_rate_that_makes_no_sense_is_refused(parameter: str, given: float | str) -> None:
    with pytest.raises(CorralError) as refused:
        Corral(**{parameter: given}).init(1, told(4, 10_000))
    sentence = str(refused.value)
    assert sentence.startswith(f"{parameter} must be") and str(given) in sentence and "\n" not in sentence


@pytest.mark.parametrize(
    ("given", "eta"),
    [("M^(2/3) / T^(2/3)", 0.0004 ** (2 / 3)), ("T^(-1/3)", 10_000 ** (-1 / 3)), ("sqrt(M / horizon)", 0.01)],
)
def test_a_rate_may_be_any_formula_of_rounds_bases_and_plays(given: str, eta: float) -> None:
    problem = attrs.evolve(told(4, 10_000), plays=40_000)
    assert Corral(eta=given).rate(problem) == pytest.approx(eta, rel=1e-14)
    assert Corral(gamma=given).init(1, problem).gamma == pytest.approx(eta, rel=1e-14)
    assert Corral(growth=given).init(1, problem).growth == pytest.approx(eta, rel=1e-14)


@pytest.mark.parametrize(
    ("given", "terms", "eta", "said"),
    [
        ({"alpha": 0.75}, [Term(2.0, 0.5)] * 4, 0.02**1.5, "row 'alpha known, c unknown', with alpha = 0.75 as given"),
        ({"alpha": 0.5, "c": 4.0}, [None] * 4, 0.005, "row 'alpha and c known', with alpha = 0.5 and c = 4 as given"),
        (
            {"c": 4.0},
            [Term(2.0, 0.5)] * 4,
            0.005,
            "with c = 4 as given, alpha = 0.5 of the bounds' shape without logarithms and delta",
        ),
        (
            {"alpha": 0.5},
            [Term(2.0, 0.5)] * 4,
            0.01,
            "with alpha = 0.5 as given, c = 2 of the bounds' shape without logarithms and delta",
        ),
        (
            {},
            [Term(2.0, 0.5)] * 4,
            0.01,
            "with alpha = 0.5 and c = 2 of the bounds' shape without logarithms and delta",
        ),
        ({}, [None] * 4, 0.01, "the paper's table, row 'neither alpha nor c known'"),
    ],
)
def test_auto_says_which_alpha_and_c_it_took(given: dict[str, float], terms: Any, eta: float, said: str) -> None:
    problem = told(4, 10_000, *terms)
    assert Corral(**given).rate(problem) == pytest.approx(eta, rel=1e-14)
    (choice,) = Corral(**given).choices(problem)
    assert choice.startswith(f"eta = {eta:.4g} (auto: ") and choice.endswith(f"{said})")


def test_a_c_without_an_alpha_is_refused() -> None:
    with pytest.raises(CorralError, match="corral: c = 2 needs an alpha, and the bases do not agree on one"):
        Corral(c=2.0).init(1, told(4, 100, None, None, None, None))


def test_without_uniform_play_a_base_keeps_what_mirror_descent_leaves_it() -> None:
    """gamma = 0: the sampling distribution is p itself, positive and summing to one over 2,000 lost rounds."""
    meta = Corral(eta=1.0, gamma=0)
    state, active, rng = meta.init(8, told(3, 2000)), np.ones((3, 8), dtype=bool), np.random.default_rng(1)
    for _ in range(2000):
        chosen, probability = meta.choose(state, active, rng)
        meta.update(state, chosen, probability, (chosen == 2).astype(float), active)
        assert (state.sampled == state.p).all() and (state.sampled > 0).all()
    np.testing.assert_allclose(state.sampled.sum(axis=0), 1, atol=1e-12)
    mixed = Corral(eta=1.0, gamma="3 * 0.001")
    assert mixed.init(8, told(3, 2000)).gamma == 0.003


def test_gamma_is_a_share_and_the_loss_keeps_its_sign() -> None:
    with pytest.raises(CorralError, match="gamma is a share of all plays and must be at most 1, not"):
        Corral(gamma=1.5).init(1, told(4, 10_000))
    with pytest.raises(ValueError, match="loss_factor"):
        Corral(loss_factor=-1.0)
