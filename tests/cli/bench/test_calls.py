"""Calls per play: what is counted, and that counting ends."""

import sys

import numpy as np
import pytest

from corral_core.cli.bench.calls import PLAYS, Calls, of_chunk, per_play, play_shortly
from corral_core.cli.bench.workloads import experiment
from corral_core.experiments.point import parse_point


@pytest.mark.parametrize("times", [0, 1, 7])
def test_calls_of_c_functions_are_counted(times: int) -> None:
    values = np.arange(3)
    with Calls() as calls:
        for _ in range(times):
            values.take(values)
    assert calls.count == times
    assert sys.getprofile() is None


def test_operators_and_universal_functions_are_not() -> None:
    values = np.ones(3)
    with Calls() as calls:
        _ = values + values * 2
        np.add(values, values)
    assert calls.count == 0


def test_calls_per_call() -> None:
    values = np.arange(3)

    def three() -> None:
        for _ in range(3):
            values.take(values)

    assert per_play(three, 10) == 3


def test_a_chunk_is_counted_in_a_short_run() -> None:
    """The count is that of a play of all rows: with more rows it is about the same, with more bases it is not."""
    few, many = (parse_point(experiment("epsilon", rows, 10 * PLAYS)) for rows in (2, 40))
    play_shortly(few)
    one, other = of_chunk(few), of_chunk(many)
    assert sys.getprofile() is None
    assert 10 < one < 200
    assert other == pytest.approx(one, rel=0.2)
    mixed = parse_point(experiment("mixed", 40, 10 * PLAYS))
    assert of_chunk(mixed) > 2 * other, "six blocks in place of one"


def test_a_run_that_is_shorter_than_that() -> None:
    short = parse_point(experiment("epsilon", 2, 4))
    play_shortly(short)
    assert of_chunk(short) >= 0
