"""Judge whether the measurements of an experiment agree with its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import attrs
import numpy as np

from corral_core import Array, CorralError, Result
from corral_core.analysis.statistics import Interval, difference, exponent, mean_interval
from corral_core.experiments.claims import FEWEST, Claim, ClaimTest

ERROR = 0.05  # maximum probability that some interval of a claim misses its true value


@attrs.frozen
class Finding:
    """A measured number, and whether its test holds; None if this is undecided."""

    what: str
    interval: Interval | None  # None if it could not be measured; `what` then says why
    wanted: str
    holds: bool | None


@attrs.frozen
class Judgement:
    """The outcome of a claim."""

    claim: Claim
    findings: tuple[Finding, ...]
    holds: bool | None

    @property
    def verdict(self) -> str:
        return {True: "agrees", False: "disagrees", None: "undecided"}[self.holds]


@attrs.frozen
class _Number:
    """A number that a test needs: how to measure it at a level, and how to judge its interval."""

    what: str
    wanted: str
    measure: Callable[[float], Interval]
    holds: Callable[[Interval], bool | None]

    def found(self, level: float) -> Finding:
        try:
            interval = self.measure(level)
        except CorralError as problem:
            return Finding(f"{self.what}: {problem}", None, self.wanted, None)
        return Finding(self.what, interval, self.wanted, self.holds(interval))


def judge(claim: Claim, results: Sequence[Result]) -> Judgement:
    """Whether the results of an experiment agree with a claim. Never raises, because playing may have taken hours."""
    parts = [_numbers(test, results) for test in claim.test.some_of or (claim.test,)]
    level = 1 - ERROR / sum(map(len, parts))
    found = [[number.found(level) for number in part] for part in parts]
    findings = tuple(finding for part in found for finding in part)
    return Judgement(claim, findings, _any(_all(finding.holds for finding in part) for part in found))


def _all(held: Iterable[bool | None]) -> bool | None:
    found = list(held)
    return False if False in found else None if None in found else True


def _any(held: Iterable[bool | None]) -> bool | None:
    found = list(held)
    return True if True in found else None if None in found else False


def _numbers(test: ClaimTest, results: Sequence[Result]) -> list[_Number]:
    """The numbers that a test needs; at least one."""
    if test.kind == "exponent":
        return [_exponent(curve, most, results) for curve, most in zip(test.curves, test.limits, strict=True)]
    points = dict.fromkeys(result.point.at for result in results) or [""]
    return [number for at in ([test.at] if test.at else points) for number in _at_point(test, results, at)]


def _at_point(test: ClaimTest, results: Sequence[Result], at: str) -> list[_Number]:
    place = f", {at}" if at else ""
    if test.kind == "less":
        pairs = zip(test.curves, test.curves[1:], strict=False)
        return [
            _Number(f"{more} minus {less}{place}", "above 0", partial(_more, results, more, less, at), _above_zero)
            for less, more in pairs
        ]
    if test.kind == "wider":
        wide, narrow = test.curves
        what = f"standard deviation of {wide} minus that of {narrow}{place}"
        return [_Number(what, "above 0", partial(_wider, results, wide, narrow, at), _above_zero)]
    least = test.kind == "at_least"
    return [
        _Number(
            f"regret of {curve}{place}",
            f"at {'least' if least else 'most'} {limit:.4g}",
            partial(_mean, results, curve, at),
            partial(_at_least if least else _at_most, limit),
        )
        for curve, limit in zip(test.curves, test.limits, strict=True)
    ]


def _exponent(curve: str, most: float, results: Sequence[Result]) -> _Number:
    """An order hides logarithms: the slope of T^a ln T on ln T is a + 1/ln T."""
    horizons = {result.point.at: result.point.horizon for result in results}
    sizes = np.asarray(list(horizons.values()), dtype=np.float64)
    allowed = 1 / float(np.log(sizes).mean()) if len(sizes) else 0.0

    def measure(level: float) -> Interval:
        if len(set(horizons.values())) < FEWEST:
            raise CorralError(f"an exponent needs {FEWEST} horizons, but there are {len(set(horizons.values()))}")
        finals = [_final(results, curve, at) for at in horizons]
        return exponent(sizes, finals, level=level, samples=round(100 / (1 - level)))

    wanted = f"at most {most:.3g}, plus {allowed:.2g} for a logarithm"
    return _Number(f"exponent of {curve}", wanted, measure, partial(_at_most, most + allowed))


def _mean(results: Sequence[Result], curve: str, at: str, level: float) -> Interval:
    return mean_interval(_final(results, curve, at), level)


def _more(results: Sequence[Result], more: str, less: str, at: str, level: float) -> Interval:
    return difference(_final(results, more, at), _final(results, less, at), paired=True, level=level)


def _wider(results: Sequence[Result], wide: str, narrow: str, at: str, level: float) -> Interval:
    """How much larger the first standard deviation is: a t interval over jackknife pseudo-values n s - (n - 1) s_(-i).

    Source: Miller, "Jackknifing variances", 1968. It does not assume normal replicates. The estimate is the plain
    difference; the interval is centred at the mean of the pseudo-values, which is slightly less biased.
    """
    first, second = _final(results, wide, at), _final(results, narrow, at)
    if len(first) < FEWEST:
        raise CorralError(f"a standard deviation needs {FEWEST} replicates, but there are {len(first)}")
    interval = mean_interval(_pseudo_deviations(first) - _pseudo_deviations(second), level)
    return attrs.evolve(interval, estimate=float(first.std(ddof=1) - second.std(ddof=1)))


def _pseudo_deviations(values: Array) -> Array:
    count, squares = len(values), (values - values.mean()) ** 2
    # Leaving one of n out takes n/(n - 1) times its square off the sum of squares.
    without = np.sqrt(np.maximum(squares.sum() - squares * count / (count - 1), 0.0) / (count - 2))
    return np.asarray(count * values.std(ddof=1) - (count - 1) * without)


def _above_zero(interval: Interval) -> bool | None:
    """Whether the number is strictly above zero; curves that are equal in every replicate are not."""
    return True if interval.low > 0 else False if interval.high < 0 or interval.low == interval.high == 0 else None


def _at_least(limit: float, interval: Interval) -> bool | None:
    return True if interval.low >= limit else False if interval.high < limit else None


def _at_most(limit: float, interval: Interval) -> bool | None:
    return True if interval.high <= limit else False if interval.low > limit else None


def _final(results: Sequence[Result], curve: str, at: str) -> Array:
    found = next((each for each in results if each.curve.name == curve and each.point.at == at), None)
    place = f"{curve}, {at}" if at else curve
    if found is None:
        raise CorralError(f"there are no results of {place}; run the whole experiment")
    if found.replicates < found.point.replicates:
        raise CorralError(
            f"there are {found.replicates:,} of {found.point.replicates:,} replicates of {place}; "
            f"run the whole experiment"
        )
    if found.regret is None:
        raise CorralError(f"the claim is about the regret of {curve}, but this environment does not report regret")
    return found.final
