"""The command line. `main` imports the rest, so that it can catch an interrupt during the imports."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `corral`; an interrupt during the imports is one line and exit code 130, as it is later."""
    try:
        from corral_core.cli.application import run_command

        run_command(arguments)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
