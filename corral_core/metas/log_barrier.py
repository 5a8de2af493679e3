"""Online mirror descent with the log barrier: one step for all rows at once (`kernels/log_barrier.py` says how)."""

from __future__ import annotations

import numpy as np

from corral_core.kernels import log_barrier
from corral_core.rows import Array


def log_barrier_step(p: Array, eta: Array, chosen: Array, loss: Array, active: Array | None = None) -> Array:
    """The step for a loss that is `loss` at the chosen base and 0 elsewhere. `p`, `eta`: (bases, rows).

    If `active` is given, inactive bases have p = 0 before and after.
    """
    if len(p) == 1:
        return np.ones_like(p)
    found: Array = log_barrier.log_barrier_step(p, eta, chosen, loss, active)
    return found
