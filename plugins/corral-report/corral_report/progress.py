"""What a run is still missing, in sentences."""

from __future__ import annotations

from corral_core import CorralError, Run
from corral_core.runs.files import usable
from corral_core.terminal import counted


def incomplete(run: Run) -> str:
    """What a run is still missing, as a sentence; empty if it is complete."""
    there, wanted = len(run.finished()), len(run.tasks)
    if there == wanted:
        return ""
    return (
        f"{run.path} is incomplete: {there} of {wanted} chunks exist{_not_entered(run)}; "
        f"{run.command} plays what is missing."
    )


def check_begun(run: Run) -> None:
    """Refuse a run without any chunk."""
    if not run.finished():
        raise nothing(run)


def nothing(run: Run) -> CorralError:
    """The error for a run without any chunk."""
    return CorralError(f"{run.path} contains no curve yet{_not_entered(run)}; {run.command} plays what is missing")


def _not_entered(run: Run) -> str:
    """How many chunk files do not count, because they are damaged or not in the journal."""
    if damaged := run.damaged():
        return f" ({counted(len(damaged), 'damaged chunk')})"
    with usable(run.path):
        count = sum(path.name not in run.journal for path in run.path.glob("chunks/*.npz"))
    if not count:
        return ""
    return f" ({count} chunk file{'s have' if count > 1 else ' has'} no entry in journal.jsonl)"
