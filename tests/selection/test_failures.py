"""Bases that raise or return what cannot be played: set aside by a live selection, the end of a simulation."""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from corral_mab import BernoulliArms, EpsilonGreedy, Ucb
from corral_tabular import Psrl, QLearning

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.exp3p import Exp3P
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.parameters import knob
from corral_core.protocols.problem import Observation, Problem, Trajectory
from corral_core.selection.options import PRESETS
from corral_core.simulation.simulate import try_out

sys.path.insert(0, str(Path(__file__).parent))
from made import digest, play, selection

METHODS = ["policy", "act", "learn"]


def failing(method: str, after: int, how: str = "raises") -> Ucb:
    """A UCB of which one method fails from its call number `after` on, counted from 0."""

    @attrs.frozen
    class Failing(Ucb):
        name = "failing"
        calls: list = attrs.field(factory=list, eq=False, metadata={"hidden": True})
        number: int = knob(0, help="tells kin apart")

    def fails(self, *arguments):
        self.calls.append(method)
        if len(self.calls) <= after:
            return getattr(Ucb, method)(self, *arguments)
        if how == "arm 99":
            return np.full(len(arguments[0]), 99)
        raise ZeroDivisionError("a bug of the author's")

    setattr(Failing, method, fails)
    return Failing()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("preset", ["practice", "paper", "theory"])
@pytest.mark.parametrize("meta", [Corral(eta=0.2), Exp3P(p=0.05), Uniform()], ids=lambda meta: meta.name)
def test_a_live_selection_sets_a_base_that_raises_aside(meta, preset: str, method: str) -> None:
    chosen = selection([failing(method, after=3), EpsilonGreedy(c=5)], meta, rows=1, options=PRESETS[preset])
    sentence = (
        r"failing failed and is set aside: ZeroDivisionError: a bug of the author's \(test_failures.py, line \d+\)"
    )
    with pytest.warns(RuntimeWarning, match=sentence) as said:
        done = play(chosen, 200)
    assert len(said) == 1, "it is said once"
    assert list(chosen.set_aside) == [0]
    assert chosen.active[:, 0].tolist() == [False, True]
    assert chosen.probabilities[:, 0].tolist() == [0.0, 1.0]
    assert [base for base, _ in done[-100:]] == [[1]] * 100
    learned = chosen.blocks[1].player.state.played[0]
    assert learned == chosen.rounds_of[1, 0], "the other base learns as ever"


def test_an_arm_that_does_not_exist_is_a_failure_too() -> None:
    chosen = selection([failing("act", 3, how="arm 99"), Ucb()], Corral(eta=0.2), 1, PRESETS["practice"])
    with pytest.warns(RuntimeWarning, match="failing failed and is set aside: failing: act returned arm 99; the prob"):
        play(chosen, 100)
    assert chosen.set_aside == {0: "failing: act returned arm 99; the problem has 0 to 2"}


def test_rows_fail_one_by_one() -> None:
    """Only the base that failed is set aside, in the rows in which it failed."""
    chosen = selection([failing("act", 0), Ucb()], Uniform(), rows=6, options=PRESETS["practice"])
    with pytest.warns(RuntimeWarning, match="failing failed"):
        actions, ticket = chosen.ask()
    assert (ticket.chosen[~chosen.active[0]] == 1).all()
    assert chosen.active[1].all()
    assert actions.shape == (6,)
    play(chosen, 50)
    assert not chosen.active[0].any()


@pytest.mark.filterwarnings("ignore:failing failed and is set aside")
@pytest.mark.parametrize("method", METHODS)
def test_the_last_base_raises(method: str) -> None:
    """With no other base to play, its error reaches the caller."""
    both = [failing(method, 0), attrs.evolve(failing(method, 0), number=1)]
    for bases, meta in ((both[:1], None), (both, Corral(eta=0.2))):
        chosen = selection(bases, meta, 1, PRESETS["practice"])
        with pytest.raises(ZeroDivisionError):
            play(chosen, 100)


def test_every_base_proposes_until_it_fails() -> None:
    """Importance-weighted feedback: all bases act and learn at every play, so one that fails does so at once."""
    chosen = selection([failing("learn", 0), EpsilonGreedy(c=5)], OriginalCorral(eta=0.1), 1, PRESETS["practice"])
    with pytest.warns(RuntimeWarning, match="failing failed"):
        play(chosen, 50)
    assert chosen.active[:, 0].tolist() == [False, True]


