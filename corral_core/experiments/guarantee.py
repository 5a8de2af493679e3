"""What the paper's theorem promises for an experiment, and which of its preconditions fail.

Theorem 4.11 of Pacchiano et al. 2020: smoothed bases, bias U_j(s)/s, the base test and (for CORRAL) restarts, with
delta <= 1/sqrt(T); if some base is adapted and U_*(T) = c T^alpha, alpha in [1/2, 1), then the regret is of the order
of the paper's table. A term of U that is linear in s, like that of misspecification, is added unchanged (the paper's
theorem on misspecified contextual linear bandits). Assumption 2.1 has mean rewards in [-1, 1] and 1-sub-Gaussian
noise, so bounds are measured here in units of half the reward range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.errors import CorralError
from corral_core.experiments.point import Point
from corral_core.metas.corral import Corral
from corral_core.metas.exp3p import Exp3P
from corral_core.metas.learning_rates import corral_guarantee, exp3p_guarantee
from corral_core.protocols.meta import MetaProblem
from corral_core.rows import Array
from corral_core.selection.judge import variance_proxy
from corral_core.selection.options import Options
from corral_core.selection.setup import units
from corral_core.simulation.curve import Curve


@attrs.frozen
class Condition:
    """A precondition of the theorem: it holds, it fails, or it cannot be checked (None)."""

    text: str
    holds: bool | None


@attrs.frozen
class Promise:
    """The order of the regret, if these bases are the best adapted ones, without constants and logarithms."""

    bases: tuple[str, ...]
    exponent: float
    shape: float  # with the base's shape c s^alpha
    literal: float  # with the constants of its literal bound


@attrs.frozen
class Guarantee:
    """What the theorem promises for one curve of an experiment, and which of its preconditions hold."""

    curve: str
    row: str
    formula: str
    promises: tuple[Promise, ...]
    most: float  # the regret of losing everything at every play
    conditions: tuple[Condition, ...]

    @property
    def holds(self) -> bool:
        return all(condition.holds is not False for condition in self.conditions)

    @property
    def vacuous(self) -> bool:
        """Whether even the best promise allows losing everything at every play."""
        return bool(self.promises) and all(promise.literal >= self.most for promise in self.promises)


def guarantees(point: Point) -> list[Guarantee]:
    """One guarantee for every curve whose meta the theorem covers."""
    found = []
    for curve in point.curves:
        if isinstance(curve.meta, (Corral, Exp3P)) and curve.meta.feedback == "raw":
            told = curve.told(point.problem, point.horizon)
            found.append(_guarantee(point, curve, curve.meta, told))
    return found


def _guarantee(point: Point, curve: Curve, meta: Corral | Exp3P, told: MetaProblem) -> Guarantee:
    low, high = point.problem.range
    unit = units(point.problem, curve.options)[1] if high > low else 0.0
    rate = meta.rate(told)
    if isinstance(meta, Corral):
        formula = f"sqrt(MT) + M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha), eta = {rate:.4g}"
    else:
        formula = f"sqrt(MT) + MTp + 1/p + T^alpha p^(alpha-1) c, p = {rate:.4g}"
    if any(term.alpha >= 1 for bound in told.bounds if bound for term in bound.shape):
        formula += ", plus the linear terms of U(T), which no rate can reduce"
    promises: dict[tuple[float, float, float], list[str]] = {}
    for label, bound in zip(curve.labels, told.bounds, strict=True):
        if bound is None or bound.leading is None:
            continue
        c, alpha = bound.leading
        linear = sum(term.c for term in bound.shape if term.alpha >= 1) * told.rounds
        literal = Term((float(bound(told.rounds)) - linear) / told.rounds**alpha, alpha)
        values = [(_value(meta, told, rate, term) + linear) * unit for term in (Term(c, alpha), literal)]
        promises.setdefault((alpha, values[0], values[1]), []).append(label)
    return Guarantee(
        curve=curve.name,
        row=_row(meta, told),
        formula=formula,
        promises=tuple(Promise(tuple(labels), *values) for values, labels in promises.items()),
        most=point.horizon * (high - low),
        conditions=tuple(_conditions(point, curve.options, meta, told)),
    )


def _row(meta: Corral | Exp3P, told: MetaProblem) -> str:
    given = meta.eta if isinstance(meta, Corral) else meta.p
    return meta.aim(told).row if given == "auto" else "general (the rate was given)"


def _value(meta: Corral | Exp3P, told: MetaProblem, rate: float, term: Term) -> float:
    order = corral_guarantee if isinstance(meta, Corral) else exp3p_guarantee
    return order(told.bases, told.rounds, rate, term)


def _conditions(point: Point, options: Options, meta: Corral | Exp3P, told: MetaProblem) -> Iterator[Condition]:
    low, high = point.problem.range
    yield Condition("bases are smoothed", options.player == "smooth")
    if options.share:
        yield Condition("bases learn only from their own plays", False)
    yield Condition("the bias U_j(s)/s is subtracted from the gain", options.bias == 1)
    yield Condition("the base test is on", options.base_test)
    if isinstance(meta, Corral):
        yield Condition("bases restart when their threshold is halved", options.restart)
    yield from _changed(point, options, meta, told)
    limit = 1 / math.sqrt(told.rounds)
    yield Condition(f"delta = {told.delta:.3g} is at most 1/sqrt(T) = {limit:.3g}", told.delta <= limit)
    yield Condition("every base has a bound", all(told.bounds))
    bounds = [bound for bound in told.bounds if bound is not None]
    exponents = sorted({term.alpha for bound in bounds if (term := bound.leading)})
    shown = ", ".join(f"{alpha:.3g}" for alpha in exponents) or "none below 1"
    fits = bool(exponents) and all(0.5 <= alpha < 1 for alpha in exponents)
    yield Condition(f"exponents of the bounds ({shown}) lie in [1/2, 1)", fits)
    if bounds:
        yield Condition("literal bounds exceed 8 sqrt(t ln(t^2/delta)) at every t", _wide_enough(bounds, told))
    noise = point.problem.noise
    if point.problem.heavy_tails:
        yield Condition("the noise is sub-Gaussian", False)
    elif noise is None:
        yield Condition("the noise, of unknown scale, is 1-sub-Gaussian in units of half the reward range", None)
    else:
        scaled = 2 * noise / ((high - low) or 1.0)
        yield Condition(f"the noise, {scaled:.3g} in units of half the reward range, is at most 1", scaled <= 1)
    yield Condition("contexts are drawn independently from one distribution", None)
    yield Condition("some base is adapted: its bound holds in this environment", None)


def _changed(point: Point, options: Options, meta: Corral | Exp3P, told: MetaProblem) -> Iterator[Condition]:
    """What the theorem takes for granted, and the experiment sets otherwise."""
    if (options.units, options.clip) != ("range", "auto"):
        yield Condition(f"the meta sees rewards in units of their range, cut to {list(meta.clip)}", False)
    if options.base_test and options.test_variance != "auto":
        _, span, most = units(point.problem, options)
        noise = None if point.problem.noise is None else point.problem.noise / span
        least = variance_proxy(noise, options.clip_for(meta), most, attrs.evolve(options, test_variance="auto"))
        wide = options.test_variance >= least
        yield Condition(f"v = {options.test_variance:.3g} in the base test is at least {least:.3g}", wide)
    if isinstance(meta, Corral):
        mine, usual = (each.init(1, told) for each in (meta, attrs.evolve(meta, gamma="auto", growth="auto")))
        if (mine.gamma, mine.growth) != (usual.gamma, usual.growth):
            yield Condition("gamma is 1/T, and rates grow by exp(1/ln T)", False)
    else:
        state, rate = meta.init(1, told), meta.rate(told)
        if (state.beta, state.eta) != (rate / 2, rate / (1 + rate / 2)):
            yield Condition("beta is p/2 and eta is p/(1 + beta)", False)


def smoothing_needs(t: Array, delta: float) -> Array:
    """8 sqrt(t ln(t^2/delta)): what U(t) must exceed for smoothing to preserve it (Proposition 4.3)."""
    return np.asarray(8 * np.sqrt(t * np.log(t**2 / delta)))


def _wide_enough(bounds: list[Bound], told: MetaProblem) -> bool:
    t = np.unique(np.geomspace(1, told.rounds, 10_000).round())  # both sides are smooth in t
    needed = smoothing_needs(t, told.delta)
    return all(bool((2 * bound(t) > needed).all()) for bound in bounds)


FAR = 2**400  # rounds: so many that only the leading power of T is left


def orders(point: Point, curve: Curve) -> tuple[float, ...]:
    """The exponents of T that theory promises, ascending: for a base alone that of its bound, for a meta one per base.

    They hold for a method that is tuned to each T, so a rate that was given as a number is part of the order. The
    theorem's other conditions are not checked, and logarithms are left out.
    """
    told = curve.told(point.problem, point.horizon)
    found = set()
    for bound in told.bounds:
        if bound is None or not bound.shape:
            continue
        highest = max((term.alpha for term in bound.shape if term.c > 0), default=0.0)
        if curve.meta is None or highest >= 1:
            found.add(highest)
        elif isinstance(curve.meta, (Corral, Exp3P)) and curve.meta.feedback == "raw" and (term := bound.leading):
            found |= _order(curve.meta, told, curve.options.steps, term)
    return tuple(sorted({round(exponent, 3) for exponent in found}))


def _order(meta: Corral | Exp3P, told: MetaProblem, steps: int, term: Term) -> set[float]:
    """The exponent that a meta's rate promises; none if its formula has no value at so many rounds."""
    far = [attrs.evolve(told, horizon=rounds, plays=rounds * steps) for rounds in (FAR, 2 * FAR)]
    try:
        near, twice = (_value(meta, each, meta.rate(each), term) for each in far)
    except (CorralError, OverflowError):
        return set()
    exponent = math.log2(twice / near)
    return {exponent} if math.isfinite(exponent) else set()
