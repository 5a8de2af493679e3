"""What theory promises for the curves of an experiment, and which preconditions fail.

A meta states its guarantee: a formula, an order, the options it requires, and conditions on its own parameters and on
what it was told (`Meta.guarantee`). Here this is compared with the experiment, and what a meta cannot see is added: the
noise, contexts, what clipping does to rewards, and the bounds and deltas of the bases.

Noise is measured in units of half the reward range, because the sources have means in [-1, 1] and 1-sub-Gaussian noise.
A term of U that is linear in s, like that of misspecification, is added unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from corral_core.bounds import Term
from corral_core.experiments.point import Point
from corral_core.parsing import shown
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Condition, Guarantee, Meta, MetaProblem
from corral_core.protocols.parameters import fitted_names
from corral_core.protocols.problem import Problem
from corral_core.selection.judge import variance_proxy
from corral_core.selection.options import PRESETS, Options
from corral_core.selection.setup import units
from corral_core.selection.stated import stated_guarantee, stated_order
from corral_core.simulation.curve import Curve


@attrs.frozen
class Case:
    """The order of the regret, if these bases are the best adapted ones, without constants and logarithms."""

    bases: tuple[str, ...]
    exponent: float
    shape: float  # with the base's shape c s^alpha
    literal: float  # with the constants of its literal bound


@attrs.frozen
class Promise:
    """What a meta's guarantee means for one curve of an experiment, and which of its preconditions hold."""

    curve: str
    source: str
    row: str
    formula: str
    cases: tuple[Case, ...]
    most: float  # the regret of losing everything at every play
    conditions: tuple[Condition, ...]
    off: bool  # whether the preset theory has options that are missing

    @property
    def holds(self) -> bool:
        return all(condition.holds is not False for condition in self.conditions)

    @property
    def vacuous(self) -> bool:
        """Whether even the best case allows losing everything at every play."""
        return bool(self.cases) and all(case.literal >= self.most for case in self.cases)


def promises(point: Point) -> list[Promise]:
    """One promise for every curve whose meta states a guarantee."""
    found = []
    for curve in point.curves:
        if curve.meta is None:
            continue
        told = curve.told(point.problem)
        stated = stated_guarantee(curve.meta, told)
        if stated is not None:
            found.append(_promise(point, curve, curve.meta, told, stated))
    return found


def _promise(point: Point, curve: Curve, meta: Meta, told: MetaProblem, stated: Guarantee) -> Promise:
    low, high = point.problem.range
    unit = units(point.problem, curve.options)[1] if high > low else 0.0
    rounds = curve.rounds(point.horizon)
    formula = stated.formula
    if any(term.alpha >= 1 for bound in told.bounds if bound for term in bound.shape):
        formula += ", plus the linear terms of U(T), which no rate can reduce"
    cases: dict[tuple[float, float, float], list[str]] = {}
    for label, bound in zip(curve.labels, told.bounds, strict=True):
        if bound is None or bound.leading is None:
            continue
        c, alpha = bound.leading
        linear = sum(term.c for term in bound.shape if term.alpha >= 1) * rounds
        literal = Term((float(bound(rounds)) - linear) / rounds**alpha, alpha)
        orders = [stated_order(meta, stated, term, rounds) for term in (Term(c, alpha), literal)]
        values = [(order + linear) * unit for order in orders]
        cases.setdefault((alpha, values[0], values[1]), []).append(label)
    return Promise(
        curve=curve.name,
        source=stated.source,
        row=stated.row,
        formula=formula,
        cases=tuple(Case(tuple(labels), *values) for values, labels in cases.items()),
        most=point.horizon * (high - low),
        conditions=tuple(_conditions(point, curve, meta, told, stated)),
        off=_theory_helps(curve.options, {"share": False, **stated.requires}),
    )


