"""`corral run --only CURVE:CHUNK`: one chunk alone, in this process, as it was or will be in the whole run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corral_core.errors import CorralError

if TYPE_CHECKING:
    from corral_core.engines.chunks import Task
    from corral_core.experiments.experiment import Experiment
    from corral_core.runs.failed import RunFailed
    from corral_core.runs.results import Result


def check_only(out: Path | None, engine: str, stall: float | None) -> None:
    """Refuse options that mean nothing for one chunk."""
    if out is not None or stall is not None or engine not in ("serial", "processes"):
        raise CorralError("--only plays one chunk here and keeps nothing; leave out --out, --stall and --engine")


def play_only(experiment: Experiment, only: str, debug: bool) -> tuple[RunFailed | None, list[Result]]:
    """Play one chunk; returns what went wrong, if anything, and the result of its replicates."""
    from corral_core.engines.engine import lost_by, play_task
    from corral_core.runs.description import describe
    from corral_core.runs.failed import RunFailed
    from corral_core.runs.results import gather

    task = chosen(experiment, only)
    point = experiment.points[task.point]
    try:
        done = play_task(point, task)
    except KeyboardInterrupt as stopped:
        if debug:  # shows where a plugin hangs
            _debug(stopped)
        raise
    except Exception as error:
        if debug:
            _debug(error)
        lost = lost_by(error, point, task)
        return RunFailed(f"{task.words}: {lost.reason}", [], (lost,)), []
    return None, gather(describe(experiment), [done])


def chosen(experiment: Experiment, only: str) -> Task:
    """The task that CURVE:CHUNK means, or CURVE:POINT.CHUNK; numbers begin with 1."""
    from corral_core.engines.chunks import tasks
    from corral_core.parsing import shown
    from corral_core.suggestions import suggestion

    curve, _, numbers = only.rpartition(":")
    point, dot, chunk = numbers.rpartition(".")
    everything = tasks(experiment.points)
    wanted = "CURVE:POINT.CHUNK" if len(experiment.points) > 1 else "CURVE:CHUNK"
    if not curve or not chunk.isdecimal() or not (point.isdecimal() or not dot):
        raise CorralError(f"--only must be {wanted}, with numbers from 1, not {shown(only)}")
    names = dict.fromkeys(task.curve for task in everything)
    if curve not in names:
        raise CorralError(f"--only: there is no curve {shown(curve)}{suggestion(curve, names)}")
    if not dot and len(experiment.points) > 1:
        raise CorralError(f"--only must be {wanted}, because {experiment.name} sweeps over points, not {shown(only)}")
    mine = {(task.point + 1, task.chunk_number + 1): task for task in everything if task.curve == curve}
    place = int(point or 1), int(chunk)
    if place not in mine:
        points, chunks = max(mine)
        among = f"points 1 to {points} and " if points > 1 else ""
        raise CorralError(f"--only: {curve} has {among}chunks 1 to {chunks}, so there is no {shown(numbers)}")
    return mine[place]


def _debug(error: BaseException) -> None:
    """Open the debugger in the last frame of the plugin; if there is none, where the error was raised."""
    import pdb
    from types import TracebackType

    from corral_core.engines.failure import origin, plugin_frames

    first = origin(error)
    above, inside, _ = plugin_frames(first)
    frames: TracebackType | None = None
    for each in reversed([*above, *inside]):
        frames = TracebackType(frames, each.tb_frame, each.tb_lasti, each.tb_lineno)
    print(f"{type(first).__name__}: {first}")
    pdb.post_mortem(frames)
