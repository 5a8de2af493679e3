"""Probabilities of actions: exact, or None."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy

from corral_core.bases.lift import Lifted
from corral_core.bases.policies import Pick
from corral_core.metas.corral import Corral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.base import Base
from corral_core.protocols.problem import NOTHING
from corral_core.rows import Array
from corral_core.selection.options import PRESETS, Options

sys.path.insert(0, str(Path(__file__).parent))
from made import selection

PLAIN = PRESETS["practice"]


@attrs.frozen
class Odds(EpsilonGreedy):
    """Draws an arm from fixed odds."""

    name: ClassVar[str] = "odds"

    def act(self, policy: Any, observation: Any, rng: Any) -> Array:
        return (rng.random(len(policy))[:, None] > np.cumsum(self.odds(policy), axis=1)).sum(axis=1)

    def odds(self, policy: Any) -> Array:
        return np.tile([0.5, 0.3, 0.2], (len(policy), 1))

    def action_probabilities(self, policy: Any, observation: Any) -> Array | None:
        return self.odds(policy)


@attrs.frozen
class Sure(Odds):
    name: ClassVar[str] = "sure"

    def odds(self, policy: Any) -> Array:
        return np.tile([0.0, 0.0, 1.0], (len(policy), 1))


@attrs.frozen
class Secret(Odds):
    name: ClassVar[str] = "secret"

    def action_probabilities(self, policy: Any, observation: Any) -> Array | None:
        return None


def test_the_probability_of_an_action_is_the_sum_over_bases() -> None:
    chosen = selection([Odds(), Sure()], Corral(eta=0.3), options=PLAIN)
    luck = np.random.default_rng(5)
    for _ in range(50):
        p = chosen.probabilities
        actions, ticket = chosen.ask(NOTHING, probabilities=True)
        wanted = p[0] * np.array([0.5, 0.3, 0.2])[actions] + p[1] * (actions == 2)
        assert ticket.action_probability == pytest.approx(wanted, rel=1e-12)
        chosen.tell(ticket, luck.random(4))


def test_asking_for_probabilities_changes_no_play() -> None:
    plain, asked = (selection([Odds(), Sure(), EpsilonGreedy(c=5)], Corral(eta=0.3), options=PLAIN) for _ in range(2))
    for _ in range(100):
        actions, ticket = plain.ask()
        others, other = asked.ask(probabilities=True)
        assert (actions == others).all()
        plain.tell(ticket, np.ones(4))
        asked.tell(other, np.ones(4))
    assert (plain.probabilities == asked.probabilities).all()


@pytest.mark.parametrize(
    ("bases", "options"),
    [([Odds(), Secret()], PLAIN), ([Odds(), Sure()], PRESETS["paper"]), ([Odds()], Options(player="boosted"))],
    ids=["no closed form", "smoothed", "boosted"],
)
def test_what_cannot_be_known_is_none(bases: Any, options: Options) -> None:
    chosen = selection(bases, Uniform(), options=options)
    assert chosen.ask(probabilities=True)[1].action_probability is None


def test_a_base_alone_has_its_own_probability() -> None:
    chosen = selection([Odds()], None, options=PLAIN)
    actions, ticket = chosen.ask(probabilities=True)
    assert ticket.action_probability == pytest.approx(np.array([0.5, 0.3, 0.2])[actions])
    assert chosen.ask()[1].action_probability is None


def test_a_deterministic_base_needs_no_number_of_arms() -> None:
    """An array base that has no field `arms`, and a lifted one."""

    class First(Base):
        name = "first"
        deterministic = True
        masks = True

        def init(self, given: Any, rng: Any) -> Pick:
            return Pick(np.zeros(len(given), dtype=np.int64))

        def policy(self, state: Pick, rows: Array) -> Pick:
            return state.take(rows)

        def act(self, policy: Pick, observation: Any, rng: Any) -> Array:
            return policy.arm

        def learn(self, state: Pick, rows: Array, feedback: Any, rng: Any) -> None:
            state.arm[rows] = (state.arm[rows] + 1) % 3

    for base in (attrs.frozen(First)(), attrs.frozen(type("Lifting", (LiftedFirst,), {}))()):
        chosen = selection([base, Odds()], Uniform(), options=PLAIN)
        for _ in range(10):
            actions, ticket = chosen.ask(probabilities=True)
            first = chosen.blocks[0].player
            sure = base.act(first.current_policy(np.arange(4)), NOTHING, None) == actions  # type: ignore[arg-type]
            wanted = 0.5 * sure + 0.5 * np.array([0.5, 0.3, 0.2])[actions]
            assert ticket.action_probability == pytest.approx(wanted, rel=1e-12)
            chosen.tell(ticket, np.zeros(4))


class LiftedFirst(Lifted):
    """Always the first arm."""

    name = "lifted-first"
    deterministic = True

    def make(self, problem: Any) -> Any:
        class Learner:
            def act(self, context: Any, rng: Any) -> int:
                return 0

            def learn(self, context: Any, action: int, reward: float) -> None:
                pass

        return Learner()


@pytest.mark.parametrize(
    ("odds", "why"),
    [
        (np.full((4, 3), 7.0), "sure: action_probabilities must be positive and sum to one"),
        (np.array([[1.5, -0.5, 0.0]] * 4), "sure: action_probabilities must be positive and sum to one"),
        (np.full((4, 3), np.nan), "sure: action_probabilities must be positive and sum to one"),
        (np.full(4, 1.0), r"sure: action_probabilities must return \(rows, arms\) or None"),
        (None, "ZeroDivisionError"),
    ],
    ids=["sevens", "negative", "nan", "one axis", "raises"],
)
def test_a_base_that_fails_to_say_its_probabilities_keeps_the_ticket(odds: Any, why: str) -> None:
    """It is set aside; the base that was chosen has played, and its ticket is the next one."""

    class Wrong(Sure):
        def action_probabilities(self, policy: Any, observation: Any) -> Any:
            return odds[: len(policy)] if odds is not None else 1 / 0

    wrong, chosen_one = attrs.frozen(Wrong)(), Odds()
    chosen = selection([wrong, chosen_one], Uniform(), rows=1, options=PLAIN)
    with pytest.warns(RuntimeWarning, match="sure failed and is set aside"):
        _, ticket = chosen.ask(probabilities=True)
    assert ticket.number == 0 and ticket.action_probability is None
    assert chosen.rounds_of.sum() == 1
    assert re.search(why, chosen.set_aside[0])
    chosen.tell(ticket, 1.0)
    assert chosen.ask(probabilities=True)[1].action_probability is not None
