"""Links mu of generalised linear models: the mean reward is mu(<x, theta>).

| name | mu(z) | L, the largest slope |
|---|---|---|
| `logistic` | 1/(1 + e^-z) | 1/4 |
| `probit` | Phi(z), of the standard normal distribution | 1/sqrt(2 pi) |
| `cloglog` | 1 - exp(-e^z), the complementary log-log link | 1/e |
| `identity` | z: the linear model itself | 1 |
| `half-identity` | 1/2 + z/2, which environments cut to [0, 1] | 1/2 |
| `square` | z^2/(1 + z^2), which rises with abs(z) | 3 sqrt(3)/8 |

Statisticians call the inverse of mu the link; here, as in the bandit literature, mu itself is the link. To use your
own, create a `Link`; pass it directly in Python, or name it in an experiment file as "package.module:object".

>>> link_of("logistic").mean(np.array([-1000.0, 0.0, 1000.0]))
array([0. , 0.5, 1. ])
>>> round(link_of("logistic").least_slope(2.0), 4)
0.105
>>> steep = Link("steep", lambda z: np.tanh(z), lambda z: 1 - np.tanh(z) ** 2, largest_slope=1.0, low=-1.0, high=1.0)
>>> link_of(steep).name
'steep'
"""

from __future__ import annotations

import functools
import math
import pkgutil
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from scipy.special import expit, ndtr  # type: ignore[import-untyped]

from corral_core import Array, CorralError
from corral_core.errors import reason
from corral_core.parsing import shown
from corral_core.suggestions import suggestion

TRIED = np.linspace(-6.0, 6.0, 241)  # where a link is checked before it is used
TRIED.flags.writeable = False  # a user's function might write to its argument
STEP = 1e-4
LARGEST = 700.0  # e^z is finite up to here


@attrs.frozen(eq=False)
class Link:
    """mu and its derivative, as functions of an array, with what confidence bounds need to know about them.

    mu rises; or, if it is `even`, mu(z) = mu(-z) rises with |z|. `largest_slope` is the largest slope of mu at any z
    that may occur, at least on [-6, 6], where a link is checked before it is used. Mean rewards lie between `low` and
    `high`; environments clip mu to this range, and pay 0 or 1 if the range lies within [0, 1].
    """

    name: str
    mean: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    largest_slope: float
    low: float = -math.inf
    high: float = math.inf
    even: bool = False

    def __attrs_post_init__(self) -> None:
        for what in ("mean", "derivative"):
            if not callable(getattr(self, what)):
                raise CorralError(
                    f"link {self.name}: {what} must be a function of an array, not {shown(getattr(self, what))}"
                )
        for what in ("mean", "derivative"):
            object.__setattr__(self, what, _Guarded(self.name, getattr(self, what)))
        if not (_is_number(self.largest_slope) and 0 < self.largest_slope < math.inf):
            raise CorralError(f"link {self.name}: largest_slope must be above 0, not {shown(self.largest_slope)}")
        if not (_is_number(self.low) and _is_number(self.high) and self.low < self.high):
            raise CorralError(
                f"link {self.name}: low must be less than high, not {shown(self.low)} and {shown(self.high)}"
            )
        _check(self)

    @property
    def coins(self) -> bool:
        """Whether mean rewards are probabilities."""
        return self.low >= 0 and self.high <= 1

    def least_slope(self, reach: float) -> float:
        """kappa: the smallest derivative on |z| <= reach.

        An even link is flat at 0, so this would be 0; the mean slope from 0 to `reach` is used instead. No bound is
        proved with it, it only keeps confidence widths comparable with those of other links.
        """
        return _least_slope(self, reach)


@functools.lru_cache(maxsize=256)  # bases ask at every fit
def _least_slope(link: Link, reach: float) -> float:
    if link.even:
        rise = link.mean(np.array([reach])) - link.mean(np.zeros(1))
        return float(rise[0]) / reach
    return float(link.derivative(np.linspace(-reach, reach, 2001)).min())


@attrs.frozen
class _Guarded:
    """A function of an array whose failures are reported in one sentence."""

    link: str
    function: Callable[[Array], Array]

    def __call__(self, z: Array) -> Array:
        try:
            return self.function(z)
        except Exception as problem:  # a user's function may raise anything
            among = f", with numbers from {np.min(z):.4g} to {np.max(z):.4g}" if np.size(z) else ""
            raise CorralError(
                f"link {self.link} cannot be evaluated at an array{among}: {reason(problem)}"
            ) from problem


