"""Links against closed forms, far from 0, and what is refused."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_glm import GlmArms, GlmContexts, Link, UcbGlm
from corral_glm.links import TRIED, link_of, named
from scipy import integrate, stats

from corral_core import Array, CorralError
from corral_core.parsing import build

FAR = np.array([-1e300, -1e4, -745.0, -700.0, -40.0, 40.0, 700.0, 710.0, 1e4, 1e300])
steep = Link("steep", np.tanh, lambda z: 1 - np.tanh(z) ** 2, 1.0, -1.0, 1.0)
no_link = 3


@pytest.mark.parametrize("name", named())
def test_the_slope_is_the_derivative(name: str) -> None:
    """It integrates to the mean."""
    link = link_of(name)
    for low, high in [(-5.0, -1.0), (-1.0, 2.0), (2.0, 6.0)]:
        area = integrate.quad(lambda z: link.derivative(np.array([z]))[0], low, high, epsabs=1e-12)[0]
        assert area == pytest.approx(np.diff(link.mean(np.array([low, high])))[0], abs=1e-10)
    z = np.linspace(-8, 8, 100_001)
    assert np.abs(link.derivative(z)).max() == pytest.approx(link.largest_slope, rel=1e-6)


def test_closed_forms() -> None:
    z = np.linspace(-8, 8, 101)
    assert link_of("logistic").mean(z) == pytest.approx(stats.logistic.cdf(z))
    assert link_of("probit").mean(z) == pytest.approx(stats.norm.cdf(z))
    assert link_of("cloglog").mean(z) == pytest.approx(stats.gumbel_l.cdf(z))
    assert link_of("cloglog").derivative(z) == pytest.approx(stats.gumbel_l.pdf(z), abs=1e-300)
    assert link_of("square").mean(z) == pytest.approx(z**2 / (1 + z**2))
    assert link_of("logistic").least_slope(3.0) == pytest.approx(stats.logistic.pdf(3))
    assert link_of("probit").least_slope(3.0) == pytest.approx(stats.norm.pdf(3))
    assert link_of("cloglog").least_slope(3.0) == pytest.approx(math.exp(3 - math.exp(3)))
    assert link_of("identity").least_slope(3.0) == 1
    assert link_of("square").least_slope(3.0) == pytest.approx(0.3)


@pytest.mark.parametrize("name", named())
def test_far_from_zero(name: str) -> None:
    """No warning (warnings are errors here), no NaN, and within the range where there is one."""
    link = link_of(name)
    mean, slope = link.mean(FAR), link.derivative(FAR)
    assert np.isfinite(mean).all() and np.isfinite(slope).all()
    if link.coins and name != "half-identity":
        assert mean[-1] == 1 and mean[0] == (1 if link.even else 0)
        assert np.abs(slope)[[0, -1]].max() < 1e-100


def test_links_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert link_of(steep) is steep
    monkeypatch.syspath_prepend(str(__file__.rsplit("/", 1)[0]))
    found = link_of("test_links:steep")
    assert found.name == "steep"
    base = build(UcbGlm, {"link": "test_links:steep"}, "bases")
    assert pickle.loads(pickle.dumps(base)).mu is found
    with pytest.raises(CorralError, match="test_links:no_link must be a Link"):
        link_of("test_links:no_link")
    with pytest.raises(CorralError, match=r"test_links:np.tanh must be a Link of corral_glm.links, not of type ufunc"):
        link_of("test_links:np.tanh")
    with pytest.raises(CorralError, match=r"the link test_links:nothing cannot be loaded: module .* has no attribute"):
        link_of("test_links:nothing")
    for place in ("nowhere.at.all:x", ".near:x", "os:path.nothing", "antigravity no:x"):
        with pytest.raises(CorralError, match="cannot be loaded"):
            link_of(place)
    for place in (":x", "os:", ":"):
        with pytest.raises(CorralError, match=f"your own link must be given as 'package.module:object', not '{place}'"):
            link_of(place)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import sys; sys.exit(3)", "its module fails: SystemExit: 3$"),
        ("import nosuchpackage", "its module fails: ModuleNotFoundError: No module named 'nosuchpackage'$"),
        (
            None,
            "No module named 'mine'; it must be installed, or in a folder of PYTHONPATH$",
        ),
    ],
)
def test_modules_that_fail(source: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    if source is not None:
        (tmp_path / "mine.py").write_text(source)
    with pytest.raises(CorralError, match=says):
        link_of("mine:link")


def within(reach: float) -> Link:
    """One that is no number beyond."""

    def mean(z: Array) -> Array:
        return np.where(np.abs(z) <= reach, z, np.nan)

    return Link("short", mean, np.ones_like, 1.0)


def near(z: Array) -> Array:
    if np.abs(z).max() > 10:
        raise ValueError("too far")
    return z


def test_links_that_end() -> None:
    """An environment and a base say at once where they need a link that ends before."""
    with pytest.raises(
        CorralError, match=r"glm-arms: the short link must be finite on \[-20, 20\], but is not at z = -20"
    ):
        GlmArms(link=within(7.0), norm=20.0)
    with pytest.raises(CorralError, match=r"glm-contexts: the short link must be finite"):
        GlmContexts(link=within(7.0), norm=20.0)
    problem = attrs.evolve(GlmArms().problem, horizon=10, delta=0.1)
    with pytest.raises(CorralError, match=r"ucb-glm: the short link must be finite on \[-9, 9\], but is not at z = -9"):
        UcbGlm(link=within(7.0), norm=8.0).resolve(problem)
    with pytest.raises(
        CorralError, match="link near cannot be evaluated at an array, with numbers from -20 to 20: Value"
    ):
        GlmArms(link=Link("near", near, np.ones_like, 1.0), norm=20.0)


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("logistics", "there is no link 'logistics'; did you mean logistic?"),
        ("", "there is no link ''; it takes logistic, probit"),
        ("mine.cauchit", "half-identity, square, or your own as 'package.module:object'"),
        (3, "a link must be a name such as logistic, a Link, or 'package.module:object', not 3"),
        (None, "a link must be a name"),
    ],
)
def test_wrong_names(link: object, says: str) -> None:
    with pytest.raises(CorralError) as refused:
        UcbGlm(link=link)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((np.tanh, np.tanh, 1.0), "must rise everywhere"),
        ((np.tanh, np.ones_like, 1.0), r"derivative at -6 must be .*, the slope of mean there, not 1"),
        ((np.tanh, lambda z: 1 - np.tanh(z) ** 2, 0.5), "largest_slope must be at least 1, its slope at 0, not 0.5"),
        ((np.log, lambda z: 1 / z, 1.0), "must have finite values"),
        ((np.tanh, lambda z: 1.0, 1.0), "must return an array of the same shape as their argument"),
        ((np.tanh, lambda z: 1 - np.tanh(z) ** 2, math.nan), "largest_slope must be above 0, not nan"),
        ((np.square, lambda z: 2 * z, 12.0), "set even = True if it rises with |z|"),
        ((3, np.ones_like, 1.0), "mean must be a function of an array, not 3"),
        ((np.tanh, 4, 1.0), "derivative must be a function of an array, not 4"),
        (
            (math.tanh, np.ones_like, 1.0),
            "link odd cannot be evaluated at an array, with numbers from -6 to 6: TypeError",
        ),
    ],
)
def test_what_is_no_link(arguments: tuple[object, ...], says: str) -> None:
    with pytest.raises(CorralError, match=says.replace("|z|", r"\|z\|")):
        Link("odd", *arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mean", "slope", "largest", "says"),
    [
        (np.tanh, lambda z: np.full_like(z, 0.5), 1e4, "derivative at .* must be .*, the slope of mean there, not 0.5"),
        (
            lambda z: 1e-5 * z,
            lambda z: np.full_like(z, 9e-5),
            1.0,
            "derivative at -6 must be 1e-05, the slope of mean there, not 9e-05",
        ),
        (lambda z: 0 * z + 0.5, np.zeros_like, 1.0, "must rise everywhere"),
        (lambda z: np.tanh(z, out=z), lambda z: 1 - np.tanh(z) ** 2, 1.0, "cannot be evaluated at an array"),
    ],
)
def test_what_is_no_link_however_large_its_slope_may_be(mean: Any, slope: Any, largest: float, says: str) -> None:
    with pytest.raises(CorralError, match=says):
        Link("odd", mean, slope, largest)
    assert (TRIED[0], TRIED[-1]) == (-6.0, 6.0)


def test_a_range_the_wrong_way_round() -> None:
    with pytest.raises(CorralError, match=r"low must be less than high, not 1\.0 and 0\.0"):
        Link("odd", np.tanh, lambda z: 1 - np.tanh(z) ** 2, 1.0, 1.0, 0.0)
    with pytest.raises(CorralError, match="be the same on both sides of 0"):
        Link("odd", lambda z: np.maximum(z, 0) ** 2, lambda z: 2 * np.maximum(z, 0), 12.0, even=True)
