"""Rows and logs: records of arrays that share their first axis.

Also tests `log.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from corral_core.errors import CorralError
from corral_core.log import Log
from corral_core.rows import Array, Rows, object_array


class Inner(Rows):
    weight: Array


class State(Rows):
    pulls: Array
    inner: Inner
    note: Array | None = None


class Play(Rows):
    arm: Array
    score: Array


def state(rows: int) -> State:
    return State(np.arange(rows * 2.0).reshape(rows, 2), Inner(np.arange(rows)))


def test_take_copies() -> None:
    whole = state(4)
    some = whole.take(np.array([3, 1]))
    assert some.pulls.tolist() == [[6, 7], [2, 3]]
    assert some.inner.weight.tolist() == [3, 1]
    some.pulls[:] = -1
    assert whole.pulls.min() == 0


def test_put_overwrites_only_its_rows() -> None:
    whole, before = state(5), state(5)
    whole.put(np.array([1, 4]), state(2))
    assert whole.pulls[[1, 4]].tolist() == [[0, 1], [2, 3]]
    assert whole.inner.weight[[1, 4]].tolist() == [0, 1]
    rest = [0, 2, 3]
    assert (whole.pulls[rest] == before.pulls[rest]).all()


def test_concatenate_and_length() -> None:
    joined = State.concatenate([state(2), state(3)])
    assert len(joined) == 5
    assert joined.inner.weight.tolist() == [0, 1, 0, 1, 2]
    assert joined.nbytes == 5 * 2 * 8 + 5 * 8


def test_arrays_and_back() -> None:
    whole = state(3)
    again = state(3).from_arrays({key: array.copy() for key, array in whole.to_arrays().items()})
    assert (again.pulls == whole.pulls).all()
    assert (again.inner.weight == whole.inner.weight).all()
    assert again.note is None


def test_objects_are_copied_when_detached_and_refuse_to_be_saved() -> None:
    class Learner:
        def __init__(self) -> None:
            self.seen = [1]

    class WithSnapshot(Learner):
        def snapshot(self) -> str:
            return "my own copy"

    holder = Inner(object_array([Learner(), WithSnapshot()]))
    detached = holder.detached()
    holder.weight[0].seen.append(2)
    assert detached.weight[0].seen == [1]
    assert detached.weight[1] == "my own copy"
    with pytest.raises(CorralError, match=r"Inner\.weight holds Python objects"):
        holder.to_arrays()


def random_log(seed: int, rows: int, rounds: int) -> tuple[Log, list[list[tuple[int, float]]]]:
    """A log filled at random, beside plain lists of the same."""
    rng = np.random.default_rng(seed)
    log, lists = Log(rows), [[] for _ in range(rows)]
    weight = rng.random(rows) ** 3
    for _ in range(rounds):
        chosen = np.flatnonzero(rng.random(rows) < weight)
        play = Play(rng.integers(0, 100, len(chosen)), rng.random(len(chosen)))
        log.append(chosen, play)
        for row, arm, score in zip(chosen, play.arm, play.score, strict=True):
            lists[row].append((int(arm), float(score)))
    return log, lists


def assert_log_is(log: Log, lists: list[list[tuple[int, float]]]) -> None:
    assert log.length.tolist() == [len(entries) for entries in lists]
    for row, entries in enumerate(lists):
        found = log.get(np.full(len(entries), row), np.arange(len(entries)))
        if entries:
            assert list(zip(found.arm.tolist(), found.score.tolist(), strict=True)) == entries


def test_log_against_lists() -> None:
    assert_log_is(*random_log(seed=1, rows=7, rounds=900))


def test_log_forgets_rows_and_goes_on() -> None:
    log, lists = random_log(seed=2, rows=6, rounds=300)
    log.forget(np.array([0, 3]))
    lists[0], lists[3] = [], []
    assert_log_is(log, lists)
    rng = np.random.default_rng(3)
    for _ in range(100):
        rows = np.array([0, 3, 5])
        play = Play(rng.integers(0, 100, 3), rng.random(3))
        log.append(rows, play)
        for row, arm, score in zip(rows, play.arm, play.score, strict=True):
            lists[row].append((int(arm), float(score)))
    assert_log_is(log, lists)


def test_log_survives_arrays_and_back() -> None:
    log, lists = random_log(seed=4, rows=5, rounds=200)
    assert_log_is(log.from_arrays(log.to_arrays()), lists)


def test_a_fresh_log_can_be_loaded_if_it_knows_its_entries() -> None:
    log, lists = random_log(seed=5, rows=5, rounds=200)
    assert_log_is(Log(5, Play).from_arrays(log.to_arrays()), lists)
    with pytest.raises(CorralError, match="must know the class of its entries"):
        Log(5).from_arrays(log.to_arrays())


def test_logs_are_concatenated_row_by_row() -> None:
    (one, first), (two, second) = random_log(seed=6, rows=3, rounds=90), random_log(seed=7, rows=4, rounds=50)
    assert_log_is(Log.concatenate([one, Log(2), two]), [*first, [], [], *second])


def test_entries_keep_their_type() -> None:
    log = Log(1)
    log.append(np.array([0]), Play(np.array([1]), np.array([1])))
    with pytest.raises(TypeError, match=r"Play\.score was int64 and is float64 now"):
        log.append(np.array([0]), Play(np.array([1]), np.array([0.7])))


def test_forgotten_pages_are_used_again() -> None:
    """Two hundred lives of a hundred entries take the room of one."""
    log, rows = Log(3), np.arange(3)
    used = []
    for _ in range(200):
        for number in range(100):
            log.append(rows, Play(rows + number, rows / 2))
        used.append(log._used)
        log.forget(rows)
    assert used[0] == used[-1]


def test_log_memory_follows_what_was_appended() -> None:
    """One busy row among ten thousand: the arena holds its entries, not rows times entries."""
    log, row = Log(10_000), np.array([17])
    empty = log.nbytes
    for number in range(5000):
        log.append(row, Play(np.array([number]), np.array([0.5])))
    entries = 5000 * 16
    directory = 10_000 * 8 * 10  # a place a row for each of the pages of doubling size
    assert log.nbytes - empty < 4 * entries + directory


def test_log_append_is_amortised_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """New pages are taken a logarithmic number of times, and the arena grows a logarithmic number of times."""
    taken = []
    original = Log._make_room
    monkeypatch.setattr(Log, "_make_room", lambda self, rows: taken.append(len(rows)) or original(self, rows))
    log, rows = Log(8), np.arange(8)
    for _ in range(10_000):
        log.append(rows, Play(rows, rows / 2))
    assert len(taken) == 10  # 16 (2^10 - 1) >= 10,000


def test_log_refuses_what_is_not_an_array() -> None:
    with pytest.raises(TypeError, match=r"State\.inner is neither"):
        Log(3).append(np.arange(3), state(3))


def test_a_subclass_of_log_stays_one() -> None:
    """Loaded or concatenated: a subclass with arguments of its own says how an empty one is made."""

    class Marked(Log):
        def __init__(self, rows: int, mark: str) -> None:
            super().__init__(rows, Play)
            self.mark = mark

        def empty(self, rows: int) -> Marked:
            return Marked(rows, self.mark)

    log, lists = random_log(seed=5, rows=3, rounds=40)
    loaded = Marked(3, "x").from_arrays(log.to_arrays())
    both = Marked.concatenate([loaded, Marked(2, "y")])
    assert isinstance(both, Marked)
    assert both.mark == "x"
    assert_log_is(both, [*lists, [], []])
    assert type(log.empty(4)) is Log


class Maybe(Rows):
    n: Array
    best: Array | None = None
    inner: Rows | None = None


def test_what_was_none_when_it_was_made_is_loaded_too() -> None:
    fresh, found = Maybe(np.zeros(2)), Maybe(np.ones(2), best=np.array([3.0, 4.0]))
    assert fresh.from_arrays(found.to_arrays()).best.tolist() == [3.0, 4.0]
    assert found.from_arrays(fresh.to_arrays()).best is None
    nested = Maybe(np.ones(2), inner=Maybe(np.ones(2)))
    with pytest.raises(CorralError, match=r"Maybe.inner was saved, but is not there in a fresh record"):
        fresh.from_arrays(nested.to_arrays())