def check_reach(link: Link, reach: float, whose: str) -> None:
    """Refuse, in one sentence, a link that is not finite everywhere on |z| <= reach."""
    z = np.linspace(-reach, reach, 241)
    with np.errstate(all="ignore"):
        lost = ~np.isfinite(link.mean(z))
    if lost.any():
        raise CorralError(
            f"{whose}: the {link.name} link must be finite on [-{reach:.4g}, {reach:.4g}], "
            f"but is not at z = {z[lost][0]:.4g}"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def _check(link: Link) -> None:
    """Refuse, in one sentence, an invalid link: not finite, not rising, or with a wrong derivative."""
    with np.errstate(all="ignore"):
        mean, slope = (np.asarray(function(TRIED)) for function in (link.mean, link.derivative))
        if mean.shape != TRIED.shape or slope.shape != TRIED.shape:
            raise CorralError(
                f"link {link.name}: mean and derivative must return an array of the same shape as their argument"
            )
        if not (np.isfinite(mean).all() and np.isfinite(slope).all()):
            raise CorralError(f"link {link.name} must have finite values and slopes everywhere on [-6, 6]")
        near = (link.mean(TRIED + STEP) - link.mean(TRIED - STEP)) / (2 * STEP)
    rising = slope * np.sign(TRIED) if link.even else slope
    rises = mean[-1] > mean[len(mean) // 2 if link.even else 0]
    if (rising < 0).any() or not rises or (link.even and not np.allclose(mean, mean[::-1])):
        how = (
            "with |z|, and be the same on both sides of 0"
            if link.even
            else "everywhere; set even = True if it rises with |z|"
        )
        raise CorralError(f"link {link.name} must rise {how}")
    off = np.abs(near - slope) > 1e-4 * max(np.abs(near).max(), np.abs(slope).max())
    if off.sum() > 4:  # a kink has no derivative at one or two points
        z = TRIED[off][0]
        raise CorralError(
            f"link {link.name}: derivative at {z:.3g} must be {near[off][0]:.4g}, the slope of mean there, "
            f"not {slope[off][0]:.4g}"
        )
    if np.abs(slope).max() > link.largest_slope * (1 + 1e-6):
        raise CorralError(
            f"link {link.name}: largest_slope must be at least {np.abs(slope).max():.4g}, its slope at "
            f"{TRIED[np.abs(slope).argmax()]:.3g}, not {link.largest_slope:.4g}"
        )


def _logistic_slope(z: Array) -> Array:
    e = np.exp(-np.abs(z))
    found: Array = e / np.square(1 + e)
    return found


def _normal_density(z: Array) -> Array:
    found: Array = np.exp(-np.square(np.minimum(np.abs(z), 50.0)) / 2) / math.sqrt(2 * math.pi)
    return found


def _cloglog(z: Array) -> Array:
    found: Array = -np.expm1(-np.exp(np.minimum(z, LARGEST)))
    return found


def _cloglog_slope(z: Array) -> Array:
    at = np.clip(z, -LARGEST, 10.0)  # beyond 10 the slope is below 1e-9000
    found: Array = np.exp(at - np.exp(at))
    return found


def _square(z: Array) -> Array:
    squared = np.square(np.minimum(np.abs(z), 1e150))
    found: Array = squared / (1 + squared)
    return found


def _square_slope(z: Array) -> Array:
    at = np.maximum(np.minimum(z, 1e50), -1e50)
    found: Array = 2 * at / np.square(1 + np.square(at))
    return found


@functools.cache
def named() -> dict[str, Link]:
    """The built-in links, by name."""
    links = [
        Link("logistic", expit, _logistic_slope, 0.25, 0.0, 1.0),
        Link("probit", ndtr, _normal_density, 1 / math.sqrt(2 * math.pi), 0.0, 1.0),
        Link("cloglog", _cloglog, _cloglog_slope, math.exp(-1), 0.0, 1.0),
        Link("identity", lambda z: np.asarray(z, dtype=np.float64), np.ones_like, 1.0),
        Link("half-identity", lambda z: 0.5 + z / 2, lambda z: np.full_like(z, 0.5), 0.5, 0.0, 1.0),
        Link("square", _square, _square_slope, 3 * math.sqrt(3) / 8, 0.0, 1.0, even=True),
    ]
    return {link.name: link for link in links}


def link_of(link: Any) -> Link:
    """The link for a `Link` itself, a name, or "package.module:object"."""
    if isinstance(link, Link):
        return link
    if not isinstance(link, str):
        raise CorralError(
            f"a link must be a name such as logistic, a Link, or 'package.module:object', not {shown(link)}"
        )
    if ":" in link:
        return _imported(link)
    if link not in named():
        hint = suggestion(link, named())
        own = "" if hint.endswith("?") else ", or your own as 'package.module:object'"
        raise CorralError(f"there is no link {shown(link)}{hint}{own}")
    return named()[link]


@functools.cache
def _imported(place: str) -> Link:
    module, _, name = place.partition(":")
    if not (module and name):
        raise CorralError(f"your own link must be given as 'package.module:object', not {shown(place)}")
    try:
        found = pkgutil.resolve_name(place)
    except AttributeError as problem:
        raise CorralError(f"the link {place} cannot be loaded: {problem}") from problem
    except (Exception, SystemExit) as problem:  # a user's module may raise anything when it is imported
        why = problem if isinstance(problem, CorralError) else reason(problem)
        missing = isinstance(problem, ModuleNotFoundError) and f"{module}.".startswith(f"{problem.name}.")
        where = "; it must be installed, or in a folder of PYTHONPATH" if missing else ""
        raise CorralError(f"the link {place} cannot be loaded because its module fails: {why}{where}") from problem
    if not isinstance(found, Link):
        raise CorralError(f"{place} must be a Link of corral_glm.links, not of type {type(found).__name__}")
    return found


def valid_link(instance: Any, attribute: Any, value: Any) -> None:
    """An attrs validator for a field that holds a link."""
    try:
        link_of(value)
    except CorralError as problem:
        raise CorralError(f"{instance.name}: {problem}") from None
