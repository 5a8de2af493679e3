"""What watches a run: a live view in a terminal, one line per finished curve elsewhere.

The first run also says that it compiles the kernels.
"""

from __future__ import annotations

import os
import sys

from corral_core.cli.progress.lines import Lines
from corral_core.cli.progress.live import Live
from corral_core.cli.progress.silent import Silent
from corral_core.engines.progress import Watch
from corral_core.experiments.experiment import Experiment
from corral_core.kernels.compiling import announcement

_said: set[str] = set()


def watcher(experiment: Experiment, *, quiet: bool, as_json: bool) -> Watch:
    """The watcher that suits standard error: a terminal, a file or a pipe."""
    announce_compiling(shown=not quiet and (sys.stderr.isatty() or not as_json))
    if quiet:
        return Silent()
    if sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown"):
        return Live(experiment.points)
    return Silent() if as_json else Lines(experiment.points)


def announce_compiling(shown: bool = True) -> None:
    """Say on standard error, once per process, that this run takes longer because kernels are compiled."""
    sentence = announcement()  # also if it is not shown: it notes what is compiled now
    if sentence and shown and sentence not in _said:
        _said.add(sentence)
        print(sentence, file=sys.stderr, flush=True)
