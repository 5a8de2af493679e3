"""Claims as written: what a paper says about an experiment.

    open = ["the horizon is not stated: 10,000 plays"]   # what the paper leaves open, and what was chosen
    quick = { replicates = 64 }                          # a smaller version: replicates, horizon, or the sweep's values
    band = 0.3                                           # standard deviations that its figure shades (default: 1)

    [[claims]]
    of = "Figure 1, left"
    says = "LinUCB performs better than UCB."
    less = ["linucb", "ucb"]                             # each ends with less regret than the next

A claim has one test:

    less = ["a", "b", "c"]          mean regret of a is below that of b, and so on
    wider = ["a", "b"]              the final regret of a has a larger standard deviation than that of b
    at_least = { a = 1.5 }          mean regret of a is at least 1.5
    at_most = { a = 100 }           mean regret of a is at most 100
    exponent = { a = 0.5 }          the regret of a grows at most like T^0.5, in a sweep of the horizon
    either = [{ less = ["a", "b"], at = "..." }, ...]    at least one of these holds

A test is applied at every point of a sweep, or only at the one that `at` names. `reading = true` marks a claim that is
not in the paper's own words. Every number has an interval over replicates, paired if curves are compared. The k numbers
behind a claim have intervals at level 1 - 0.05/k (Bonferroni), so that all of them hold at once with probability at
least 95%. A claim agrees or disagrees if the whole interval does; otherwise, or if a number is missing, it is
undecided. corral-report judges claims; they do not affect what is played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import attrs

from corral_core.errors import CorralError
from corral_core.experiments.checking import of_experiment
from corral_core.parsing import check_keys, convert, shown
from corral_core.suggestions import suggestion

WORDS = ("claims", "open", "quick", "band")  # the keys of an experiment file that are read here
Kind = Literal["less", "wider", "at_least", "at_most", "exponent", "either"]
TESTS: tuple[Kind, ...] = get_args(Kind)
FEWEST = 3  # minimum number of replicates for a standard deviation, and of horizons for an exponent


@attrs.frozen
class ClaimTest:
    """One test of a claim; `either` contains several."""

    kind: Kind
    curves: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()  # one per curve; empty if the test has no numbers
    at: str = ""  # the only point that is tested; empty: every point
    some_of: tuple[ClaimTest, ...] = ()


@attrs.frozen
class Claim:
    """A statement of a paper, and how to test it."""

    of: str  # the item of the paper, such as "Figure 1, left"
    says: str
    test: ClaimTest
    reading: bool = False  # whether it is an interpretation, not the paper's own words


@attrs.frozen
class Stated:
    """The parts of an experiment file that do not affect what is played."""

    claims: tuple[Claim, ...] = ()
    open: tuple[str, ...] = ()  # what the paper leaves open, and what was chosen
    quick: dict[str, Any] = attrs.field(factory=dict)  # the keys that the smaller version changes
    band: float = 1.0  # standard deviations around the mean that its figure shades


# --- Reading ----------------------------------------------------------------------------------------------------------


def stated(source: Mapping[str, Any]) -> Stated:
    """Read the claims of an experiment's source and check everything but the names of curves and points."""
    where = of_experiment(source)
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
    """Refuse claims about unknown curves or points. Each point is its name, its horizon and the names of its curves."""
    points = list(points)
    names = {at: curves for at, _, curves in points}
    for test in (each for claim in found.claims for each in (claim.test, *claim.test.some_of)):
        if test.at and test.at not in names:
            raise CorralError(f"{where}: claim refers to an unknown point {shown(test.at)}{suggestion(test.at, names)}")
        for curve in test.curves:
            for at in [test.at] if test.at else names:
                if curve not in names[at]:
                    raise CorralError(
                        f"{where}: claim refers to an unknown curve {shown(curve)}{suggestion(curve, names[at])}"
                    )
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


def _test(table: Any, where: str) -> ClaimTest:
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
        raise CorralError(f"{where}: `at` is not allowed here; inside `either`, set it per test")
    if kind == "either":
        if not isinstance(given, list) or len(given) < 2:
            raise CorralError(f"{where} must be a list of at least two tests")
        tests = tuple(_test(each, f"{where}[{number}]") for number, each in enumerate(given))
        if any(test.kind in ("either", "exponent") for test in tests):
            raise CorralError(f"{where} may only contain less, wider, at_least or at_most")
        return ClaimTest(kind, some_of=tests)
    if kind in ("less", "wider"):
        curves = convert(given, tuple[str, ...], where)
        if len(set(curves)) < 2 or len(set(curves)) < len(curves) or (kind == "wider" and len(curves) > 2):
            wanted = "two curves" if kind == "wider" else "two curves or more"
            raise CorralError(f"{where} must name {wanted}, each once")
        return ClaimTest(kind, curves, at=at)
    if not isinstance(given, Mapping) or not given:
        raise CorralError(f"{where} must be a table of numbers by curve, like {{ corral = 0.5 }}")
    limits = tuple(convert(value, float, f"{where}: {curve}") for curve, value in given.items())
    return ClaimTest(kind, tuple(given), limits, at)


def _band(source: Mapping[str, Any], where: str) -> float:
    band: float = convert(source.get("band", 1.0), float, f"{where}: band")
    if not 0 < band <= 100:
        raise CorralError(f"{where}: band must be a number of standard deviations above 0, at most 100, not {band:g}")
    return band


def _quick(source: Mapping[str, Any], where: str) -> dict[str, Any]:
    quick = source.get("quick", {})
    where = f"{where}: quick"
    if not isinstance(quick, Mapping):
        raise CorralError(f"{where} must be a table with replicates, horizon or sweep")
    check_keys(quick, ["replicates", "horizon", "sweep"], where)
    if "sweep" in quick and "sweep" not in source:
        raise CorralError(f"{where}: sweep changes the values of a sweep, but the experiment has none")
    return dict(quick)
