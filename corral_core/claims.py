"""What a paper says about an experiment, and whether what was measured agrees.

    open = ["the horizon is not stated: 10,000 plays"]   # what the paper leaves open, and what was taken
    quick = { replicates = 64 }                          # a smaller version: replicates, horizon, or the sweep's values
    band = 0.3                                           # how many standard deviations its figure shades; 1 unless said

    [[claims]]
    of = "Figure 1, left"
    says = "LinUCB performs better than UCB."
    less = ["linucb", "ucb"]                             # each ends with less regret than the next

A claim has one test:

    less = ["a", "b", "c"]          mean regret of a below that of b, and so on
    wider = ["a", "b"]              the final regret of a has a larger standard deviation than that of b
    at_least = { a = 1.5 }          mean regret of a at least so much
    at_most = { a = 100 }           mean regret of a at most so much
    exponent = { a = 0.5 }          the regret of a grows at most like T^0.5, in a sweep of the horizon
    either = [{ less = ["a", "b"], at = "..." }, ...]    at least one of these holds

A test is made at every point of a sweep, or at the one that `at` names. `reading = true` marks what is not in the
paper's own words. Every number has an interval over replicates, paired where curves are compared. The k numbers behind
a claim have intervals at the level 1 - 0.05/k (Bonferroni), so that all of them hold at once with at least 95%. A claim
agrees or disagrees where the whole interval does; otherwise, and where a number cannot be had, it cannot be told. These
are words about an experiment, not part of what is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from corral_core.errors import CorralError
from corral_core.parsing import check_keys, convert, suggestion
from corral_core.rows import Array
from corral_core.statistics import Interval, difference, exponent, mean_interval

if TYPE_CHECKING:
    from corral_core.results import Result

WORDS = ("claims", "open", "quick", "band")  # the keys of an experiment file that are read here
TESTS = ("less", "wider", "at_least", "at_most", "exponent", "either")
ERROR = 0.05  # the probability that some interval behind a claim misses what it is about, at most
FEWEST = 3  # replicates below which a standard deviation says nothing, and horizons below which an exponent does not


@attrs.frozen
class Test:
    """One test of a claim; of `either`, several."""

    kind: str
    curves: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()  # one a curve, where the test has a number
    at: str = ""  # the one point where it is made; at all of them where it is empty
    some_of: tuple[Test, ...] = ()


@attrs.frozen
class Claim:
    """What a paper says."""

    of: str  # the item of the paper
    says: str
    test: Test
    reading: bool = False  # whether it is a reading, rather than the paper's own words


@attrs.frozen
class Stated:
    """What an experiment file says beside what is to be played."""

    claims: tuple[Claim, ...] = ()
    open: tuple[str, ...] = ()  # what the paper leaves open, and what was taken
    quick: dict[str, Any] = attrs.field(factory=dict)  # what a smaller version changes
    band: float = 1.0  # standard deviations around a mean that its figure shades


@attrs.frozen
class Finding:
    """A number that was measured, and whether the test it was measured for holds; None where it cannot be told."""

    what: str
    interval: Interval | None  # None where it could not be measured; `what` then says why
    wanted: str
    holds: bool | None


@attrs.frozen
class Judgement:
    """What came of a claim."""

    claim: Claim
    findings: tuple[Finding, ...]
    holds: bool | None

    @property
    def verdict(self) -> str:
        return {True: "agrees", False: "disagrees", None: "cannot be told"}[self.holds]


# --- Reading ----------------------------------------------------------------------------------------------------------


def stated(source: Mapping[str, Any]) -> Stated:
    """The claims of an experiment's source, checked but for the names of its curves."""
    where = f"experiment {source.get('name', '(without a name)')}"
    tables = source.get("claims", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise CorralError(f"{where}: claims must be a list of tables, each under [[claims]]")
    return Stated(
        tuple(_claim(table, f"{where}: claims[{number}]") for number, table in enumerate(tables)),
        convert(source.get("open", []), tuple[str, ...], f"{where}: open"),
        _quick(source, where),
        _band(source, where),
    )


def check(found: Stated, points: Iterable[tuple[str, int, Sequence[str]]], where: str) -> None:
    """Refuse a claim about a curve or a point that is not there; a point has a name, a horizon and curves."""
    points = list(points)
    names = {at: curves for at, _, curves in points}
    for test in (each for claim in found.claims for each in (claim.test, *claim.test.some_of)):
        if test.at and test.at not in names:
            raise CorralError(f"{where}: a claim is made at {test.at!r}, no swept point{suggestion(test.at, names)}")
        for curve in test.curves:
            for at in [test.at] if test.at else names:
                if curve not in names[at]:
                    raise CorralError(f"{where}: a claim names {curve!r}, no curve{suggestion(curve, names[at])}")
        if test.kind == "exponent" and len({horizon for _, horizon, _ in points}) < FEWEST:
            raise CorralError(f"{where}: a claim about an exponent needs a sweep of at least three horizons")


def _claim(table: Mapping[str, Any], where: str) -> Claim:
    check_keys(table, ["of", "says", "reading", "at", *TESTS], where)
    for key in ("of", "says"):
        if key not in table:
            raise CorralError(f"{where} needs {key}")
    return Claim(
        convert(table["of"], str, f"{where}: of"),
        convert(table["says"], str, f"{where}: says"),
        _test({key: value for key, value in table.items() if key not in ("of", "says", "reading")}, where),
        convert(table.get("reading", False), bool, f"{where}: reading"),
    )


def _test(table: Any, where: str) -> Test:
    if not isinstance(table, Mapping):
        raise CorralError(f"{where} must be a table with a test, like {{ less = [...] }}")
    check_keys(table, [*TESTS, "at"], where)
    kinds = [kind for kind in TESTS if kind in table]
    if len(kinds) != 1:
        raise CorralError(f"{where} needs exactly one of {', '.join(TESTS)}")
    (kind,) = kinds
    given, at = table[kind], convert(table.get("at", ""), str, f"{where}: at")
    where = f"{where}: {kind}"
    if at and kind in ("exponent", "either"):
        raise CorralError(f"{where} takes no at: it is about all points, or each of its tests has its own")
    if kind == "either":
        if not isinstance(given, list) or len(given) < 2:
            raise CorralError(f"{where} must be a list of at least two tests")
        tests = tuple(_test(each, f"{where}[{number}]") for number, each in enumerate(given))
        if any(test.kind in ("either", "exponent") for test in tests):
            raise CorralError(f"{where} takes tests that are made at a point: less, wider, at_least or at_most")
        return Test(kind, some_of=tests)
    if kind in ("less", "wider"):
        curves = convert(given, tuple[str, ...], where)
        if len(set(curves)) < 2 or len(set(curves)) < len(curves) or (kind == "wider" and len(curves) > 2):
            wanted = "two curves" if kind == "wider" else "two curves or more"
            raise CorralError(f"{where} must name {wanted}, each once")
        return Test(kind, curves, at=at)
    if not isinstance(given, Mapping) or not given:
        raise CorralError(f"{where} must be a table of numbers by curve, like {{ corral = 0.5 }}")
    limits = tuple(convert(value, float, f"{where}: {curve}") for curve, value in given.items())
    return Test(kind, tuple(given), limits, at)


def _band(source: Mapping[str, Any], where: str) -> float:
    band: float = convert(source.get("band", 1.0), float, f"{where}: band")
    if not 0 < band <= 100:
        raise CorralError(f"{where}: band must be a positive number of standard deviations, 100 at most, not {band:g}")
    return band


def _quick(source: Mapping[str, Any], where: str) -> dict[str, Any]:
    quick = source.get("quick", {})
    where = f"{where}: quick"
    if not isinstance(quick, Mapping):
        raise CorralError(f"{where} must be a table with replicates, horizon or sweep")
    check_keys(quick, ["replicates", "horizon", "sweep"], where)
    if "sweep" in quick and "sweep" not in source:
        raise CorralError(f"{where}: sweep would give other values to a sweep, and there is none")
    return dict(quick)


# --- Judging ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Number:
    """One that a test asks for: how to measure it at a level, and what its interval says."""

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
    """Whether the results of an experiment agree with a claim about it; never an error, for playing may take hours."""
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


def _numbers(test: Test, results: Sequence[Result]) -> list[_Number]:
    """At least one."""
    if test.kind == "exponent":
        return [_exponent(curve, most, results) for curve, most in zip(test.curves, test.limits, strict=True)]
    points = dict.fromkeys(result.setting.at for result in results) or [""]
    return [number for at in ([test.at] if test.at else points) for number in _at_point(test, results, at)]


def _at_point(test: Test, results: Sequence[Result], at: str) -> list[_Number]:
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
    horizons = {result.setting.at: result.setting.horizon for result in results}
    sizes = np.asarray(list(horizons.values()), dtype=np.float64)
    allowed = 1 / float(np.log(sizes).mean()) if len(sizes) else 0.0

    def measure(level: float) -> Interval:
        if len(set(horizons.values())) < FEWEST:
            raise CorralError(f"an exponent needs {FEWEST} horizons, and there are {len(set(horizons.values()))}")
        finals = [_final(results, curve, at) for at in horizons]
        return exponent(sizes, finals, level=level, samples=round(100 / (1 - level)))

    wanted = f"at most {most:.3g}, and {allowed:.2g} for a logarithm"
    return _Number(f"exponent of {curve}", wanted, measure, partial(_at_most, most + allowed))


def _mean(results: Sequence[Result], curve: str, at: str, level: float) -> Interval:
    return mean_interval(_final(results, curve, at), level)


def _more(results: Sequence[Result], more: str, less: str, at: str, level: float) -> Interval:
    return difference(_final(results, more, at), _final(results, less, at), paired=True, level=level)


def _wider(results: Sequence[Result], wide: str, narrow: str, at: str, level: float) -> Interval:
    """How much larger the first standard deviation is: a t interval over jackknife pseudo-values n s - (n - 1) s_(-i).

    Source: Miller, "Jackknifing variances", 1968. It does not ask for normal replicates. The estimate is the plain
    difference; the interval has the mean of the pseudo-values in its middle, which is less biased by a little.
    """
    first, second = _final(results, wide, at), _final(results, narrow, at)
    if len(first) < FEWEST:
        raise CorralError(f"a standard deviation needs {FEWEST} replicates, and there are {len(first)}")
    interval = mean_interval(_pseudo_deviations(first) - _pseudo_deviations(second), level)
    return attrs.evolve(interval, estimate=float(first.std(ddof=1) - second.std(ddof=1)))


def _pseudo_deviations(values: Array) -> Array:
    count, squares = len(values), (values - values.mean()) ** 2
    # Leaving one of n out takes n/(n - 1) times its square off the sum of squares.
    without = np.sqrt(np.maximum(squares.sum() - squares * count / (count - 1), 0.0) / (count - 2))
    return np.asarray(count * values.std(ddof=1) - (count - 1) * without)


def _above_zero(interval: Interval) -> bool | None:
    """Strictly: what is the same in every replicate is not above."""
    return True if interval.low > 0 else False if interval.high < 0 or interval.low == interval.high == 0 else None


def _at_least(limit: float, interval: Interval) -> bool | None:
    return True if interval.low >= limit else False if interval.high < limit else None


def _at_most(limit: float, interval: Interval) -> bool | None:
    return True if interval.high <= limit else False if interval.low > limit else None


def _final(results: Sequence[Result], curve: str, at: str) -> Array:
    found = next((each for each in results if each.line.name == curve and each.setting.at == at), None)
    place = f"{curve}, {at}" if at else curve
    if found is None:
        raise CorralError(f"there are no results of {place}; run the experiment to its end")
    if found.replicates < found.setting.replicates:
        raise CorralError(
            f"there are {found.replicates:,} of {found.setting.replicates:,} replicates of {place}; "
            f"run the experiment to its end"
        )
    if found.regret is None:
        raise CorralError(f"a claim is about the regret of {curve}, which nobody knows in this environment")
    return found.final
