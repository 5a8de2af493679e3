"""An estimate of the memory that a replicate takes; it decides how replicates are cut into chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError, Terminated
from corral_core.protocols.environment import Environment
from corral_core.rows import Array
from corral_core.selection.setup import given_rows
from corral_core.selection.validation import record_of
from corral_core.simulation.curve import Curve
from corral_core.simulation.record import CHECKPOINTS

RECORDED = 40  # bytes per checkpoint and base that a record takes, with up to three quantities of the meta
SERVING = 4  # bytes per play that replay keeps of a base that rarely changes


def bytes_per_row(environment: Environment, curves: Sequence[Curve], horizon: int) -> int:
    """Estimated memory of one replicate, in bytes, in the curve that needs most."""
    rng = np.random.default_rng(0)
    instance = environment.draw(1, rng)
    shown = environment.shown(instance)
    most = 1
    for curve in curves:
        try:
            recorded = RECORDED + 8 * max(0, len(curve.records) - 3)
            most = max(most, _held(curve, shown, horizon, rng) + recorded * CHECKPOINTS * len(curve.bases))
        except (CorralError, MemoryError, OverflowError, ValueError):
            raise
        except Terminated:
            raise
        except (Exception, SystemExit):  # a bug of a base: its own curve fails when it is played, and says so there
            continue
    return most + int(getattr(instance, "nbytes", 0))


def _held(curve: Curve, shown: dict[str, Array], horizon: int, rng: Generator) -> int:
    """Bytes of the states, policies and past plays of one replicate of a curve."""
    state, rounds = 0, curve.rounds(horizon)
    share = -(-rounds // len(curve.bases))
    all_learn = curve.options.share or (curve.meta is not None and curve.meta.feedback != "raw")
    scratch = max(base.scratch_bytes for base in curve.bases)
    kept = 0  # bytes of past plays: of one base that plays all rounds, or of all bases if all learn from each
    largest = rare = 0  # bytes of policies: of one base that plays all rounds, and of bases that share them
    for base in curve.bases:
        fresh = record_of(base.init(given_rows([base], shown, 1), rng), base, "init")
        state += fresh.nbytes
        kept = kept + base.history_bytes(rounds) if all_learn else max(kept, base.history_bytes(rounds))
        if curve.options.player == "smooth":
            policy = record_of(base.policy(fresh, np.zeros(1, dtype=np.intp)), base, "policy").nbytes
            largest = max(largest, policy * base.max_policies(rounds))
            if base.rarely_changes:  # several bases that share the rounds may keep more than one that plays all
                rare += policy * base.max_policies(share) + SERVING * share
    # Pages of doubling size are on average three quarters full.
    return state + scratch + int(1.5 * (kept + max(largest, rare)))
