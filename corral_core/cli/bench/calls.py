"""Calls per play: how often Python calls functions of C, above all numpy's, as its profiler reports them.

numpy's functions and methods count, as does everything that is built in. Operators, universal functions (such as
`np.add`, but `np.add.reduce` counts) and kernels that numba compiled are not reported. Counting slows a program down,
so it is done in a short run that is not timed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from corral_core.experiments.point import Point

PLAYS = 200  # that are counted, at least


class Calls:
    """Counts inside `with`."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self.count -= 1  # the call that ended it

    def _heard(self, frame: FrameType, event: str, argument: Any) -> None:
        self.count += event == "c_call"


def per_play(play: Callable[[], object], plays: int = PLAYS) -> float:
    """C calls per call of this function."""
    with Calls() as calls:
        for _ in range(plays):
            play()
    return calls.count / plays


class _Enough(Exception):  # noqa: N818 - nothing is wrong
    """Ends a run that is long enough."""


def play_shortly(point: Point) -> None:
    """Play the first checkpoints of a point's curve, so that everything is imported, compiled and allocated once."""
    _play_until_enough(point, Calls(), counting=False)


def of_chunk(point: Point) -> float:
    """C calls per play of a chunk (of all its rows together), from its first checkpoint on."""
    return _play_until_enough(point, Calls(), counting=True)


def _play_until_enough(point: Point, calls: Calls, counting: bool) -> float:
    from corral_core.engines.chunks import run_chunk

    first = latest = 0
    counted = 0

    def progress(checkpoint: int, plays: int, record: object) -> None:
        nonlocal first, latest, counted
        if not first:
            first = plays
            if counting:
                calls.__enter__()
        latest, counted = plays, calls.count
        if plays >= first + PLAYS:
            raise _Enough

    try:
        run_chunk(point, point.curves[0].name, 0, progress)
    except _Enough:
        pass
    finally:
        sys.setprofile(None)
    return counted / max(latest - first, 1)
