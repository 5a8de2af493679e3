"""How certain means over replicates are: intervals, differences, exponents, and what chance could explain.

A sample must be a list of finite numbers, one per replicate; this is always checked first. One replicate says nothing
about chance: `low`, `high` and `p_value` are then NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import attrs
import numpy as np
from numpy.random import default_rng

from corral_core.errors import CorralError
from corral_core.rows import Array

BLOCK = 2**20  # maximum number of values that a bootstrap holds at a time


@attrs.frozen
class Interval:
    """An estimate, an interval that holds the truth with probability `level`, and the p-value of the truth being zero.

    The p-value is two-sided and matches the interval: it is at most 1 - level exactly when zero lies outside.
    """

    estimate: float
    low: float
    high: float
    level: float
    p_value: float = math.nan


def mean_interval(values: Any, level: float = 0.95) -> Interval:
    """Student's t interval for the mean: mean -+ t_{n-1} s/sqrt(n) (Student, 1908)."""
    sample = _sample(values)
    return _student(float(sample.mean()), _squared_error(sample), len(sample) - 1, level)


def difference(first: Any, second: Any, *, paired: bool, level: float = 0.95) -> Interval:
    """The mean of the first minus the mean of the second, with a t interval.

    Paired: the interval of the row-by-row differences. Otherwise Welch's ("The generalization of Student's problem when
    several different population variances are involved", 1947): with a = s_1^2/n_1 and b = s_2^2/n_2, the error is
    sqrt(a + b) with (a + b)^2/(a^2/(n_1 - 1) + b^2/(n_2 - 1)) degrees of freedom.
    """
    one, two = _samples(first, second, paired)
    if paired:
        return mean_interval(one - two, level)
    a, b = _squared_error(one), _squared_error(two)
    share = a / (a + b) if a + b else 0.5
    rest = min(len(one), len(two)) - 1
    freedom = 1 / (share**2 / (len(one) - 1) + (1 - share) ** 2 / (len(two) - 1)) if rest else 0
    return _student(float(one.mean() - two.mean()), a + b, freedom, level)


def bootstrap_difference(
    first: Any, second: Any, *, paired: bool, level: float = 0.95, samples: int = 10_000, seed: int = 1
) -> Interval:
    """The same difference with a studentised bootstrap interval, for replicates that are far from normal."""
    one, two = _samples(first, second, paired)
    return _bootstrap([one - two] if paired else [one, two], _difference_of_means, level, samples, seed)


def exponent(
    sizes: Sequence[float] | Array, finals: Sequence[Any], *, level: float = 0.95, samples: int = 2000, seed: int = 1
) -> Interval:
    """The least-squares slope of ln(mean) on ln(size), with a studentised bootstrap interval.

    The slope is sum_k w_k ln(m_k) with the weights of x_k = ln(size_k); its error follows from the delta method. If
    all sizes have equally many replicates, whole rows are drawn, because row i had the same randomness at every size;
    this is also valid if it had not. Otherwise every size draws on its own.
    """
    groups = [_sample(values) for values in finals]
    if len(sizes) != len(groups) or len(set(sizes)) < 2 or not all(0 < size < math.inf for size in sizes):
        raise CorralError("an exponent needs at least two different positive sizes, each with its own finals")
    for size, group in zip(sizes, groups, strict=True):
        if group.mean() <= 0:
            raise CorralError(f"an exponent needs means above zero, but the mean at {size:g} is {group.mean():.3g}")
    weights = slope_weights(np.log(np.asarray(sizes, dtype=np.float64)))
    if len({len(group) for group in groups}) == 1:
        groups = [np.stack(groups, axis=1)]

    def slope(drawn: list[Array]) -> tuple[Array, Array]:
        together = drawn[0].ndim == 3
        means = drawn[0].mean(axis=1) if together else np.stack([each.mean(axis=1) for each in drawn], axis=1)
        if (means <= 0).any():
            raise CorralError("an exponent needs means clearly above zero; play more replicates")
        influence = weights / means  # of a replicate at each size
        if together:
            drawn = [np.einsum("bik,bk->bi", drawn[0], influence)]
        else:
            drawn = [each * influence[:, [place]] for place, each in enumerate(drawn)]
        return np.log(means) @ weights, np.sqrt(sum(_squared_errors(each) for each in drawn))

    return _bootstrap(groups, slope, level, samples, seed)


