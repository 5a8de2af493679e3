"""The size of chunks: how many replicates advance together.

At most 512, and no more than fit into about 400 MB according to `simulation.memory`. The replicates are cut into as few
chunks as possible, all of about the same size.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral_core.errors import CorralError
from corral_core.protocols.environment import Environment
from corral_core.simulation.curve import Curve
from corral_core.simulation.memory import bytes_per_row

MOST_REPLICATES = 512
MOST_BYTES = 400_000_000


def chunk_size(environment: Environment, curves: Sequence[Curve], horizon: int, replicates: int, where: str) -> int:
    """Replicates per chunk."""
    try:
        each = bytes_per_row(environment, curves, horizon)
    except (MemoryError, OverflowError, ValueError) as problem:  # what numpy raises for arrays that are far too large
        raise CorralError(f"{where}: one replicate cannot be set up: {problem}") from None
    most = max(1, min(MOST_REPLICATES, MOST_BYTES // each))
    chunks = -(-replicates // most)
    return -(-replicates // chunks)
