"""Counting steps by loops and by arrays: the same bits, and those of a loop over the steps."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from corral_kit.tabular.tabular import Steps
from corral_tabular.counts import Counts, count

STATES, ACTIONS, OUTCOMES = 4, 3, 5


def steps(rows: int, number: int) -> Steps:
    rng = np.random.default_rng(rows)
    sizes = {"learner": rows, "stage": 6, "state": STATES, "action": ACTIONS, "outcome": OUTCOMES}
    drawn = {name: rng.integers(size, size=number) for name, size in sizes.items()}
    reward = rng.standard_normal(number) * 10.0 ** rng.integers(-9, 9, size=number)
    return Steps(**drawn, reward=reward, last=rng.random(number) < 0.2)


@pytest.mark.parametrize("rows", [1, 2, 3, 512])
@pytest.mark.parametrize("number", [0, 1, 5000])
def test_counts_are_those_of_a_loop_both_ways(rows: int, number: int) -> None:
    told = steps(rows, number)
    counts = Counts.fresh(rows, STATES, ACTIONS, OUTCOMES)
    counts.add(told)
    wanted = Counts.fresh(rows, STATES, ACTIONS, OUTCOMES)
    for step in range(number):
        at = told.learner[step], told.state[step], told.action[step]
        wanted.taken[at] += 1
        wanted.reward[at] += told.reward[step]
        if not told.last[step]:
            wanted.led[at][told.outcome[step]] += 1
    twins: list[Any] = [count.arrays]
    if find_spec("numba"):
        twins.append(count.compiled)
    place = np.ravel_multi_index((told.learner, told.state, told.action), (rows, STATES, ACTIONS))
    for twin in twins:
        found = Counts.fresh(rows, STATES, ACTIONS, OUTCOMES)
        twin(found.taken, found.reward, found.led, place, told.reward, told.outcome, told.last)
        for name in Counts.names:
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
            np.testing.assert_array_equal(getattr(counts, name), getattr(wanted, name))


@pytest.mark.parametrize("outcome", [OUTCOMES, -1, 10**11])
def test_an_outcome_that_does_not_exist_is_not_counted(outcome: int) -> None:
    """Unless it is that of the last step, which does not matter."""
    one = np.zeros(1, np.intp)
    for twin in (count.arrays, count.loops, *([count.compiled] if find_spec("numba") else [])):
        counts = Counts.fresh(1, STATES, ACTIONS, OUTCOMES)
        with pytest.raises(ValueError, match="there is no such outcome"):
            twin(counts.taken, counts.reward, counts.led, one, np.ones(1), np.array([outcome]), np.array([False]))
        assert not (counts.taken.any() or counts.reward.any() or counts.led.any())
        twin(counts.taken, counts.reward, counts.led, one, np.ones(1), np.array([outcome]), np.array([True]))
        assert (counts.taken.sum(), counts.led.sum()) == (1, 0)