def slope_weights(x: Array) -> Array:
    """The w with sum_k w_k y_k the least-squares slope of y on x: w_k = (x_k - x)/sum_l (x_l - x)^2."""
    centred = x - x.mean()
    return np.asarray(centred / (centred**2).sum())


def holm(p_values: Sequence[float], comparisons: int | None = None) -> list[float]:
    """P-values adjusted for multiple comparisons: all that stay small are significant together, at the stated level.

    The i-th smallest of m becomes the largest of (m - j + 1) p_j over j <= i, at most 1 (Holm, "A simple sequentially
    rejective multiple test procedure", 1979). NaN stays and does not count. If these are only some of the
    `comparisons` that the data could have led to, m is that number: the others are assumed to be larger, which is
    conservative.
    """
    known = [place for place, value in enumerate(p_values) if not math.isnan(value)]
    count = max(len(known), comparisons or 0)
    adjusted, largest = [math.nan] * len(p_values), 0.0
    for rank, place in enumerate(sorted(known, key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (count - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


class Significance(Enum):
    """What a difference shows, in words."""

    LOWER = "lower, by more than chance explains"
    HIGHER = "higher, by more than chance explains"
    CHANCE = "a difference that chance could explain"
    SAME = "the same"
    UNKNOWN = "too few replicates to tell"


def chance(interval: Interval, p_value: float | None = None) -> Significance:
    """Whether a difference is larger than chance explains; with an adjusted p-value if there are several."""
    p_value = interval.p_value if p_value is None else p_value
    if math.isnan(p_value):
        return Significance.UNKNOWN
    if interval.low == interval.high == 0:
        return Significance.SAME
    if p_value > 1 - interval.level:
        return Significance.CHANCE
    return Significance.LOWER if interval.estimate < 0 else Significance.HIGHER


def student_tail(t: float, freedom: float) -> float:
    """P(|T| > t) of Student's t with this many degrees of freedom, to a relative error of about 1e-10.

    It is the incomplete beta function I_x(v/2, 1/2) at x = v/(v + t^2), by the continued fraction of Didonato and
    Morris (1992; DLMF 8.17.22), evaluated from its front (Lentz, 1976).
    """
    a, odds = freedom / 2, t * t / freedom
    if not odds:
        return 1.0
    if math.isinf(odds):
        return 0.0
    logarithm = _log_gamma_ratio(a) - math.log(math.pi) / 2 - a * math.log1p(odds) + math.log(odds / (1 + odds)) / 2
    front = math.exp(logarithm)
    if 1 / (1 + odds) < (a + 1) / (a + 2.5):
        return front * _fraction(a, 0.5, 1 / (1 + odds)) / a
    return 1 - front * _fraction(0.5, a, odds / (1 + odds)) / 0.5


@functools.lru_cache(maxsize=1024)
def student_quantile(level: float, freedom: float) -> float:
    """The t with P(|T| <= t) = level, by bisection of `student_tail` down to adjacent floats."""
    low, high = 0.0, 1.0
    while student_tail(high, freedom) > 1 - level:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if student_tail(middle, freedom) > 1 - level else (low, middle)
    return high


def _log_gamma_ratio(a: float) -> float:
    """ln(Gamma(a + 1/2)/Gamma(a)); for large a by its expansion (DLMF 5.11.13), because the two would cancel."""
    if a < 20:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5) + 17 / (14336 * a**7)


def _fraction(a: float, b: float, x: float) -> float:
    """1/(1 + d_1/(1 + d_2/(1 + ...))) of the incomplete beta function."""
    smallest = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or smallest)
    value = d
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or smallest)
            c = 1 + term / c or smallest
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _student(estimate: float, squared_error: float, freedom: float, level: float) -> Interval:
    _check_level(level)
    error = math.sqrt(squared_error)
    if not freedom:
        return Interval(estimate, math.nan, math.nan, level)
    if not error:
        return _certain(estimate, level, math.ceil(freedom) + 1)
    reach = student_quantile(level, freedom) * error
    return Interval(estimate, estimate - reach, estimate + reach, level, student_tail(estimate / error, freedom))


