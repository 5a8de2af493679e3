"""Mean rewards of the k nearest plays in a prefix of a list: by brute force, or by trees. Both are exact, and agree.

Distances are Euclidean; squares are summed coordinate by coordinate. If two plays are at equal distance, the earlier
one is nearer. Rewards are summed in the order of play, so both searches return the same bits.

*Brute force* computes all distances, many lists at a time. *Trees* serve one list at a time: a prefix of n plays
consists of blocks, given by the binary digits of n, and fewer than `LEAF` plays at its end. One tree gives the radius
of about k plays, each block lists the plays within this radius, and their distances are computed again as in brute
force. If the radius held fewer than k plays, it is enlarged. So a tree only proposes candidates, and its rounding does
not matter.

>>> from corral_nonparam.history import History, Plays
>>> history = History(1, arms=1)
>>> for x, reward in ((0.5, 1.0), (0.1, 2.0), (0.3, 4.0)):
...     history.append(np.array([0]), Plays(np.array([[x]]), np.array([reward])))
>>> nearest_means(history, np.array([0]), np.array([3]), np.array([[0.2]]), np.array([2]))
array([3.])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corral_core import Array
from corral_nonparam.blocks import LARGE
from corral_nonparam.history import History

LEAF = 1024  # plays in the smallest tree
TREES_FROM = 16384  # plays of a list from which trees are faster; twice as many with 2 or 3 features
TREES_UP_TO = 12  # features; with more, a tree visits nearly all points
AT_ONCE = 2**17  # numbers that brute force holds at a time
SHARE = 64  # minimum number of neighbours in the tree that gives the radius
INNER, OUTER = 1 + 2e-9, 1 + 4e-9  # far above the rounding error of a distance
SMALL = 1e-140  # below, squares of distances lose precision; above LARGE they overflow


def trees_pay(dimension: int, count: Array) -> Array:
    """Whether trees are faster than brute force, as `python -m corral_nonparam.crossover` measures."""
    if dimension > TREES_UP_TO:
        return np.zeros(len(count), dtype=bool)
    return count >= (2 * TREES_FROM if dimension in (2, 3) else TREES_FROM)


def tree_bytes(dimension: int, count: int) -> int:
    """Approximate bytes of trees per play, once replays used prefixes of all lengths up to `count`: half of all blocks.

    A block takes 12 bytes per play if d = 1, else 8 d + 18. Blocks have `LEAF` plays, and each doubling of that.
    """
    if not trees_pay(dimension, np.array([count]))[0]:
        return 0
    return round(math.log2(count / LEAF) * (6 if dimension == 1 else 4 * dimension + 9))


def nearest_means(history: History, numbers: Array, count: Array, query: Array, k: Array) -> Array:
    """For each of these lists, the mean reward of the k plays nearest to the query among the first `count`.

    `numbers`, `count` and `k` (from 1 to count) are (jobs,), `query` is (jobs, d). The result of a job does not depend
    on the other jobs.
    """
    means = np.empty(len(numbers))
    long = trees_pay(query.shape[1], count)
    for job in np.flatnonzero(long):  # every list has its own trees
        means[job] = by_trees(history, int(numbers[job]), int(count[job]), query[job], int(k[job]))
    short = np.flatnonzero(~long)
    short = short[np.argsort(count[short], kind="stable")]  # similar lengths together, because they are padded
    while len(short):
        width = int(count[short[-1]])
        some = short[-max(1, AT_ONCE // (width * query.shape[1])) :]
        means[some] = by_force(history, numbers[some], count[some], query[some], k[some])
        short = short[: -len(some)]
    return means


def by_force(history: History, numbers: Array, count: Array, query: Array, k: Array) -> Array:
    """Mean rewards from all distances, for all lists at once."""
    longest = int(count.max())
    distance = squared_distance(history.points(numbers, longest), query[:, None])
    if count.min() < longest:
        beyond = np.arange(longest) >= count[:, None]
        np.copyto(distance, np.nan, where=beyond)  # sorts after all numbers, and equals none
    job, play = nearest(distance, k)
    return _means(history, numbers[job], play, job, k)


def by_trees(history: History, number: int, count: int, query: Array, k: int) -> float:
    """Mean reward from the distances within a radius that holds at least k plays."""
    blocks = _blocks(min(count, int(history.length[number])))
    trees = [history.tree(number, first, size) for first, size in blocks]
    if not trees or None in trees or np.abs(query).max() > LARGE:
        return _forced(history, number, count, query, k)
    numbers, sizes, rest = np.array([number]), np.array([k]), np.arange(sum(blocks[-1]), count)
    asked, wanted = _first_guess(blocks, count, k)
    while True:
        reach = trees[asked].query(query, [wanted])[0][0] if wanted <= blocks[asked][1] else np.inf
        radius = float(reach)
        if not SMALL < radius < LARGE:
            return _forced(history, number, count, query, k)
        found: list[Any] = [
            np.asarray(tree.query_ball_point(query, radius * OUTER), dtype=np.int64) + first
            for tree, (first, _) in zip(trees, blocks, strict=True)
        ]
        play = np.sort(np.concatenate([*found, rest]))
        distance = squared_distance(history.column("x", numbers, play), query)
        if np.count_nonzero(distance <= (radius * INNER) ** 2) >= k:
            break
        asked, wanted = 0, min(k, 2 * wanted if asked == 0 else wanted * blocks[0][1] // blocks[asked][1])
    job, place = nearest(distance[None], sizes)
    return float(_means(history, numbers, play[place], job, sizes)[0])


@np.errstate(over="ignore", invalid="ignore")  # values beyond the end of a list are arbitrary
def squared_distance(x: Array, query: Array) -> Array:
    """Squared distance along the last axis, summed one coordinate after another."""
    total: Array = x[..., 0] - query[..., 0]
    total *= total
    for coordinate in range(1, x.shape[-1]):
        along = x[..., coordinate] - query[..., coordinate]
        along *= along
        total += along
    return total


def nearest(distance: Array, k: Array) -> tuple[Array, Array]:
    """Row and column of the k smallest values of each row, in column order; of equal values the first ones."""
    most = int(k.max())
    low = np.partition(distance, most - 1, axis=1)[:, :most]
    if (k < most).any():
        low.sort(axis=1)
    bar = low[np.arange(len(k)), k - 1, None]
    near = distance <= bar
    found = np.flatnonzero(near)
    if len(found) > k.sum():
        tied = np.flatnonzero(np.count_nonzero(near, axis=1) > k)
        below, equal = distance[tied] < bar[tied], distance[tied] == bar[tied]
        room = k[tied] - np.count_nonzero(below, axis=1)
        near[tied] = below | (equal & (np.cumsum(equal, axis=1) <= room[:, None]))
        found = np.flatnonzero(near)
    return np.divmod(found, distance.shape[1])


def _means(history: History, numbers: Array, play: Array, job: Array, k: Array) -> Array:
    """Mean rewards of these plays, summed in their order."""
    found: Array = np.bincount(job, weights=history.column("reward", numbers, play), minlength=len(k)) / k
    return found


def _forced(history: History, number: int, count: int, query: Array, k: int) -> float:
    return float(by_force(history, np.array([number]), np.array([count]), query[None], np.array([k]))[0])


def _blocks(count: int) -> list[tuple[int, int]]:
    """The first play and the size of every block of a prefix, largest first."""
    blocks, first = [], 0
    for digit in reversed(range(LEAF.bit_length() - 1, count.bit_length())):
        if count >> digit & 1:
            blocks.append((first, 1 << digit))
            first += 1 << digit
    return blocks


def _first_guess(blocks: list[tuple[int, int]], count: int, k: int) -> tuple[int, int]:
    """Which tree gives the radius, and how many of its plays it should hold: its share of k plus 3 deviations."""
    asked = 0
    for block, (_, size) in enumerate(blocks):
        if k * size >= SHARE * count:
            asked = block
    share = k * blocks[asked][1] / count
    return asked, min(k, int(share + 3 * share**0.5) + 1)
