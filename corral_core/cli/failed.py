"""What `corral run` shows of curves that failed: where, why, and the command that replays the chunk alone."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corral_core.engines.chunks import Task
    from corral_core.engines.engine import Lost
    from corral_core.experiments.experiment import Experiment
    from corral_core.runs.failed import RunFailed


def show_failed(experiment: Experiment, failed: RunFailed, again: Sequence[str] | None) -> None:
    """Print every failed curve to standard error; without `again`, not how to replay it."""
    for lost in failed.lost:
        print(f"\nFailed: {_where(experiment, lost)}", file=sys.stderr)
        print(lost.failure.traceback if lost.failure and lost.failure.traceback else lost.reason, file=sys.stderr)
        if again is not None:
            print(f"Replay it: {_replayed(again, experiment, lost.task)} (add --pdb to debug it)", file=sys.stderr)


def failed_rows(experiment: Experiment, failed: RunFailed, again: Sequence[str]) -> list[dict[str, Any]]:
    """The list `failed` of the JSON object."""
    return [
        {
            "name": lost.task.curve,
            "at": experiment.points[lost.task.point].at,
            "point": lost.task.point + 1,
            "chunk": lost.task.chunk_number + 1,
            "error": lost.reason,
            "in": lost.failure.who if lost.failure else "",
            "play": lost.failure.play if lost.failure else None,
            "traceback": lost.failure.traceback if lost.failure else "",
            "replay": _replayed(again, experiment, lost.task),
        }
        for lost in failed.lost
    ]


def replay_command(experiment: str, out: Path | None, changed: dict[str, Any]) -> list[str]:
    """The beginning of the command that replays a chunk: of a kept run, or with the same settings."""
    from corral_core.experiments.source import is_registered

    if out is not None:
        return ["corral", "run", f"./{out}" if is_registered(str(out)) else str(out)]
    given = [(f"--{name}", str(value)) for name, value in changed.items() if value is not None]
    return ["corral", "run", experiment, *(word for pair in given for word in pair)]


def _replayed(again: Sequence[str], experiment: Experiment, task: Task) -> str:
    point = f"{task.point + 1}." if len(experiment.points) > 1 else ""
    return shlex.join([*again, "--only", f"{task.curve}:{point}{task.chunk_number + 1}", "--engine", "serial"])


def _where(experiment: Experiment, lost: Lost) -> str:
    """Curve, chunk, replicates, and if a plugin failed whose code it was and in which play."""
    task, point = lost.task, experiment.points[lost.task.point]
    first = task.chunk_number * point.chunk_size
    at = f" ({point.at})" if point.at else ""
    rows = f"replicates {first + 1} to {first + task.rows} of {point.replicates}"
    if lost.failure is None:
        return f"{task.words}{at}, {rows}"
    who = f", in {lost.failure.who}" if lost.failure.who else ""
    when = f"at play {lost.failure.play:,} of {task.plays:,}" if lost.failure.play else "before the first play"
    return f"{task.words}{at}, {rows}{who}, {when}"
