"""Intervals against published tables, mpmath and simulation; Holm's adjustment against a hand-worked example."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng

from corral_core.analysis import statistics
from corral_core.analysis.statistics import (
    Interval,
    Significance,
    bootstrap_difference,
    chance,
    difference,
    exponent,
    holm,
    mean_interval,
    student_quantile,
    student_tail,
)
from corral_core.errors import CorralError


def tail(t: float, freedom: float) -> float:
    """By quadrature of the density, with forty digits."""
    with mpmath.workdps(40):
        v = mpmath.mpf(freedom)
        scale = mpmath.gamma((v + 1) / 2) / (mpmath.sqrt(v * mpmath.pi) * mpmath.gamma(v / 2))
        area = mpmath.quad(lambda x: (1 + x * x / v) ** (-(v + 1) / 2), [0, t / 2, t])
        return float(1 - 2 * scale * area)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 7.3, 30, 39.9, 40.1, 500, 1e5])
@pytest.mark.parametrize("t", [0.01, 0.7, 2.0, 3.4])
def test_the_tail_of_student_is_that_of_quadrature(t: float, freedom: float) -> None:
    assert student_tail(t, freedom) == pytest.approx(tail(t, freedom), rel=1e-10)
    assert student_tail(-t, freedom) == student_tail(t, freedom)


def test_the_tail_at_its_ends() -> None:
    assert (student_tail(0, 3), student_tail(math.inf, 3), student_tail(1e300, 3)) == (1, 0, 0)
    # One degree of freedom is Cauchy's distribution: far out, 2/(pi t).
    assert student_tail(1e8, 1) == pytest.approx(2e-8 / math.pi, rel=1e-10)


@pytest.mark.parametrize(
    ("level", "freedom", "published"),  # Abramowitz and Stegun, "Handbook of mathematical functions", table 26.10
    [(0.95, 1, 12.706), (0.95, 10, 2.228), (0.99, 5, 4.032), (0.9, 30, 1.697), (0.95, 120, 1.980), (0.999, 2, 31.598)],
)
def test_quantiles_are_those_of_the_tables(level: float, freedom: float, published: float) -> None:
    assert student_quantile(level, freedom) == pytest.approx(published, abs=1.1e-3)
    assert student_tail(student_quantile(level, freedom), freedom) == pytest.approx(1 - level, rel=1e-9)


def test_quantiles_in_closed_form() -> None:
    assert student_quantile(0.95, 1) == pytest.approx(math.tan(math.pi * 0.95 / 2), rel=1e-10)
    assert student_quantile(0.95, 2) == pytest.approx(0.95 * math.sqrt(2 / (1 - 0.95**2)), rel=1e-10)


def test_the_mean_of_students_own_data() -> None:
    """Cushny and Peebles' hours of sleep, as in Student, "The probable error of a mean", 1908: t = 4.06, p = 0.0028."""
    dextro = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    laevo = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    together = difference(laevo, dextro, paired=True)
    assert together.estimate == pytest.approx(1.58)
    assert (together.low, together.high) == pytest.approx((0.7001, 2.4599), abs=1e-4)
    assert together.p_value == pytest.approx(0.002833, abs=1e-6)
    # Welch's, as the documentation of t.test in R gives it for these data (data set sleep): 17.776 degrees of freedom.
    apart = difference(dextro, laevo, paired=False)
    assert (apart.low, apart.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-7)
    assert apart.p_value == pytest.approx(0.07939, abs=1e-5)


def test_one_replicate_says_nothing_about_chance() -> None:
    for found in (
        mean_interval([3.0]),
        difference([3.0], [1.0], paired=True),
        difference([3.0], [1.0, 2.0], paired=False),
        bootstrap_difference([3.0], [1.0], paired=True),
        bootstrap_difference([3.0, 4.0], [1.0], paired=False),
        exponent([1, 2], [[1.0], [2.0]]),
    ):
        assert math.isfinite(found.estimate)
        assert all(map(math.isnan, (found.low, found.high, found.p_value)))
        assert chance(found) is Significance.UNKNOWN


@pytest.mark.parametrize("function", [difference, bootstrap_difference])
def test_few_replicates_that_agree_prove_nothing(function: Any) -> None:
    """Five of one sign happen by chance with probability 1/16."""
    for count in (2, 5):
        found = function([2.0] * count, [1.0] * count, paired=True)
        assert (found.estimate, chance(found)) == (1.0, Significance.UNKNOWN)
    assert chance(function([2.0] * 6, [1.0] * 6, paired=True)) is Significance.HIGHER


