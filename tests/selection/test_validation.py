"""Mistakes that a plugin's author makes: each is named, with who made it, and none is played on."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_linucb import LinUcb
from corral_mab import BernoulliArms, Rate, Ucb
from corral_tabular import Psrl

from corral_core.checks.worlds import Small, SmallChain
from corral_core.engines.chunks import run_chunk
from corral_core.errors import CorralError
from corral_core.experiments.point import parse_point
from corral_core.metas.corral import Corral
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import Verdict
from corral_core.protocols.problem import Observation, Problem, Trajectory
from corral_core.rows import Array, Rows
from corral_core.selection.options import PRESETS
from corral_core.selection.selection import Selection
from corral_core.simulation.curve import Curve
from corral_core.simulation.memory import bytes_per_row
from corral_core.simulation.simulate import try_out

PROBLEM = Problem("the shop", arms=3, noise=0.5, low=0.0, high=1.0, horizon=100, delta=0.01)


def selection(base, meta=None, problem=PROBLEM, **options) -> Selection:
    rng = np.random.default_rng(1)
    told = {"rows": 4, "rounds": 50, "options": PRESETS["practice"], **options}
    return Selection([base.resolve(problem)], meta, problem, rng=rng, **told)


class Acts:
    """A base whose `act` returns what it is told to."""

    def __new__(cls, returned):
        @attrs.frozen
        class Acting(Ucb):
            name = "acting"

            def act(self, policy, observation, rng):
                return returned

        return Acting()


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ([0, 1, 2, 0], "acting: act must return an array, or Rows with action, not list"),
        (None, "acting: act must return an array, or Rows with action, not NoneType"),
        (np.array(1), r"acting: act must return one action per row, 4 in all, not shape \(\)"),
        (np.array([0, 1]), r"acting: act must return one action per row, 4 in all, not shape \(2,\)"),
        (np.zeros((4, 1), dtype=int), r"acting: act must return whole numbers of shape \(4,\), not int64 of \(4, 1\)"),
        (np.zeros(4), r"acting: act must return whole numbers of shape \(4,\), not float64"),
        (np.zeros(4, dtype=bool), r"acting: act must return whole numbers of shape \(4,\), not bool"),
        (np.array([0, 1, -1, 2]), "acting: act returned arm -1; the shop has 0 to 2"),
        (np.array([0, 1, 3, 2]), "acting: act returned arm 3; the shop has 0 to 2"),
    ],
)
def test_actions_that_are_none(returned, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        selection(Acts(returned)).ask()


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (np.zeros((4, 2)), r"acting: act must return floats of shape \(4, 3\), not float64 of \(4, 2\)"),
        (np.zeros((4, 3), dtype=int), r"acting: act must return floats of shape \(4, 3\), not int64 of \(4, 3\)"),
        (np.full((4, 3), np.nan), "acting: act returned an action that is not finite"),
    ],
)
def test_points_that_are_none(returned, sentence: str) -> None:
    @attrs.frozen
    class Acting(LinUcb):
        name = "acting"

        def act(self, policy, observation, rng):
            return returned

    ball = Problem("the shop", actions="ball", dimension=3, noise=0.5, low=-1.0, high=1.0, horizon=100, delta=0.01)
    with pytest.raises(CorralError, match=sentence):
        selection(Acting(), problem=ball).ask()


CONTEXTS = Problem(
    "the shop", arms=3, dimension=2, changing=True, masked=True, noise=0.5, low=0.0, high=1.0, horizon=100, delta=0.01
)
SEEN = np.ones((4, 3, 2))
NAN = np.where(np.arange(24).reshape(4, 3, 2) == 17, np.nan, 1.0)  # row 2, arm 2
THERE = np.ones((4, 3), dtype=bool)


@pytest.mark.parametrize(
    ("observation", "sentence"),
    [
        (SEEN, "ask needs an Observation, not ndarray"),
        (Observation(), "the shop has features that change; every observation must show them"),
        (
            Observation(SEEN.tolist()),
            r"features must be numbers of shape \(4, 3, 2\): rows, arms, features, .* not list",
        ),
        (Observation(SEEN[:, :, :1]), r"the shop: features must be numbers of shape .* not float64 of \(4, 3, 1\)"),
        (Observation(SEEN[:, :2]), r"not float64 of \(4, 2, 2\)"),
        (Observation(SEEN[0]), r"with rows = 4, not float64 of \(3, 2\)"),
        (Observation(SEEN.astype(str)), r"not <U32 of \(4, 3, 2\)"),
        (Observation(NAN), "the shop: features of row 2 are not finite numbers"),
        (
            Observation(SEEN, THERE.astype(int)),
            r"the mask must be booleans of shape \(4, 3\): rows, arms, not int",
        ),
        (Observation(SEEN, THERE[0]), r"the mask must be booleans of shape .* not bool of \(3,\)"),
        (Observation(SEEN, THERE[:, :2]), r"the mask must be booleans of shape .* not bool of \(4, 2\)"),
        (
            Observation(SEEN, THERE & (np.arange(4) != 1)[:, None]),
            "no arm is available in row 1; a mask must leave at least one",
        ),
    ],
)
@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_wrong_observations_are_named_and_change_nothing(observation, sentence: str, preset: str) -> None:
    """A selection that refused one goes on as one that never saw it."""

    def plays(refusing: bool) -> list[list[int]]:
        chosen = selection(LinUcb(), Uniform(), problem=CONTEXTS, options=PRESETS[preset])
        rng, actions = np.random.default_rng(3), []
        for _ in range(20):
            if refusing:
                with pytest.raises(CorralError, match=sentence):
                    chosen.ask(observation)
            action, ticket = chosen.ask(Observation(rng.random((4, 3, 2))))
            chosen.tell(ticket, rng.random(4))
            actions.append(action.tolist())
        assert (chosen.rounds_of == 20 // chosen.options.steps).all()
        return actions

    assert plays(refusing=True) == plays(refusing=False)


def test_an_arm_that_is_not_there_may_have_any_features() -> None:
    mask = THERE.copy()
    mask[2, 2] = False
    action, _ = selection(LinUcb(), problem=CONTEXTS).ask(Observation(NAN, mask))
    assert action[2] != 2


def test_an_arm_that_is_masked() -> None:
    @attrs.frozen
    class Masked(Ucb):
        name = "masked"
        masks = True

    mask = np.ones((4, 3), dtype=bool)
    mask[2, 0] = False
    chosen = selection(Masked(), problem=attrs.evolve(PROBLEM, masked=True))
    with pytest.raises(CorralError, match="masked: act returned an arm that the mask excludes"):
        chosen.ask(Observation(mask=mask))


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (np.zeros(4, dtype=int), "careless: choose must return bases and probabilities, not ndarray"),
        (
            (np.zeros((4, 1), dtype=int), None),
            r"careless: choose must return one whole number per row, of shape \(4,\)",
        ),
        ((np.zeros(4), None), "careless: choose must return one whole number per row"),
        ((np.full(4, 1), None), "careless: choose must return bases 0 to 0, not 1"),
        ((np.zeros(4, dtype=int), np.ones((1, 4))), r"one probability per row, not shape \(1, 4\)"),
    ],
)
def test_choices_that_are_none(choice, sentence: str) -> None:
    @attrs.frozen
    class Careless(Uniform):
        name = "careless"

        def choose(self, state, active, rng):
            return choice

    with pytest.raises(CorralError, match=sentence):
        selection(Ucb(), Careless()).ask()


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (3, "careless: update must return a Verdict or None, not int 3"),
        (Verdict(drop=np.zeros((4, 1), dtype=bool)), r"drop of a Verdict must be booleans of shape \(1, 4\)"),
        (
            Verdict(restart=np.zeros((1, 4))),
            r"restart of a Verdict must be booleans of shape .* not float64 of \(1, 4\)",
        ),
    ],
)
def test_verdicts_that_are_none(verdict, sentence: str) -> None:
    @attrs.frozen
    class Careless(Uniform):
        name = "careless"

        def update(self, state, chosen, probability, gain, active):
            return verdict

    chosen = selection(Ucb(), Careless())
    with pytest.raises(CorralError, match=sentence):
        chosen.tell(chosen.ask()[1], np.zeros(4))


def test_importance_weights_need_probabilities() -> None:
    @attrs.frozen
    class Sure(OriginalCorral):
        name = "sure"

        def choose(self, state, active, rng):
            return super().choose(state, active, rng)[0], None

    with pytest.raises(CorralError, match="sure: importance-weighted feedback needs the probabilities of choices"):
        selection(Ucb(), Sure()).ask()


@pytest.mark.parametrize(
    ("do", "sentence"),
    [
        (lambda: try_out(BernoulliArms, Ucb(), horizon=5), r"try_out takes instances: write BernoulliArms\(\)"),
        (lambda: try_out(BernoulliArms(), [Ucb], horizon=5), r"try_out takes instances: write Ucb\(\), not Ucb"),
        (
            lambda: try_out(BernoulliArms(), Ucb(), horizon=5, preset="pratice"),
            "preset must be paper or theory or practice",
        ),
    ],
)
def test_a_trial_that_is_set_up_wrongly(do, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        do()


@pytest.mark.parametrize("method", ["pay", "step"])
def test_payments_that_are_not_all_there(method: str) -> None:
    world = {"pay": Small(), "step": SmallChain()}[method]
    half = attrs.frozen(type("Half", (type(world),), {method: lambda self, *arguments: np.zeros(3), "name": "half"}))()
    with pytest.raises(CorralError, match=f"half: {method} must return"):
        half.play(half.draw(3, np.random.default_rng(1)), lambda seen: np.zeros(3, dtype=int), np.random.default_rng(1))


def test_a_validator_speaks_when_a_base_is_resolved() -> None:
    with pytest.raises(CorralError, match="rate in the shop: 'arms' must be >= 2: 1"):
        Rate().resolve(attrs.evolve(PROBLEM, environment="the shop", arms=1))


def test_a_state_that_holds_a_number() -> None:
    class Counted(Rows):
        pulls: Array
        clock: int

    clocked = {"init": lambda self, given, rng: Counted(np.zeros(len(given)), 0), "name": "clocked"}
    base = attrs.frozen(type("Clocked", (Ucb,), clocked))().resolve(PROBLEM)
    curve = Curve("clocked", (base,), ("clocked",), None, PRESETS["paper"])
    with pytest.raises(CorralError, match=r"clocked: init: Counted.clock must be an array, Rows or a Log, not int 0"):
        bytes_per_row(BernoulliArms(arms=3), [curve], 10)


@pytest.mark.parametrize(
    ("do", "sentence"),
    [
        (lambda: selection(Ucb(), rows=0), "at least one row and one round, not 0 and 50"),
        (lambda: selection(Ucb(), Corral(), rounds=0), "at least one row and one round, not 4 and 0"),
        (
            lambda: selection(Ucb(), options="practice"),
            r"options must be Options, like PRESETS\[.practice.\], not 'practice'",
        ),
        (lambda: selection(Ucb()).ask(np.zeros(4)), "ask needs an Observation, not ndarray"),
        (
            lambda: Selection([Ucb()], None, PROBLEM, rows=1, rounds=1, rng=np.random.default_rng(1)),
            r"ucb does not know its arms: call resolve\(problem\) on it first",
        ),
    ],
)
def test_a_live_system_that_is_set_up_wrongly(do, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        do()


def test_rewards_that_are_no_numbers() -> None:
    chosen = selection(Ucb())
    _, ticket = chosen.ask()
    with pytest.raises(CorralError, match="rewards must be numbers, not ndarray"):
        chosen.tell(ticket, np.array(["a", "b", "c", "d"]))


def test_regret_that_is_not_one_a_row() -> None:
    class Summed(BernoulliArms):
        def pay(self, instance, observation, action, rng):
            reward, regret = super().pay(instance, observation, action, rng)
            return reward, regret.sum()

    with pytest.raises(CorralError, match=r"bernoulli-arms must give one regret per row, of shape \(3,\), not \(\)"):
        try_out(Summed(), [Ucb()], rows=3, horizon=10)


@pytest.mark.parametrize("method", ["init", "policy"])
def test_states_and_policies_that_are_no_rows(method: str) -> None:
    returning_none = {method: lambda *_: None, "name": "empty"}
    empty = attrs.frozen(type("Empty", (Ucb,), returning_none))().resolve(PROBLEM)
    curve = Curve("empty", (empty,), ("empty",), None, PRESETS["paper"])
    with pytest.raises(CorralError, match=f"empty: {method} must return Rows, not NoneType"):
        bytes_per_row(BernoulliArms(arms=3), [curve], 10)


def test_an_exception_of_a_plugin_says_where_it_came_from() -> None:
    @attrs.frozen
    class Raising(Ucb):
        name = "raising"

        def learn(self, state, rows, feedback, rng):
            raise ZeroDivisionError("a bug of the author's")

    source = {"name": "try", "horizon": 10, "environment": {"name": "bernoulli-arms"}, "bases": [{"name": "ucb"}]}
    experiment = parse_point(source)
    curve = Curve("raising", (Raising().resolve(experiment.problem),), ("raising",), None, PRESETS["practice"])
    with pytest.raises(ZeroDivisionError) as raised:
        run_chunk(attrs.evolve(experiment, curves=(curve,)), "raising", 0)
    assert raised.value.__notes__ == ["in experiment try, curve raising, chunk 1"]


# --- Episodes ---------------------------------------------------------------------------------------------------------

EPISODES = Problem("the tour", arms=2, episodic=True, states=3, stages=4, low=0.0, high=4.0, horizon=9, delta=0.1)


def at(state=0, stage=0, rows=4) -> Observation:
    return Observation(state=np.full(rows, state), stage=np.full(rows, stage))


def path(**changed) -> Trajectory:
    whole, shape = np.zeros((4, 2), dtype=int), (4, 2)
    fields = {"state": whole, "action": whole, "reward": np.zeros(shape), "next_state": whole}
    return Trajectory(**{**fields, "alive": np.ones(shape, dtype=bool), **changed})


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (Observation(), r"the state must be whole numbers of shape \(4,\), not NoneType"),
        (Observation(state=np.zeros(4, dtype=int)), "the stage must be whole numbers"),
        (at(state=3), "the state must be from 0 to 2, not 3"),
        (at(state=-1), "the state must be from 0 to 2, not -1"),
        (at(stage=4), "the stage must be from 0 to 3, not 4"),
        (at(rows=3), r"of shape \(4,\), not int64 of \(3,\)"),
        (Observation(state=np.zeros(4), stage=np.zeros(4)), "not float64"),
    ],
)
def test_what_is_seen_in_an_episode(seen, said) -> None:
    with pytest.raises(CorralError, match=said):
        selection(Psrl(), problem=EPISODES).ask(seen)


@pytest.mark.parametrize(
    ("experience", "said"),
    [
        (None, "tell needs the Trajectory of an episode as well as its return, not NoneType"),
        (path(alive=np.ones((4, 2))), "alive of a Trajectory must be booleans"),
        (path(alive=np.ones((4, 5), dtype=bool)), r"of shape \(4, steps taken, at most 4\)"),
        (path(alive=np.zeros((4, 2), dtype=bool)), "must be true up to the last step of a row"),
        (path(alive=np.array([[True, False]] * 3 + [[False, True]])), "must be true up to the last step"),
        (path(state=np.full((4, 2), 7)), "state of a Trajectory must be from 0 to 2, not 7"),
        (path(next_state=np.zeros((4, 2))), "next_state of a Trajectory must be whole numbers"),
        (path(action=np.full((4, 2), 2)), "action of a Trajectory must be from 0 to 1, not 2"),
        (path(reward=np.full((4, 2), np.nan)), "reward of a Trajectory must be finite numbers"),
        (path(reward=np.zeros(4)), "reward of a Trajectory must be finite numbers"),
    ],
)
def test_what_an_episode_leaves(experience, said) -> None:
    """Nothing has changed when it is refused: the same ticket can be told rightly."""
    select = selection(Psrl(), problem=EPISODES)
    _, ticket = select.ask(at())
    with pytest.raises(CorralError, match=said):
        select.tell(ticket, np.zeros(4), experience)
    select.tell(ticket, np.zeros(4), path())


def test_an_episode_of_known_length_is_told_whole() -> None:
    problem = attrs.evolve(EPISODES, fixed_length=True)
    select = selection(Psrl(), problem=problem)
    _, ticket = select.ask(at())
    with pytest.raises(CorralError, match="every episode takes 4 stages, but one in this Trajectory took 2"):
        select.tell(ticket, np.zeros(4), path())
    whole = path().replace(**{name: np.tile(array, (1, 2)) for name, array in path()._values()})
    select.tell(ticket, np.zeros(4), whole)
