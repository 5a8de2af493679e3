"""Bounds claimed only where they hold: the scale of UCB, rewards in [low, high], contexts that do not change."""

from __future__ import annotations

import attrs
import pytest
from corral_mab import BernoulliArms, EpsilonGreedy, Exp3, Exp3Ix, GaussianArms, Ucb, Ucb1, UniformPlay

from corral_core import Base, Environment, Problem, try_out

HORIZON = 3000


def problem(environment: Environment, delta: float) -> Problem:
    return attrs.evolve(environment.problem, horizon=HORIZON, delta=delta)


@pytest.mark.parametrize("cls", [Ucb, Ucb1])
def test_a_wide_ucb_keeps_a_bound_that_grows_with_its_scale(cls: type[Ucb]) -> None:
    """At scale 100 it plays almost uniformly and loses far more than the bound of scale 1, in all of 50 rows."""
    arms, delta = GaussianArms(means=(0.05, 0.95), noise=0.1), 1 / HORIZON
    regret = try_out(arms, cls(scale=100.0), horizon=HORIZON, rows=50).regret[:, -1]
    narrow, wide = (cls(scale=scale).resolve(problem(arms, delta)).bound(delta) for scale in (1.0, 100.0))
    assert narrow is not None and wide is not None
    assert regret.min() > 1.5 * float(narrow(HORIZON))
    assert regret.max() < float(wide(HORIZON))
    span = 6 * 1.0  # 3 K (high - low) does not grow
    assert float(wide(HORIZON)) - span == pytest.approx(100 * (float(narrow(HORIZON)) - span))
    assert wide.shape[0].c == pytest.approx(100 * narrow.shape[0].c)


@pytest.mark.parametrize("cls", [Ucb, Ucb1])
def test_a_narrow_ucb_claims_nothing(cls: type[Ucb]) -> None:
    assert cls(scale=0.99).resolve(problem(BernoulliArms(), 0.01)).bound(0.01) is None
    assert cls(scale=1.0).resolve(problem(BernoulliArms(), 0.01)).bound(0.01) is not None


@pytest.mark.parametrize("base", [Exp3(), Exp3Ix(), EpsilonGreedy()], ids=lambda base: base.name)
def test_nothing_is_claimed_where_rewards_may_leave_the_range(base: Base) -> None:
    def claims(mine: Base, environment: Environment) -> bool:
        return mine.resolve(problem(environment, 0.1)).bound(0.1) is not None

    narrow = BernoulliArms(low=0.3, high=0.7)  # pays 0 or 1
    assert claims(base, BernoulliArms())
    assert not claims(base, narrow)
    assert claims(attrs.evolve(base, low=0.0, high=1.0), narrow)
    assert not claims(base, GaussianArms())
    assert claims(attrs.evolve(base, bounded=True), GaussianArms())
    assert not claims(attrs.evolve(base, bounded=False), BernoulliArms())


@pytest.mark.parametrize("base", [Exp3(), Exp3Ix(), EpsilonGreedy()], ids=lambda base: base.name)
def test_noise_that_leaves_the_range_breaks_what_used_to_be_claimed(base: Base) -> None:
    """Gaussian noise of ten times the range: more than a fifth of 200 rows exceed what should fail in a tenth.

    If a tenth did, more than 40 rows would with probability 1e-5. The true shares are near .285 or above; at .285 some
    other seed would give 40 rows or fewer, and fail this test, with probability .004.
    """
    arms = GaussianArms(means=(0.0, 1.0), noise=10.0)
    bound = attrs.evolve(base, bounded=True).resolve(problem(arms, 0.1)).bound(0.1)
    assert bound is not None
    regret = try_out(arms, base, horizon=HORIZON, rows=200, seed=3).regret[:, -1]
    assert (regret > float(bound(HORIZON))).mean() > 0.2


@pytest.mark.parametrize("base", [Ucb(), Ucb1(), Exp3(), Exp3Ix(), EpsilonGreedy()], ids=lambda base: base.name)
def test_nothing_is_claimed_where_contexts_change(base: Base) -> None:
    still = problem(BernoulliArms(), 0.01)
    assert base.resolve(still).bound(0.01) is not None
    assert base.resolve(attrs.evolve(still, changing=True, dimension=2)).bound(0.01) is None
    anything = UniformPlay().resolve(attrs.evolve(still, changing=True, dimension=2)).bound(0.01)
    assert anything is not None and anything(7) == 7  # the range per play, whatever changes
