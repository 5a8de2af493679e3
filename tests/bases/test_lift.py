"""A learner written one at a time, as a base: beside its array twin, smoothed, and in an episode."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_linucb import LinearArms
from corral_mab import EpsilonGreedy

from corral_core.bases.lift import Lifted, lift
from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.uniform import Uniform
from corral_core.players.smoothing import smooth
from corral_core.protocols.parameters import fitted, knob
from corral_core.protocols.problem import NOTHING, Feedback, Observation, Problem, Trajectory
from corral_core.selection.options import PRESETS
from corral_core.selection.selection import Selection
from corral_core.selection.setup import given_rows
from corral_core.simulation.simulate import try_out

PROBLEM = Problem(arms=3, noise=0.5, low=0.0, high=1.0, reward_low=0.0, reward_high=1.0, horizon=1000, delta=0.01)
MEANS = np.array([0.2, 0.5, 0.8])


class SimpleEpsilonGreedy:
    """Epsilon-greedy as one would write it in an afternoon."""

    def __init__(self, arms: int, c: float) -> None:
        self.c, self.played = c, 0
        self.pulls, self.total = [0] * arms, [0.0] * arms

    def means(self) -> list[float]:
        return [t / n if n else float("inf") for n, t in zip(self.pulls, self.total, strict=True)]

    def act(self, context, rng):
        rate = float(np.float32(self.c / (self.played + 1)))  # the array twin stores it in single precision
        share = rng.random() / min(1.0, rate)
        return int(share * len(self.pulls)) if share < 1 else int(np.argmax(self.means()))

    def learn(self, context, action, reward):
        self.played += 1
        self.pulls[action] += 1
        self.total[action] += reward


@attrs.frozen
class LiftedEpsilonGreedy(Lifted):
    name = "lifted-epsilon-greedy"
    c: float = 5.0

    def make(self, problem):
        return SimpleEpsilonGreedy(problem.arms, self.c)

    def bound(self, delta):
        return EpsilonGreedy().resolve(PROBLEM).bound(delta)


def plays(base, preset: str, rows: int, count: int) -> list[list[int]]:
    """A base alone against Bernoulli arms, by hand."""
    rng, luck = np.random.default_rng(1), np.random.default_rng(2)
    alone = Selection([base.resolve(PROBLEM)], None, PROBLEM, rows=rows, rounds=count, rng=rng, options=PRESETS[preset])
    done = []
    for _ in range(count):
        actions, ticket = alone.ask(NOTHING)
        alone.tell(ticket, (luck.random(rows) < MEANS[actions]).astype(float))
        done.append(actions.tolist())
    return done


@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_same_plays_as_its_array_twin(preset: str) -> None:
    lifted = plays(LiftedEpsilonGreedy(c=5.0), preset, rows=7, count=400)
    assert lifted == plays(EpsilonGreedy(c=5.0), preset, rows=7, count=400)
    assert len({tuple(row) for row in lifted}) > 10


@pytest.mark.parametrize("preset", ["practice", "paper", "theory"])
def test_a_meta_selects_among_lifted_and_array_bases(preset: str) -> None:
    rng, luck = np.random.default_rng(3), np.random.default_rng(4)
    bases = [LiftedEpsilonGreedy(c=500.0).resolve(PROBLEM), EpsilonGreedy(c=5.0).resolve(PROBLEM)]
    chosen = Selection(bases, Corral(eta=0.3), PROBLEM, rows=3, rounds=200, rng=rng, options=PRESETS[preset])
    for _ in range(400):
        actions, ticket = chosen.ask(NOTHING)
        chosen.tell(ticket, (luck.random(3) < MEANS[actions]).astype(float))
    assert chosen.probabilities.sum(axis=0) == pytest.approx(1)


def test_smoothing_replays_copies() -> None:
    """The copy taken at a play stays as it was, however much the learner learns afterwards."""
    rng = np.random.default_rng(5)
    base = LiftedEpsilonGreedy().resolve(PROBLEM)
    player = smooth(base).start(given_rows([base], {}, 2), rng)
    rows = np.arange(2)
    for _ in range(20):
        decision = player.act(player.next_policy(0, rows, rng), NOTHING, rng)
        player.learn(0, rows, Feedback(NOTHING, decision, np.ones(2)), rng)
    for play in range(20):
        assert [learner.played for learner in player.replay.get(rows, np.full(2, play)).learner] == [play, play]
    assert [learner.played for learner in player.state.learner] == [20, 20]


def test_a_learner_may_bring_its_own_snapshot() -> None:
    class Thrifty(SimpleEpsilonGreedy):
        def snapshot(self):
            copy = Thrifty(len(self.pulls), self.c)
            copy.played, copy.pulls, copy.total = self.played, list(self.pulls), list(self.total)
            snapshots.append(self.played)
            return copy

    snapshots: list[int] = []
    thrifty = lift(lambda problem: Thrifty(problem.arms, 5.0), name="thrifty")
    assert plays(thrifty, "paper", rows=1, count=100) == plays(EpsilonGreedy(c=5.0), "paper", rows=1, count=100)
    assert snapshots == list(range(50))
    snapshots.clear()
    plays(thrifty, "practice", rows=1, count=100)
    assert snapshots == [], "only smoothing takes copies"


def test_what_a_learner_sees() -> None:
    class Curious:
        def act(self, context, rng):
            seen.append(context)
            return 1

        def learn(self, context, action, reward):
            seen.append((context, action, reward))

    base = lift(lambda problem: Curious()).resolve(PROBLEM)
    rng = np.random.default_rng(6)
    state = base.init(given_rows([base], {}, 2), rng)
    features = np.arange(8.0).reshape(2, 2, 2)
    for observation in (NOTHING, Observation(features=features)):
        seen: list = []
        action = base.act(base.policy(state, np.arange(2)), observation, rng)
        base.learn(state, np.arange(2), Feedback(observation, action, np.array([0.0, 1.0])), rng)
        assert seen[3][1:] == (1, 1.0)
        if observation.features is None:
            assert seen[:2] == [None, None]
        else:
            assert (seen[1] == features[1]).all()
            assert (seen[3][0] == features[1]).all()
    masked = Observation(mask=np.ones((2, 3), dtype=bool))
    seen = []
    base.act(base.policy(state, np.arange(2)), masked, rng)
    assert isinstance(seen[0], Observation)
    assert seen[0].mask.shape == (1, 3)


@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_a_learner_of_fixed_arms_is_shown_their_features_at_every_play(preset: str) -> None:
    """A learner that knows theta plays the best arm from the features alone, smoothed too."""
    seen = []

    class Knowing:
        def act(self, features, rng):
            seen.append(features.shape)
            return int(features.sum(axis=1).argmax())

        def learn(self, features, action, reward):
            assert features.shape == (6, 3)

    @attrs.frozen
    class SummedArms(LinearArms):
        def draw_means(self, features, rng):
            return features.sum(axis=2)

    record = try_out(
        SummedArms(arms=6, dimension=3),
        [lift(lambda problem: Knowing(), name="knowing")],
        rows=4,
        horizon=20,
        preset=preset,
    )
    assert (record.regret == 0).all()
    assert set(seen) == {(6, 3)}


def test_lifted_states_say_that_they_cannot_be_saved() -> None:
    base = LiftedEpsilonGreedy().resolve(PROBLEM)
    state = base.init(given_rows([base], {}, 2), np.random.default_rng(7))
    with pytest.raises(CorralError, match="cannot be saved"):
        state.to_arrays()


def test_a_lifted_base_is_refused_where_it_cannot_live() -> None:
    with pytest.raises(CorralError, match="plays single actions; a maze asks for episodes"):
        LiftedEpsilonGreedy().resolve(attrs.evolve(PROBLEM, episodic=True, environment="a maze"))


def test_what_is_made_must_be_a_learner() -> None:
    with pytest.raises(CorralError, match=r"nobody: make must return a learner \(act and learn\), not NoneType"):
        try_out(LinearArms(), lift(lambda problem: None, "nobody"), horizon=10)


def test_fitted_fields_are_filled() -> None:
    @attrs.frozen
    class Fitting(LiftedEpsilonGreedy):
        noise: float = fitted(help="scale of the noise")

    assert Fitting().resolve(PROBLEM).noise == PROBLEM.noise


def test_knobs_reach_each_learner() -> None:
    """Lifted bases that differ in a knob are kin, and each row's learner has its own value."""

    class Stubborn:
        def __init__(self, arm):
            self.arm = arm

        def act(self, context, rng):
            return self.arm

        def learn(self, context, action, reward):
            pass

    @attrs.frozen
    class OneArm(Lifted):
        name = "one-arm"
        arm: int = knob(0, help="the arm")

        def make(self, problem):
            return Stubborn(self.arm)

    bases = [OneArm(arm=arm).resolve(PROBLEM) for arm in range(3)]
    rng = np.random.default_rng(8)
    chosen = Selection(bases, Uniform(), PROBLEM, rows=5, rounds=10, rng=rng, options=PRESETS["practice"])
    assert len(chosen.blocks) == 1
    for _ in range(10):
        actions, ticket = chosen.ask()
        assert (actions == ticket.chosen).all()
        chosen.tell(ticket, np.zeros(5))