Statistic = Callable[[list[Array]], tuple[Array, Array]]  # of (draws, replicates): the values and their errors


def _bootstrap(groups: list[Array], statistic: Statistic, level: float, samples: int, seed: int) -> Interval:
    """The studentised bootstrap: Efron and Tibshirani, "An introduction to the bootstrap", 1993, section 12.5.

    With z* = (value* - value)/error* over resamples, the interval runs from value - z*_(B+1-k) error to
    value - z*_(k) error, k = floor((B + 1)(1 - level)/2). A resample of equal replicates has no error and an infinite
    z*: with two or three replicates the interval may be infinite, because so few say nothing about tails.
    """
    _check_level(level)
    smallest = math.ceil(2 / (1 - level))
    if samples < smallest:
        raise CorralError(f"samples must be at least {smallest} for the level {level:g}, not {samples}")
    estimate, error = (float(each[0]) for each in statistic([group[np.newaxis] for group in groups]))
    if min(map(len, groups)) < 2:
        return Interval(estimate, math.nan, math.nan, level)
    if not error:
        return _certain(estimate, level, min(map(len, groups)))
    rng, found = default_rng(seed), []
    step = max(1, BLOCK // sum(group.size for group in groups))
    for begin in range(0, samples, step):
        draws = min(step, samples - begin)
        values, errors = statistic([group[rng.integers(len(group), size=(draws, len(group)))] for group in groups])
        away = values - estimate
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(np.where(away == 0, 0.0, away / errors))
    studentised = np.sort(np.concatenate(found))
    rank = math.floor((samples + 1) * (1 - level) / 2 + 1e-9)
    above = samples - int(np.searchsorted(studentised, estimate / error, side="left"))
    below = int(np.searchsorted(studentised, estimate / error, side="right"))
    return Interval(
        estimate,
        float(estimate - studentised[samples - rank] * error),
        float(estimate - studentised[rank - 1] * error),
        level,
        min(1.0, 2 * (min(above, below) + 1) / (samples + 1)),
    )


def _difference_of_means(drawn: list[Array]) -> tuple[Array, Array]:
    """The difference of the means of two groups, or the mean of a single group, with errors."""
    value = drawn[0].mean(axis=1) - (drawn[1].mean(axis=1) if len(drawn) > 1 else 0)
    return value, np.sqrt(sum(_squared_errors(each) for each in drawn))


def _squared_errors(drawn: Array) -> Array:
    """The squared standard errors of the means of (draws, replicates)."""
    count = drawn.shape[1]
    return np.asarray(drawn.var(axis=1) / max(count - 1, 1))


def _squared_error(sample: Array) -> float:
    return float(_squared_errors(sample[np.newaxis])[0])


def _certain(estimate: float, level: float, count: int) -> Interval:
    """All replicates are equal. The p-value is that of a sign test: n equal signs have probability 2^(1-n)."""
    if not estimate:
        return Interval(estimate, estimate, estimate, level, 1.0)
    if (p_value := 2.0 ** (1 - count)) > 1 - level:
        return Interval(estimate, math.nan, math.nan, level)
    return Interval(estimate, estimate, estimate, level, p_value)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise CorralError(f"the level must lie between 0 and 1, such as 0.95, not {level:g}")


def _samples(first: Any, second: Any, paired: bool) -> tuple[Array, Array]:
    one, two = _sample(first), _sample(second)
    if paired and len(one) != len(two):
        raise CorralError(f"paired samples must have the same length, not {len(one)} and {len(two)}")
    return one, two


def _sample(values: Any) -> Array:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample):
        raise CorralError("a sample must be a non-empty list with one number per replicate")
    if not np.isfinite(sample).all():
        raise CorralError("a sample must be a list of finite numbers; some replicates are infinite or NaN")
    return sample
