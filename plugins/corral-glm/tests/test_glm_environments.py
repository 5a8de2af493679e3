"""Means, payoffs and regrets of generalised linear environments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from corral_glm import GlmArms, GlmContexts, Link
from corral_glm.links import link_of

from corral_core import CorralError

RELU = Link("ramp", lambda z: np.maximum(z, 0.0), lambda z: (z > 0).astype(float), 1.0, 0.0, math.inf)


@pytest.mark.parametrize("link", ["logistic", "probit", "cloglog", "identity", "half-identity", "square", RELU])
@pytest.mark.parametrize("cls", [GlmContexts, GlmArms])
def test_payoffs_have_the_means(cls: type[GlmContexts | GlmArms], link: str | Link) -> None:
    """Of one row played 10,000 times: five standard errors, 6e-7; the regret is what the best arm has more."""
    environment = cls(link=link, norm=3.0, arms=6)
    rng = np.random.default_rng(1)
    one = environment.draw(1, rng)
    many = one.take(np.zeros(10_000, dtype=np.intp))
    shown = environment.shown(one).get("features")
    play = environment.play(many, lambda seen: np.full(10_000, 2), rng)
    features = play.observation.features if shown is None else np.repeat(shown, 10_000, axis=0)
    if shown is None:
        means = environment.means(many, features)
        found = link_of(link)
        z = features[:, 2] @ one.theta[0]
        assert means[:, 2] == pytest.approx(np.clip(found.mean(z), found.low, found.high))
    else:
        means = many.mean
    low, high = environment.problem.range
    assert (means >= low).all() and (means <= high).all()
    off = play.reward - means[:, 2]
    assert abs(off.mean()) <= 5 * off.std() / 100
    assert play.regret == pytest.approx(means.max(axis=1) - means[:, 2])
    coins = link_of(link).coins
    assert (set(np.unique(play.reward)) <= {0.0, 1.0}) == coins
    assert environment.problem.noise == (0.5 if coins else 0.3)


def test_gaussian_noise_where_it_is_asked_for() -> None:
    environment = GlmContexts(gaussian=True, noise=0.2)
    rng = np.random.default_rng(2)
    play = environment.play(environment.draw(2000, rng), lambda seen: np.zeros(2000, dtype=np.intp), rng)
    assert len(np.unique(play.reward)) == 2000 and environment.problem.noise == 0.2


def test_ranges() -> None:
    assert GlmContexts(norm=2.0).problem.range == pytest.approx((1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2))))
    assert GlmContexts(link="identity", norm=2.0).problem.range == (-2.0, 2.0)
    assert GlmContexts(link="half-identity", norm=2.0).problem.range == (0.0, 1.0)
    assert GlmArms(link="square", norm=2.0).problem.range == (0.0, 0.8)
    assert GlmArms(norm=0.0).problem.range == (0.0, 1.0)
    below = Link("below", lambda z: z - 5.5, np.ones_like, 1.0)
    assert GlmArms(norm=0.0, link=below).problem.range == (-6.0, -5.0)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_contexts(shift: float) -> None:
    """Norm 1, theta of norm B, and a mean that is zero, or leans towards u."""
    environment = GlmContexts(shift=shift, norm=3.0)
    rng = np.random.default_rng(3)
    one = environment.draw(1, rng)
    assert np.linalg.norm(one.theta) == pytest.approx(3)
    assert np.linalg.norm(one.towards) == pytest.approx(1)
    contexts = environment.observe(one.take(np.zeros(5000, dtype=np.intp)), rng).features
    assert np.linalg.norm(contexts, axis=2) == pytest.approx(1)
    mean = contexts.mean(axis=(0, 1))
    lean = mean @ one.towards[0]
    assert np.linalg.norm(mean) < 0.02 if shift == 0 else lean > 0.8


def test_wrong_values() -> None:
    with pytest.raises(CorralError, match="there is no link 'probits'; did you mean probit"):
        GlmArms(link="probits")
    for wrong in ({"norm": -1.0}, {"norm": math.nan}, {"norm": math.inf}, {"shift": math.nan}, {"noise": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GlmContexts(**wrong)