def test_a_learner_of_episodes() -> None:
    """It acts on its row of the observation, stage by stage, and learns from its row of the trajectory."""

    class Walker:
        def act(self, context, rng):
            return int(context.stage[0])

        def learn(self, context, action, reward):
            learned.append((context.state.tolist(), action.tolist(), reward))

    @attrs.frozen
    class Walking(Lifted):
        name = "walking"
        episodic = True

        def make(self, problem):
            return Walker()

    learned: list = []
    problem = attrs.evolve(PROBLEM, episodic=True, states=2, stages=2)
    rng = np.random.default_rng(9)
    alone = Selection([Walking().resolve(problem)], None, problem, rows=2, rounds=1, rng=rng)
    ticket = None
    for stage in range(2):
        seen = Observation(state=np.array([0, 1]), stage=np.full(2, stage))
        actions, ticket = alone.ask(seen, ticket)
        assert actions.tolist() == [stage, stage]
    states, taken = np.array([[0, 0], [1, 1]]), np.array([[0, 1], [0, 1]])
    episode = Trajectory(states, taken, np.ones((2, 2)), states, np.ones((2, 2), dtype=bool))
    alone.tell(ticket, np.array([2.0, 3.0]), episode)
    assert learned == [([[0, 0]], [0, 1], 2.0), ([[1, 1]], [0, 1], 3.0)]
