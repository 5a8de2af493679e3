"""What watches a run: a live view in a terminal, one line per finished curve elsewhere."""

from __future__ import annotations

import os
import sys

from corral_core.cli.progress.lines import Lines
from corral_core.cli.progress.live import Live
from corral_core.cli.progress.silent import Silent
from corral_core.engines.progress import Watch
from corral_core.experiments.experiment import Experiment


def watcher(experiment: Experiment, *, quiet: bool, as_json: bool) -> Watch:
    """The watcher that suits standard error: a terminal, a file or a pipe."""
    if quiet:
        return Silent()
    if sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown"):
        return Live(experiment.points)
    return Silent() if as_json else Lines(experiment.points)
