"""The two searches against a plain one, and against each other: bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from corral_nonparam import search
from corral_nonparam.bases.knn_ucb import neighbours
from corral_nonparam.blocks import Sorted
from corral_nonparam.history import History, Plays
from corral_nonparam.search import by_force, by_trees, nearest_means

from corral_core import Array

ONE = np.array([0])


def history_of(x: Array, reward: Array) -> History:
    """One list."""
    arrays = {"length": np.array([len(x)]), "x": x, "reward": reward}
    return History(1, 1).from_arrays(arrays)  # type: ignore[return-value]


def plainly(x: Array, reward: Array, query: Array, k: int) -> float:
    """Sorted by distance and then by time, summed in the order of time."""
    distance = []
    for point in x:
        total = 0.0
        for one, other in zip(point, query, strict=True):
            apart = float(one) - float(other)
            total += apart * apart  # infinite when a power would raise
        distance.append(total)
    chosen = sorted(range(len(x)), key=lambda play: (distance[play], play))[:k]
    total = 0.0
    for play in sorted(chosen):
        total += float(reward[play])
    return total / k


def cube(rng: np.random.Generator, size: int, d: int) -> Array:
    return rng.random((size, d))


def lattice(rng: np.random.Generator, size: int, d: int) -> Array:
    """Few places, so that most distances are tied."""
    return rng.integers(0, 4, (size, d)) / 4


def drifting(rng: np.random.Generator, size: int, d: int) -> Array:
    """Early plays everywhere and late ones in a corner, so that no block is like the others."""
    return rng.random((size, d)) ** np.linspace(1, 30, size)[:, None]


def leaving(rng: np.random.Generator, size: int, d: int) -> Array:
    """The reverse: the last blocks, which are searched first, suggest that neighbours are near."""
    return drifting(rng, size, d)[::-1].copy()


def one_place(rng: np.random.Generator, size: int, d: int) -> Array:
    return np.full((size, d), 0.25)


def far_and_near(rng: np.random.Generator, size: int, d: int) -> Array:
    """Squares beyond and below what floating-point numbers hold."""
    scale = np.array([1e-170, 1e-160, 1.0, 1e160])
    return rng.standard_normal((size, d)) * scale[rng.integers(0, 4, size)][:, None]


DRAWN: list[Callable[[np.random.Generator, int, int], Array]] = [
    cube,
    lattice,
    drifting,
    leaving,
    one_place,
    far_and_near,
]


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("drawn", DRAWN)
def test_brute_force_is_the_plain_search(drawn: Callable[[np.random.Generator, int, int], Array], d: int) -> None:
    rng = np.random.default_rng(1)
    x, reward = drawn(rng, 60, d), rng.standard_normal(60)
    history = history_of(x, reward)
    for count in (1, 2, 15, 16, 17, 48, 60):
        for k in {1, int(neighbours(np.array([count]), d)[0]), count}:
            for query in (x[0], drawn(rng, 1, d)[0]):
                found = by_force(history, ONE, np.array([count]), query[None], np.array([k]))[0]
                assert found == plainly(x[:count], reward[:count], query, k)


@pytest.mark.parametrize("d", [1, 2, 4, 8, 12])
@pytest.mark.parametrize("drawn", DRAWN)
def test_trees_are_brute_force_at_every_prefix(
    drawn: Callable[[np.random.Generator, int, int], Array], d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With leaves of 16 plays, so that short lists have many blocks."""
    monkeypatch.setattr(search, "LEAF", 16)
    rng = np.random.default_rng(2)
    x, reward = drawn(rng, 1500, d), rng.standard_normal(1500)
    history = history_of(x, reward)
    for _ in range(40):
        count = int(rng.integers(1, 1501))
        query = x[rng.integers(0, 1500)] if rng.random() < 0.5 else drawn(rng, 1, d)[0]
        for k in (int(neighbours(np.array([count]), d)[0]), int(rng.integers(1, count + 1))):
            force = by_force(history, ONE, np.array([count]), query[None], np.array([k]))[0]
            assert by_trees(history, 0, count, query, k) == force


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("drawn", [drifting, leaving])
def test_trees_are_brute_force_for_any_number_of_neighbours(
    drawn: Callable[[np.random.Generator, int, int], Array], d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, so that for some the first radius holds one play too few."""
    monkeypatch.setattr(search, "LEAF", 16)
    rng = np.random.default_rng(8)
    history, count, query = history_of(drawn(rng, 700, d), rng.standard_normal(700)), np.array([699]), rng.random(d)
    for k in range(1, 700):
        assert by_trees(history, 0, 699, query, k) == by_force(history, ONE, count, query[None], np.array([k]))[0]


@pytest.mark.parametrize("d", [1, 4])
def test_trees_are_brute_force_at_full_size(d: int) -> None:
    rng = np.random.default_rng(3)
    x, reward = rng.random((30_000, d)), rng.standard_normal(30_000)
    history = History(1, 1)
    for point, paid in zip(x[:, None], reward[:, None], strict=True):
        history.append(ONE, Plays(point, paid))
    for count in (30_000, 28_672, *rng.integers(16_384, 30_000, 10).tolist()):
        query, k = rng.random(d), neighbours(np.array([count]), d)
        taken = nearest_means(history, ONE, np.array([count]), query[None], k)[0]
        assert taken == by_force(history, ONE, np.array([count]), query[None], k)[0]
        assert taken == by_trees(history, 0, count, query, int(k[0]))
    assert history._trees  # which were used


def test_lists_do_not_influence_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short and long lists, one by one and together, in any order."""
    monkeypatch.setattr(search, "TREES_FROM", 200)
    monkeypatch.setattr(search, "LEAF", 32)
    monkeypatch.setattr(search, "AT_ONCE", 600)
    rng = np.random.default_rng(4)
    history = History(6, arms=2)
    for _ in range(500):
        some = np.flatnonzero(rng.random(12) < np.arange(1, 13) / 12)
        history.append(some, Plays(rng.random((len(some), 2)), rng.random(len(some))))
    count, query = history.length.copy(), rng.random((12, 2))
    assert count.min() < 100
    assert count.max() > 400
    k = neighbours(count, 2)
    together = nearest_means(history, np.arange(12), count, query, k)
    order = rng.permutation(12)
    assert nearest_means(history, order, count[order], query[order], k[order]).tolist() == together[order].tolist()
    for number in range(12):
        one = slice(number, number + 1)
        alone = nearest_means(history, np.array([number]), count[one], query[one], k[one])
        assert alone[0] == together[number]


def test_trees_follow_restarts_and_are_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LEAF", 16)
    rng = np.random.default_rng(5)
    history = History(2, arms=2)

    def played(plays: int, rows: Array) -> tuple[Array, Array]:
        x, reward = rng.random((plays, len(rows), 2)), rng.random((plays, len(rows)))
        for point, paid in zip(x, reward, strict=True):
            history.append(rows, Plays(point, paid))
        return x, reward

    def agrees(number: int, x: Array, reward: Array) -> None:
        query = rng.random(2)
        assert by_trees(history, number, len(x), query, 9) == plainly(x, reward, query, 9)

    x, reward = played(100, np.arange(4))
    for number in range(4):
        agrees(number, x[:, number], reward[:, number])
    kept = history._trees[0]
    held = history.nbytes
    history.put(np.array([1]), History(1, arms=2))  # lists 2 and 3 start again
    assert set(history._trees) == {0, 1}
    assert history.nbytes < held
    again, paid = played(70, np.array([2, 3]))
    agrees(2, again[:, 0], paid[:, 0])
    agrees(0, x[:, 0], reward[:, 0])
    assert history._trees[0] is kept

    loaded = history.from_arrays(history.to_arrays())
    assert isinstance(loaded, History)
    assert (len(loaded), loaded.arms, loaded._trees) == (2, 2, {})
    both = History.concatenate([history, loaded])
    assert isinstance(both, History)
    assert len(both) == 4
    history = both
    agrees(6, again[:, 0], paid[:, 0])


def test_a_prefix_that_is_gone_leaves_no_tree() -> None:
    """A search for more plays than exist since a restart builds no trees of plays before the restart."""
    rng = np.random.default_rng(6)
    history = history_of(rng.random((3000, 1)), rng.random(3000))
    history.forget(ONE)
    by_trees(history, 0, 3000, np.array([0.5]), 10)
    assert not history._trees.get(0)


def test_sorted_blocks_never_miss_a_point() -> None:
    """Radii far below the spacing of floating-point numbers, and at it."""
    values = 1 + np.arange(-50, 51) * np.spacing(1.0)
    block = Sorted(values[:, None])
    for radius in (0.0, 1e-300, 1e-17, 1e-16, 2.3e-16, 5e-15):
        within = set(np.flatnonzero(np.abs(values - 1.0) <= radius).tolist())
        assert within <= set(block.query_ball_point(np.array([1.0]), radius).tolist())


def test_crossover_is_measured() -> None:
    from corral_nonparam.crossover import table

    lines = list(table(sizes=(500, 2000), dimensions=(1, 2)))
    assert len(lines) == 5
    assert lines[1].split()[:3] == ["1", "500", "62"]  # floor(500^(2/3)) = 62
    assert all(line.endswith("brute force") for line in lines[1:])


def test_memory_that_the_documentation_promises() -> None:
    """8 (d + 1) bytes per play without trees, at most twice that while a page fills, and ten short pages."""
    history = history_of(np.zeros((5000, 3)), np.zeros(5000))
    assert 5000 * 32 <= history.nbytes <= 2.2 * 5000 * 32
