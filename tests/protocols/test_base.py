"""Bases are fitted to problems, or refuse them in one sentence.

Also tests `protocols/named.py`, `protocols/environment.py` and `protocols/problem.py`; the checks test
`protocols/meta.py` with every meta of the core.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from attrs.validators import ge

from corral_core.environments.bandit import Bandit
from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import fitted
from corral_core.protocols.problem import Feedback, Problem, action_of
from corral_core.rows import Array, Rows


@attrs.frozen
class Plain(Base):
    """A base that needs some of everything."""

    name: ClassVar[str] = "plain-base"

    arms: int = fitted(help="number of arms", validator=ge(1))
    noise: float = fitted(help="scale of the noise", validator=ge(0))
    low: float = fitted(help="lowest mean reward")
    high: float = fitted(help="highest mean reward")

    def init(self, given: Any, rng: Any) -> Any: ...
    def policy(self, state: Any, rows: Any) -> Any: ...
    def act(self, policy: Any, observation: Any, rng: Any) -> Any: ...
    def learn(self, state: Any, rows: Any, feedback: Any, rng: Any) -> None: ...


KNOWN = Problem("meadow", arms=5, noise=0.5, low=0.0, high=1.0)


def refusal(base: Base, problem: Problem) -> str:
    with pytest.raises(CorralError) as caught:
        base.resolve(problem)
    return str(caught.value)


def test_open_fields_are_taken_from_the_problem_and_set_ones_stay() -> None:
    assert Plain(noise=2.0).resolve(KNOWN) == Plain(arms=5, noise=2.0, low=0.0, high=1.0)


@pytest.mark.parametrize(
    ("base", "change", "words"),
    [
        (Plain(), {"arms": None}, ("plain-base needs a finite set of arms", "meadow")),
        (Plain(), {"noise": None}, ("plain-base needs a known scale of the noise", "meadow", "noise")),
        (Plain(arms=6), {}, ("arms must be at most 5", "meadow", "6")),
        (Plain(low=2.0), {}, ("low must be at most high", "2.0 and 1.0")),
        (Plain(), {"noise": -1.0}, ("plain-base in meadow", "noise")),
        (Plain(), {"masked": True}, ("plain-base needs every arm", "meadow")),
        (Plain(), {"episodic": True}, ("plain-base plays single actions", "meadow", "episodes")),
        (Plain(), {"actions": "ball"}, ("plain-base needs finitely many actions", "meadow", "a ball of actions")),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    base: Base, change: dict[str, Any], words: tuple[str, ...]
) -> None:
    sentence = refusal(base, attrs.evolve(KNOWN, **change))
    assert all(word in sentence for word in words), sentence
    assert "\n" not in sentence


def test_a_problem_without_a_range_says_so() -> None:
    assert KNOWN.range == (0.0, 1.0)
    with pytest.raises(CorralError, match="meadow"):
        _ = attrs.evolve(KNOWN, high=None).range


def test_defaults_cost_no_memory_and_claim_no_bound() -> None:
    base = Plain()
    assert (base.max_policies(7), base.history_bytes(7), base.scratch_bytes) == (7, 0, 0)
    assert base.bound(0.1) is None
    assert not base.rarely_changes
    assert base.changed(None, np.arange(3)).tolist() == [True] * 3
    assert Plain.examples() == [Plain()]


def test_the_action_is_found_whatever_the_decision_carries() -> None:
    class Decided(Rows):
        action: Array
        level: Array

    actions = np.array([2, 0])
    decided = Decided(actions, np.zeros(2))
    assert action_of(actions) is action_of(decided) is actions
    assert Feedback(None, decided, np.zeros(2)).action is actions


def test_an_environment_shows_nothing_unless_it_says_so() -> None:
    @attrs.frozen
    class Meadow(Bandit):
        name: ClassVar[str] = "meadow"

        @property
        def problem(self) -> Problem:
            return KNOWN

        def draw(self, rows: int, rng: Any) -> Any: ...
        def pay(self, instance: Any, observation: Any, action: Any, rng: Any) -> Any: ...

    assert Meadow().shown(None) == {}
    assert Meadow().observe(None, np.random.default_rng(1)).features is None
    assert Meadow.examples() == [Meadow()]
