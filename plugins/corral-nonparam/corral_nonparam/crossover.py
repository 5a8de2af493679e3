"""Measure when trees become faster than brute force: `python -m corral_nonparam.crossover` (a minute or two).

A play searches the nearest neighbours once for every arm. Contexts are uniform on the unit cube. Trees are built
beforehand, as in the long run. Below 1,024 plays there are no trees, and both searches are brute force. Times are
processor times, the minimum of a few repetitions, because the machine may be busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

import numpy as np

from corral_core import Array
from corral_core.engines.machine import keep_freed_memory
from corral_nonparam.bases.knn_ucb import neighbours
from corral_nonparam.history import History, Plays
from corral_nonparam.search import by_force, by_trees, trees_pay

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
DIMENSIONS = (1, 2, 4, 8, 12)
SEARCHES, REPETITIONS = 20, 8
TITLE = """\
Microseconds per search for the k nearest neighbours among the first n plays of one arm, in d dimensions.
replay: trees, with n/2 to n plays drawn for every search. ratio: brute force to trees. taken: what knn-ucb uses."""


def table(sizes: tuple[int, ...] = SIZES, dimensions: tuple[int, ...] = DIMENSIONS) -> Iterator[str]:
    """The lines of the table, each as soon as it is measured."""
    yield f"{'d':>2} {'n':>8} {'k':>6} {'brute force':>12} {'trees':>8} {'replay':>8} {'ratio':>6}  taken"
    for dimension in dimensions:
        rng = np.random.default_rng(1)
        history = uniform(max(sizes), dimension, rng)
        query = rng.random((SEARCHES, dimension))
        for size in sizes:
            fixed = np.full(SEARCHES, size)
            drawn = rng.integers(size // 2, size, SEARCHES)
            brute = microseconds(partial(_brute, history, query), fixed)
            trees, replay = (microseconds(partial(_trees, history, query), count) for count in (fixed, drawn))
            k = int(neighbours(fixed[:1], dimension)[0])
            taken = "trees" if trees_pay(dimension, fixed[:1])[0] else "brute force"
            figures = f"{brute:>12.0f} {trees:>8.0f} {replay:>8.0f} {brute / trees:>6.2f}"
            yield f"{dimension:>2} {size:>8,} {k:>6,} {figures}  {taken}"


def uniform(size: int, dimension: int, rng: np.random.Generator) -> History:
    """One list of plays at uniform contexts."""
    history, number = History(1, 1), np.array([0])
    for x, reward in zip(rng.random((size, 1, dimension)), rng.random((size, 1)), strict=True):
        history.append(number, Plays(x, reward))
    return history


def microseconds(search: Callable[[Array], None], count: Array) -> float:
    """The minimum time of a search, in microseconds."""
    search(count)
    taken = []
    for _ in range(REPETITIONS):
        begun = process_time()
        search(count)
        taken.append(process_time() - begun)
    return min(taken) / len(count) * 1e6


def _brute(history: History, query: Array, count: Array) -> None:
    for n, x in zip(count, query, strict=True):
        sizes = n[None]
        by_force(history, np.array([0]), sizes, x[None], neighbours(sizes, len(x)))


def _trees(history: History, query: Array, count: Array) -> None:
    for n, x in zip(count, query, strict=True):
        by_trees(history, 0, int(n), x, int(neighbours(n[None], len(x))[0]))


def main() -> None:
    """Print the table."""
    keep_freed_memory()
    print(TITLE)
    for line in table():
        print(line, flush=True)


if __name__ == "__main__":
    main()
