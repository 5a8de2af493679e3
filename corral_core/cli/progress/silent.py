"""Progress that is not shown: warnings only."""

from __future__ import annotations

import sys

from corral_core.engines.progress import Watch
from corral_core.terminal import printable


class Silent(Watch):
    """Reports trouble only."""

    def trouble(self, sentence: str) -> None:
        print(warning(sentence), file=sys.stderr, flush=True)


def warning(sentence: str) -> str:
    """A warning on one line."""
    return f"Warning: {printable(' '.join(sentence.split()))}"