def _theory_helps(options: Options, requires: Mapping[str, Any]) -> bool:
    """Whether the preset theory has all options that are required, and the experiment has not."""
    theory = PRESETS["theory"]
    missing = any(getattr(options, name) != wanted for name, wanted in requires.items())
    return missing and all(getattr(theory, name) == wanted for name, wanted in requires.items())


# --- Conditions -------------------------------------------------------------------------------------------------------


def _conditions(point: Point, curve: Curve, meta: Meta, told: MetaProblem, stated: Guarantee) -> Iterator[Condition]:
    yield from _required(stated.requires, curve.options, meta, point.problem)
    yield from stated.conditions
    yield from _judging(point, curve.options, meta)
    yield from _of_bases(curve, meta, told)
    yield from _noise(point)
    if point.problem.renewable:
        yield Condition("arms are never replaced by new ones", False)
    yield Condition("contexts are drawn independently from one distribution", None)
    yield _adapted(curve, told, point.problem)


WORDS: dict[tuple[str, Any], str] = {
    ("player", "smooth"): "bases are smoothed",
    ("player", "plain"): "bases are played plainly",
    ("player", "boosted"): "bases are boosted",
    ("bias", 1.0): "the bias U_j(s)/s is subtracted from the gain",
    ("base_test", True): "the base test is on",
    ("restart", True): "bases restart when the meta asks for it",
    ("bound", "literal"): "bias and base test use literal bounds",
    ("units", "range"): "the meta sees rewards in units of their range",
    ("share", False): "every base learns only from its own plays",
}


def _required(requires: Mapping[str, Any], options: Options, meta: Meta, problem: Problem) -> Iterator[Condition]:
    """The options that the guarantee requires, in words, and whether the experiment has them."""
    if options.share:
        requires = {"share": False, **requires}
    for name, wanted in requires.items():
        if name == "clip" and wanted == "auto":
            usual = attrs.evolve(options, clip="auto")
            same = options.clip_for(meta, problem) == usual.clip_for(meta, problem)
            yield Condition(f"the rewards that the meta sees are cut to {_interval(meta.clip)}", same)
        else:
            text = WORDS.get((name, wanted), f"the option {name} is {shown(wanted)}")
            yield Condition(text, getattr(options, name, None) == wanted)


def _judging(point: Point, options: Options, meta: Meta) -> Iterator[Condition]:
    """What clipping and the width of the base test do, given the noise and the units."""
    problem, clip = point.problem, options.clip_for(meta, point.problem)
    start, span, most = units(problem, options)
    if clip is not None:
        low, high = start + clip[0] * span, start + clip[1] * span
        text = f"rewards lie in {_interval((low, high))}, so that cutting them keeps their means"
        yield Condition(text, _inside(problem, low, high))
    if options.base_test and options.test_variance != "auto":
        noise = None if problem.noise is None else problem.noise / span
        least = variance_proxy(noise, clip, most, attrs.evolve(options, test_variance="auto"))
        wide = options.test_variance >= least
        yield Condition(f"v = {options.test_variance:.3g} in the base test is at least {least:.3g}", wide)


def _inside(problem: Problem, low: float, high: float) -> bool | None:
    """Whether all rewards lie in [low, high]; None if their range is unknown and that of the means does not tell."""
    if problem.reward_low is not None and problem.reward_high is not None:
        return problem.pays_within(low, high)
    means = problem.range
    return None if low <= means[0] and means[1] <= high else False


def _of_bases(curve: Curve, meta: Meta, told: MetaProblem) -> Iterator[Condition]:
    """Whose bound is missing, for another delta, or only claimed."""
    named = list(zip(curve.labels, curve.bases, told.bounds, strict=True))
    if meta.needs_bounds != "none":
        missing = [label for label, _, bound in named if bound is None]
        yield Condition(f"every base has a bound{_listed(missing)}", not missing)
    claimed = [label for label, base, _ in named if base.claimed is not None]
    if claimed:
        yield Condition(f"the bounds that the experiment claims hold{_listed(claimed)}", None)
    stated = [(label, base) for label, base, bound in named if bound is not None and base.claimed is None]
    others = [f"{label}: {_delta(base):.3g}" for label, base in stated if _delta(base) not in (None, told.delta)]
    if any(_delta(base) is not None for _, base in stated):
        yield Condition(f"bases play with the delta of their bounds, {told.delta:.3g}{_listed(others)}", not others)


