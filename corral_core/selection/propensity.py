"""The probability of an action, over the choice of the base and the base's own randomness:

    P(a | observation) = sum_j p_j P_j(a | observation)

with p_j the probability that the meta-algorithm plays base j, and P_j its `action_probabilities`. It is exact or None,
never an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corral_core.errors import CorralError
from corral_core.parsing import shown
from corral_core.protocols.problem import Observation, action_of
from corral_core.rows import Array
from corral_core.selection.failures import Failures, SetAside
from corral_core.selection.lineup import Lineup
from corral_core.selection.round import Block, Round
from corral_core.selection.validation import array_kind, is_array


def chances(before: Array | None, turn: Round, bases: int) -> Array | None:
    """(bases, rows): p of every base in this round, given what `probabilities` said before the choice.

    If the choice was deterministic, p is 1 for the chosen base. None if the meta contradicts itself.
    """
    rows = np.arange(len(turn.chosen))
    if turn.probability is None:
        return np.asarray(np.arange(bases)[:, None] == turn.chosen, dtype=np.float64)
    if before is None or not np.allclose(before[turn.chosen, rows], turn.probability, rtol=1e-9, atol=0):
        return None
    return before


def action_probability(
    chance: Array, blocks: Sequence[Block], lineup: Lineup, failures: Failures, seen: Observation, actions: Array
) -> Array | None:
    """The probability of each row's action; None if a base that may play it has no closed form, or fails to say it."""
    total = np.zeros(len(actions))
    flat = chance.reshape(-1)
    for block in blocks:
        learners, at = lineup.learners(block)
        playing = np.flatnonzero(flat.take(at) > 0)
        if not len(playing):
            continue
        rows, at = learners[playing] % len(actions), at[playing]
        try:
            own = failures.call(at, _own_probability, block, learners[playing], seen.take(rows), actions.take(rows))
        except SetAside:
            return None
        if own is None:
            return None
        np.add.at(total, rows, flat.take(at) * own)
    return total


def _own_probability(block: Block, learners: Array, seen: Observation, actions: Array) -> Array | None:
    """The probability with which each of these learners plays this action."""
    base, policy = block.player.base, block.player.current_policy(learners)
    if base.deterministic:
        return np.asarray(action_of(base.act(policy, seen, None)) == actions, dtype=np.float64)  # type: ignore[arg-type]
    found = base.action_probabilities(policy, seen)
    if found is None:
        return None
    if not is_array(found, "f", len(learners), 2):
        raise CorralError(
            f"{base.name}: action_probabilities must return (rows, arms) or None, not {array_kind(found)}"
        )
    if not ((found >= 0).all() and np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-9)):
        raise CorralError(f"{base.name}: action_probabilities must be positive and sum to one, not {shown(found[0])}")
    known = actions < found.shape[1]
    return np.where(known, found[np.arange(len(learners)), np.where(known, actions, 0)], 0.0)
