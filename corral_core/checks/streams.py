"""A stand-in for a generator with one stream per row. It shows whether rows are independent.

Every draw must have rows as its first axis. Each row's part then comes from the row's own stream, so a row draws the
same numbers alone, among others and in any order.

>>> import numpy as np
>>> among_others = Streams.seeded(1, [4, 7, 9]).standard_normal((3, 2))
>>> alone = Streams.seeded(1, [7]).standard_normal((1, 2))
>>> bool((among_others[1] == alone[0]).all())
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from corral_core.checks.rules import Broken
from corral_core.rows import Array

# Number of parameters before `size`.
PARAMETERS = {
    **dict.fromkeys(("random", "standard_normal", "standard_exponential", "standard_cauchy"), 0),
    **dict.fromkeys(("standard_gamma", "exponential", "poisson", "chisquare", "standard_t", "pareto", "weibull"), 1),
    **dict.fromkeys(("power", "rayleigh", "geometric", "logseries", "zipf"), 1),
    **dict.fromkeys(("integers", "normal", "uniform", "beta", "gamma", "laplace", "logistic", "gumbel"), 2),
    **dict.fromkeys(("lognormal", "binomial", "negative_binomial", "vonmises", "wald", "f"), 2),
    **dict.fromkeys(("triangular", "hypergeometric", "noncentral_f"), 3),
    "noncentral_chisquare": 2,
}
AFTER_SIZE = {  # parameters after `size`, by position
    "random": ("dtype", "out"),
    "standard_normal": ("dtype", "out"),
    "standard_exponential": ("dtype", "method", "out"),
    "standard_gamma": ("dtype", "out"),
    "integers": ("dtype", "endpoint"),
    "choice": ("replace", "p", "axis", "shuffle"),
    "multivariate_normal": ("check_valid", "tol", "method"),
}
VECTORS = {"choice": 1, "dirichlet": 1, "multinomial": 2, "multivariate_normal": 2}  # draws of or from vectors


class Misdrawn(Broken):
    """A draw that cannot be split by rows."""


def draw_by_rows(play: Callable[[], object]) -> None:
    """Raise `Misdrawn` if a draw does not have rows as its first axis; other checks report other failures."""
    try:
        play()
    except Misdrawn:
        raise
    except Exception:
        return


class Streams:
    """One generator per row."""

    def __init__(self, streams: Sequence[Generator]) -> None:
        self.streams = list(streams)

    @classmethod
    def seeded(cls, seed: int | Sequence[int], rows: Iterable[int]) -> Self:
        """The streams of these rows; each is determined by the seed and the row's number."""
        return cls([np.random.default_rng([*np.atleast_1d(seed), int(row)]) for row in rows])

    def __len__(self) -> int:
        return len(self.streams)

    def __getattr__(self, name: str) -> Callable[..., Array]:
        if name in PARAMETERS:
            return partial(self._draw, name)
        if name in VECTORS:
            return partial(self._draw_vectors, name)
        if name.startswith("__"):
            raise AttributeError(name)
        raise Misdrawn(f"rng.{name} cannot be split by rows; draw numbers with rows as the first axis")

    def permuted(self, x: Any, axis: int | None = None) -> Array:
        x = np.asarray(x)
        if not axis:
            raise Misdrawn("rng.permuted must shuffle within rows: give it an axis of 1 or more")
        self._check("permuted", x.shape)
        if not len(self):
            return np.array(x)
        return np.stack([stream.permuted(row, axis=axis - 1) for stream, row in zip(self.streams, x, strict=True)])

    def spawn(self, children: int) -> list[Streams]:
        spawned = [stream.spawn(children) for stream in self.streams]
        return [Streams(each) for each in zip(*spawned, strict=True)] if spawned else [Streams([])] * children

    def _draw(self, name: str, *given: Any, **options: Any) -> Array:
        count = PARAMETERS[name]
        options |= _by_name(name, given[count:])
        out, size = options.pop("out", None), options.pop("size", None)
        if size is None and out is not None:
            size = out.shape
        shapes = [np.shape(value) for value in (*given[:count], *options.values()) if not isinstance(value, str | type)]
        shape = np.broadcast_shapes(*shapes) if size is None else tuple(np.atleast_1d(size).tolist())
        self._check(name, shape)

        def row_of(value: Any, row: int) -> Any:
            return np.broadcast_to(value, shape)[row] if np.ndim(value) else value

        if not len(self):
            return np.asarray(getattr(np.random.default_rng(0), name)(*given[:count], size=shape, **options))
        drawn = [
            getattr(stream, name)(
                *(row_of(value, row) for value in given[:count]),
                size=shape[1:],
                **{key: row_of(value, row) for key, value in options.items()},
            )
            for row, stream in enumerate(self.streams)
        ]
        found = np.stack([np.asarray(each) for each in drawn])
        if out is None:
            return found
        out[...] = found
        result: Array = out
        return result

    def _draw_vectors(self, name: str, *given: Any, **options: Any) -> Array:
        count = VECTORS[name]
        options |= _by_name(name, given[count:])
        size = options.pop("size", None)
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        self._check(name, shape)
        if not options.get("replace", True):
            raise Misdrawn("rng.choice without replacement draws from all rows at once; use rng.permuted(..., axis=1)")
        if not len(self):
            return np.asarray(getattr(np.random.default_rng(0), name)(*given[:count], size=shape, **options))
        drawn = [getattr(stream, name)(*given[:count], size=shape[1:], **options) for stream in self.streams]
        return np.stack([np.asarray(each) for each in drawn])

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        if not shape or shape[0] != len(self):
            drawn = f"shape {shape}" if shape else "a single number"
            raise Misdrawn(
                f"rng.{name} drew {drawn} for {len(self)} rows; every draw must have rows as its first axis, "
                "including rows that need no number"
            )


def _by_name(name: str, given: tuple[Any, ...]) -> dict[str, Any]:
    """The size and the positional arguments after it, by name."""
    return dict(zip(("size", *AFTER_SIZE.get(name, ())), given, strict=False))