def _delta(base: Base) -> float | None:
    """The failure probability that a base plays with; None if it has none."""
    return getattr(base, "delta", None) if "delta" in fitted_names(base) else None


def _adapted(curve: Curve, told: MetaProblem, problem: Problem) -> Condition:
    """Whose bound cannot hold, because the base was told of a milder problem. The others cannot be checked."""
    named = zip(curve.labels, curve.bases, told.bounds, strict=True)
    stated = [(label, base) for label, base, bound in named if bound is not None and base.claimed is None]
    unfit = [f"not {label}: {unmet}" for label, base in stated if (unmet := base.unmet(problem))]
    none_left = bool(unfit) and len(unfit) == len(curve.bases)
    return Condition(
        f"some base is adapted: its bound holds in this environment{_listed(unfit)}", False if none_left else None
    )


def _noise(point: Point) -> Iterator[Condition]:
    noise, (low, high) = point.problem.noise, point.problem.range
    if point.problem.heavy_tails:
        yield Condition("the noise is sub-Gaussian", False)
    elif noise is None:
        yield Condition("the noise, of unknown scale, is 1-sub-Gaussian in units of half the reward range", None)
    else:
        scaled = 2 * noise / ((high - low) or 1.0)
        yield Condition(f"the noise, {scaled:.3g} in units of half the reward range, is at most 1", scaled <= 1)


def _interval(ends: tuple[float, float]) -> str:
    return f"[{ends[0]:.4g}, {ends[1]:.4g}]"


def _listed(labels: list[str], most: int = 4) -> str:
    """Labels in brackets, at most four of them; nothing if there are none."""
    if not labels:
        return ""
    more = [] if len(labels) <= most else [f"{len(labels) - most} more"]
    return f" ({', '.join(labels[:most] + more)})"


# --- Exponents --------------------------------------------------------------------------------------------------------

FAR = 2.0**400  # rounds: so many that only the leading power of T is left


def orders(point: Point, curve: Curve) -> tuple[float, ...]:
    """The exponents of T that theory promises, ascending: for a base alone that of its bound, for a meta one per base.

    They hold for a method that is tuned to each T, so a rate that was given as a number is part of the order. The
    guarantee's conditions are not checked, and logarithms are left out.
    """
    told = curve.told(point.problem)
    found = set()
    for bound in told.bounds:
        if bound is None or not bound.shape:
            continue
        highest = max((term.alpha for term in bound.shape if term.c > 0), default=0.0)
        if curve.meta is None or highest >= 1:
            found.add(highest)
        elif term := bound.leading:
            found |= _order(curve.meta, told, curve.options.steps, term)
    return tuple(sorted({round(exponent, 3) for exponent in found}))


def _order(meta: Meta, told: MetaProblem, steps: int, term: Term) -> set[float]:
    """The exponent that a meta promises; none if it states no guarantee, or none that is a number at so many rounds."""
    try:
        near, twice = (_far(meta, told, steps, term, rounds) for rounds in (FAR, 2 * FAR))
        exponent = math.log2(twice / near)
    except Exception:  # no run ends because of what a meta says about itself; `promises` says what is wrong
        return set()
    return {exponent} if math.isfinite(exponent) else set()


def _far(meta: Meta, told: MetaProblem, steps: int, term: Term, rounds: float) -> float:
    if told.horizon is not None:
        told = attrs.evolve(told, horizon=rounds, plays=rounds * steps)  # type: ignore[arg-type]
    stated = stated_guarantee(meta, told)
    return math.nan if stated is None else stated_order(meta, stated, term, rounds)
