"""The array code makes the choices of a plain-Python twin, play by play, when both are fed the same draws."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy

from corral_core.bounds import Bound, Term
from corral_core.metas.corral import Corral
from corral_core.metas.exp3p import Exp3P
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import knob
from corral_core.protocols.problem import NOTHING, Problem
from corral_core.rows import Array, Rows
from corral_core.selection.options import Options
from corral_core.selection.selection import Selection

sys.path.insert(0, str(Path(__file__).parent))
import twin

ROUNDS = 1500
DELTA = 0.5
SCALE = 0.05  # of the bounds: small enough for the base test to fire
MEANS = [1.0, 0.3]
SPAN = 0.25  # rewards leave the range of their means, so that clipping is seen too
PROBLEM = Problem(arms=2, noise=0.1, low=0.0, high=SPAN, horizon=2 * ROUNDS, delta=DELTA)


class Counted(Rows):
    played: Array
    good_for: Array


class Arm(Rows):
    arm: Array


@attrs.frozen
class Turncoat(Base):
    """Plays the good arm for a while and the bad one ever after: a base that the test must drop."""

    name = "turncoat"
    good_for: int = knob(300, help="plays")

    def init(self, given, rng):
        return Counted(np.zeros(len(given)), given.good_for.copy())

    def policy(self, state, rows):
        return Arm((state.played[rows] >= state.good_for[rows]).astype(np.int8))

    def act(self, policy, observation, rng):
        return policy.arm.astype(np.intp)

    def learn(self, state, rows, feedback, rng):
        state.played[rows] += 1

    def bound(self, delta):
        return Bound(lambda s: SCALE * np.sqrt(s), (Term(SCALE, 0.5),))


@attrs.frozen
class BoundedEpsilonGreedy(EpsilonGreedy):
    def bound(self, delta):
        return Bound(lambda s: SCALE * np.sqrt(s), (Term(SCALE, 0.5),))


def bases():
    made = [BoundedEpsilonGreedy(c=2.0), Turncoat(good_for=300), BoundedEpsilonGreedy(c=50.0)]
    plain = [twin.PlainEpsilonGreedy(2.0, 2, SCALE), twin.PlainTurncoat(300, SCALE)]
    return [base.resolve(PROBLEM) for base in made], [*plain, twin.PlainEpsilonGreedy(50.0, 2, SCALE)]


def metas(name: str, count: int, bias: float):
    if name == "exp3p":
        return Exp3P(p=0.05), twin.PlainExp3P(count, 0.05, (-1.0, 1.0) if bias else (0.0, 1.0))
    mixing = name.partition(" ")[2] or "separate"
    return Corral(eta=0.3, mixing=mixing), twin.PlainCorral(count, ROUNDS, 0.3, mixing)


def play_arrays(meta, made, options, seed):
    rng, luck = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    selection = Selection(made, meta, PROBLEM, rows=1, rounds=ROUNDS, rng=rng, options=options)
    for _ in range(ROUNDS):
        actions = []
        for _step in range(2):
            action, ticket = selection.ask(NOTHING)
            actions.append(int(action[0]))
            selection.tell(ticket, np.array([float(luck.random() < MEANS[action[0]])]))
        yield int(ticket.chosen[0]), *actions, selection.probabilities[:, 0].tolist(), selection


@pytest.mark.parametrize("name", ["corral", "corral overwrite", "exp3p"])
@pytest.mark.parametrize(
    ("bias", "base_test", "restart"),
    [(0.0, False, False), (1.0, False, False), (0.0, True, False), (0.0, False, True), (1.0, True, True)],
)
def test_same_choices(name: str, bias: float, base_test: bool, restart: bool) -> None:
    made, plain = bases()
    meta, plain_meta = metas(name, len(made), bias)
    width = 2 * math.sqrt(2 * (1 + 2 * 0.4**2) * math.log(4 * ROUNDS * len(made) / DELTA)) if base_test else None
    options = Options(bias=bias, base_test=base_test, restart=restart)
    rng, luck = np.random.default_rng(7), np.random.default_rng(8)
    expected = twin.play_twin(
        plain_meta, plain, MEANS, ROUNDS, rng, luck, span=SPAN, bias=bias, test_width=width, restart=restart
    )
    for played, meant in zip(play_arrays(meta, made, options, 7), expected, strict=True):
        *choices, probabilities, selection = played
        assert tuple(choices) == meant[:3]
        assert probabilities == pytest.approx(meant[3], rel=1e-9, abs=1e-12)
    if base_test and not restart:
        assert selection.active[:, 0].tolist() == [True, False, True], "the turncoat should have been dropped"
    if restart and name != "exp3p":
        assert selection.restarts.sum() > 0, "some base should have been restarted"


@pytest.mark.parametrize("name", ["corral", "exp3p"])
def test_same_choices_of_two_bases(name: str) -> None:
    """Two bases take the closed form of the log-barrier step."""
    made, plain = bases()
    meta, plain_meta = metas(name, 2, 0.0)
    rng, luck = np.random.default_rng(3), np.random.default_rng(4)
    expected = twin.play_twin(plain_meta, plain[::2], MEANS, ROUNDS, rng, luck, span=SPAN)
    for played, meant in zip(play_arrays(meta, made[::2], Options(), 3), expected, strict=True):
        assert played[:3] == meant[:3]
        assert played[3] == pytest.approx(meant[3], rel=1e-9)