def test_replicates_that_agree_leave_no_doubt() -> None:
    assert mean_interval([2.0] * 6) == Interval(2.0, 2.0, 2.0, 0.95, 2**-5)
    for found in (difference, bootstrap_difference):
        assert found([1.0, 2.0], [1.0, 2.0], paired=True) == Interval(0.0, 0.0, 0.0, 0.95, 1.0)  # type: ignore[operator]
    assert difference([2.0] * 6, [1.0] * 6, paired=True) == Interval(1.0, 1.0, 1.0, 0.95, 2**-5)
    assert chance(difference([1.0, 2.0], [1.0, 2.0], paired=True)) is Significance.SAME


def test_two_replicates_bootstrap_to_infinity() -> None:
    found = bootstrap_difference([1.0, 3.0], [0.0, 0.0], paired=True)
    assert (found.estimate, found.low, found.high) == (2.0, -math.inf, math.inf)
    assert found.p_value > 0.05


@pytest.mark.parametrize("values", [[], [[1.0]], [1.0, math.nan], [math.inf, 1.0]])
def test_what_is_no_sample_is_refused(values: list[float]) -> None:
    with pytest.raises(CorralError, match="a sample must be"):
        mean_interval(values)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_what_is_no_level_is_refused(level: float) -> None:
    for function in (difference, bootstrap_difference):
        with pytest.raises(CorralError, match="the level must lie between 0 and 1"):
            function([1.0, 2.0], [3.0, 5.0], paired=True, level=level)  # type: ignore[operator]


def test_other_wrong_input_is_refused() -> None:
    with pytest.raises(CorralError, match="must have the same length, not 2 and 1"):
        difference([1.0, 2.0], [1.0], paired=True)
    with pytest.raises(CorralError, match=r"samples must be at least 40 for the level 0\.95, not 39"):
        bootstrap_difference([1.0, 2.0], [1.0, 3.0], paired=False, samples=39)
    with pytest.raises(CorralError, match=r"the mean at 20 is -0\.5"):
        exponent([10, 20], [[1.0, 2.0], [-2.0, 1.0]])
    with pytest.raises(CorralError, match="means clearly above zero"):
        exponent([10, 20], [[1.0, 2.0, 3.0], [-2.0, 1.0, 2.0]])
    for sizes in ([10, 10], [10, 20, 30], [0, 10], [10, math.inf]):
        with pytest.raises(CorralError, match="two different positive sizes"):
            exponent(sizes, [[1.0, 2.0], [2.0, 1.0]])


# --- Coverage -------------------------------------------------------------------------------------------------------

TRIALS = 2000


def assert_covers(covered: int, trials: int, slack: float = 0.0) -> None:
    """About 95 of 100; five binomial deviations fail with probability below 1e-6."""
    deviation = math.sqrt(0.95 * 0.05 / trials)
    assert 0.95 - slack - 5 * deviation <= covered / trials <= 0.95 + slack + 5 * deviation


@pytest.mark.parametrize("count", [2, 5, 20])
def test_the_mean_interval_covers(count: int) -> None:
    draws = default_rng(1).normal(3, 2, size=(TRIALS, count))
    found = [mean_interval(row) for row in draws]
    assert_covers(sum(each.low <= 3 <= each.high for each in found), TRIALS)


@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_of_a_difference_covers(paired: bool) -> None:
    rng = default_rng(2)
    covered = wide = 0
    for _ in range(600):
        luck = rng.normal(0, 5, size=12) if paired else np.zeros(12)
        first, second = luck + rng.normal(1, 1, size=12), luck + rng.normal(0, 3, size=12)
        found = difference(first, second, paired=paired)
        covered += found.low <= 1 <= found.high
        wide += found.high - found.low > 10
    assert_covers(covered, 600, slack=0.005)  # Welch's degrees of freedom are an approximation
    assert not wide, "what both curves share does not widen the interval"


@pytest.mark.parametrize("paired", [True, False])
def test_the_bootstrap_covers_skewed_data(paired: bool) -> None:
    """Exponential replicates; 20 of them, and 300 trials."""
    rng, covered = default_rng(3), 0
    for _ in range(300):
        first, second = rng.exponential(2, size=20), rng.exponential(1, size=20)
        found = bootstrap_difference(first, second, paired=paired, samples=599)
        covered += found.low <= 1 <= found.high
    assert_covers(covered, 300, slack=0.02)


@pytest.mark.parametrize("counts", [(30, 30, 30), (30, 20, 40)])
def test_the_exponent_covers(counts: tuple[int, ...]) -> None:
    rng, covered = default_rng(4), 0
    for _ in range(200):
        finals = [size**0.5 * rng.gamma(4, size=count) for size, count in zip((10, 100, 1000), counts, strict=True)]
        found = exponent([10, 100, 1000], finals, samples=399)
        covered += found.low <= 0.5 <= found.high
    assert_covers(covered, 200, slack=0.02)