def test_a_meta_that_chooses_what_is_not_active() -> None:
    @attrs.frozen
    class Stubborn(Uniform):
        name = "stubborn"

        def choose(self, state, active, rng):
            return np.zeros(1, dtype=int), None

    chosen = selection([failing("act", 0), Ucb()], Stubborn(), 1, PRESETS["practice"])
    with pytest.raises(CorralError, match="stubborn: choose must choose an active base, but base 0 is not active"):
        chosen.ask()


def test_late_answers_of_a_base_that_was_set_aside_teach_nobody() -> None:
    chosen = selection([failing("act", 5), EpsilonGreedy(c=5)], Uniform(), 1, PRESETS["practice"])
    with pytest.warns(RuntimeWarning, match="failing failed"):
        asked = [chosen.ask() for _ in range(40)]
    state = digest(chosen.blocks[0].player.state)
    for _, ticket in asked:
        chosen.tell(ticket, 1.0)
    assert digest(chosen.blocks[0].player.state) == state
    assert chosen.blocks[1].player.state.played[0] == sum(int(ticket.chosen[0] == 1) for _, ticket in asked)


def test_a_restart_that_fails() -> None:
    @attrs.frozen
    class Once(Ucb):
        name = "once"
        made: list = attrs.field(factory=list, eq=False, metadata={"hidden": True})

        def init(self, given, rng):
            self.made.append(1)
            if len(self.made) > 1:
                raise RuntimeError("cannot begin again")
            return super().init(given, rng)

    @attrs.frozen
    class Impatient(Corral):
        name = "impatient"

        def update(self, state, chosen, probability, gain, active):
            from corral_core.protocols.meta import Verdict

            return Verdict(restart=np.ones_like(active))

    chosen = selection([Once(), EpsilonGreedy(c=5)], Impatient(), 1, PRESETS["theory"])
    with pytest.warns(RuntimeWarning, match="once failed and is set aside: RuntimeError: cannot begin again"):
        play(chosen, 20)
    assert chosen.active[:, 0].tolist() == [False, True]


def test_an_episode_ends_if_its_base_fails() -> None:
    problem = Problem(
        "the tour", arms=2, episodic=True, states=3, stages=4, noise=2.0, low=0.0, high=4.0, horizon=99, delta=0.1
    )

    @attrs.frozen
    class Stumbling(Psrl):
        name = "stumbling"

        def act(self, policy, observation, rng):
            if observation.stage[0] == 2:
                raise LookupError("no such page")
            return super().act(policy, observation, rng)

    def at(stage: int) -> Observation:
        return Observation(state=0, stage=stage)

    chosen = selection([Stumbling(), QLearning()], Uniform(), 1, PRESETS["practice"], problem=problem)
    ticket = None
    while ticket is None or ticket.chosen[0] == 1:
        _, ticket = chosen.ask(at(0))
    _, ticket = chosen.ask(at(1), ticket)
    with pytest.raises(CorralError, match="a base failed in the middle of this episode and is set aside; begin anoth"):
        chosen.ask(at(2), ticket)
    with pytest.warns(RuntimeWarning, match="stumbling failed and is set aside: LookupError: no such page"):
        _, ticket = chosen.ask(at(0))
    assert ticket.chosen.tolist() == [1]
    steps, whole = np.zeros((1, 1), dtype=int), np.ones((1, 1), dtype=bool)
    chosen.tell(ticket, 1.0, Trajectory(steps, steps, np.ones((1, 1)), steps, whole))


@pytest.mark.parametrize("method", METHODS)
def test_a_simulation_ends(method: str) -> None:
    with pytest.raises(ZeroDivisionError, match="a bug of the author's"):
        try_out(BernoulliArms(arms=3), [failing(method, 3), Ucb()], Uniform(), horizon=100, rows=2)


def test_an_interrupt_is_not_a_failure_of_the_base() -> None:
    @attrs.frozen
    class Interrupted(Ucb):
        name = "interrupted"

        def act(self, policy, observation, rng):
            raise KeyboardInterrupt

    chosen = selection([Interrupted(), EpsilonGreedy()], Uniform(), 1, PRESETS["practice"])
    with pytest.raises(KeyboardInterrupt):
        play(chosen, 100)
    assert chosen.set_aside == {}


@pytest.mark.parametrize("preset", ["paper", "theory"])
def test_a_base_that_fails_to_learn_is_not_played_in_the_second_step(preset: str) -> None:
    chosen = selection([failing("learn", 0), EpsilonGreedy(c=5)], Uniform(), 1, PRESETS[preset])
    ticket = chosen.ask()[1]
    while ticket.chosen[0] == 1:
        chosen.tell(ticket, 1.0)
        ticket = chosen.ask()[1]
    with pytest.warns(RuntimeWarning, match="failing failed"):
        chosen.tell(ticket, 1.0)
    assert chosen.ask()[1].chosen.tolist() == [1]