def test_luck_that_all_sizes_share_cancels_in_the_exponent() -> None:
    luck = default_rng(5).gamma(4, size=30)
    together = exponent([10, 100], [10**0.5 * luck, 100**0.5 * luck])
    assert together.estimate == pytest.approx(0.5)
    assert together.high - together.low < 1e-6
    apart = exponent([10, 100], [10**0.5 * luck, 100**0.5 * luck[:-1]])
    assert apart.high - apart.low > 0.05


def test_the_exponent_is_the_least_squares_slope() -> None:
    sizes, means = [10, 20, 50, 80], [3.0, 5.0, 6.0, 11.0]
    found = exponent(sizes, [[mean - 0.1, mean + 0.1] for mean in means])
    assert found.estimate == pytest.approx(np.polyfit(np.log(sizes), np.log(means), 1)[0])


# --- The bootstrap ----------------------------------------------------------------------------------------------------


def test_the_bootstrap_agrees_with_student_on_normal_data() -> None:
    first, second = default_rng(6).normal(size=(2, 400))
    for paired in (True, False):
        ours, theirs = bootstrap_difference(first, second, paired=paired), difference(first, second, paired=paired)
        assert ours.estimate == pytest.approx(theirs.estimate)
        width = theirs.high - theirs.low
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)
        assert ours.p_value == pytest.approx(theirs.p_value, abs=0.03)


def test_the_bootstrap_is_that_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resample by resample, from the same draws, with sorting and counting by hand; and blocks change nothing."""
    values, samples = np.array([1.0, 4.0, 2.0, 9.0, 3.0, 3.5]), 99
    rng, mean = default_rng(1), values.mean()
    studentised = []
    for _ in range(samples):
        drawn = values[rng.integers(6, size=6)]
        studentised.append((drawn.mean() - mean) / (drawn.std(ddof=1) / math.sqrt(6)))
    studentised.sort()
    error = values.std(ddof=1) / math.sqrt(6)
    extreme = sum(each >= mean / error for each in studentised)
    expected = mean - studentised[-5] * error, mean - studentised[4] * error, 2 * (extreme + 1) / 100
    for block in (6, 2**20):
        monkeypatch.setattr(statistics, "BLOCK", block)
        found = bootstrap_difference(values, np.zeros(6), paired=True, level=0.9, samples=samples)
        assert (found.low, found.high, found.p_value) == pytest.approx(expected)


def test_a_p_value_belongs_to_its_interval() -> None:
    """It is at most 1 - level just where zero lies outside."""
    rng, outside = default_rng(7), 0
    for _ in range(200):
        first, second = rng.normal(0.8, 1, size=8), rng.normal(0, 1, size=9)
        for found in (
            difference(first, second, paired=False),
            bootstrap_difference(first, second, paired=False, samples=199),
        ):
            assert (found.p_value <= 1 - found.level + 1e-12) == (not found.low <= 0 <= found.high)
            outside += not found.low <= 0 <= found.high
    assert 40 < outside < 360, "both happen"


# --- Several comparisons ----------------------------------------------------------------------------------------------


def test_holm_by_hand() -> None:
    """Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1 are 0.02, 0.03, 0.06, 0.04, and the last may not fall."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([math.nan, 0.01, 0.02])[1:] == pytest.approx([0.02, 0.02]) and math.isnan(holm([math.nan, 0.01])[0])
    assert holm([0.01, 0.001], comparisons=10) == pytest.approx([0.09, 0.01])


def test_against_the_best_chance_seldom_passes_for_a_difference() -> None:
    """Eight equal curves, the luckiest as reference: at most 5% of tables hold a false word; more than 8.7% of 1000
    would have probability below 1e-6. Counting seven comparisons instead of all 28 pairs fails this."""
    rng, false, naive = default_rng(8), 0, 0
    for _ in range(1000):
        curves = rng.normal(size=(8, 10))
        best = curves[np.argmin(curves.mean(axis=1))]
        values = [difference(curve, best, paired=True).p_value for curve in curves if curve is not best]
        values = [value for value in values if value < 1]
        false += min(holm(values, comparisons=28)) <= 0.05
        naive += min(holm(values)) <= 0.05
    assert false <= 87 < naive


def test_chance_in_words() -> None:
    found = Interval(-2.0, -3.0, -1.0, 0.95, 0.01)
    assert chance(found) is Significance.LOWER
    assert chance(Interval(2.0, 1.0, 3.0, 0.95, 0.01)) is Significance.HIGHER
    assert chance(found, 0.06) is Significance.CHANCE
