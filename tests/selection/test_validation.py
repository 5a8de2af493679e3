"""Mistakes that a plugin's author makes: each is named, with who made it, and none is played on."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_linucb import LinUcb
from corral_mab import BernoulliArms, Rate, Ucb

from corral_core.checks.worlds import Small, SmallChain
from corral_core.engines.chunks import run_chunk
from corral_core.errors import CorralError
from corral_core.experiments.point import parse_point
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import Verdict
from corral_core.protocols.problem import Observation, Problem
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


def test_an_arm_that_is_masked() -> None:
    @attrs.frozen
    class Masked(Ucb):
        name = "masked"

        def act(self, policy, observation, rng):
            return np.zeros(len(policy), dtype=np.intp)

    mask = np.ones((4, 3), dtype=bool)
    mask[2, 0] = False
    chosen = selection(Masked(), problem=attrs.evolve(PROBLEM, masked=True))
    with pytest.raises(CorralError, match="masked: act returned an arm that the mask excludes"):
        chosen.ask(Observation(mask=mask))


def test_an_arm_beyond_the_mask_if_the_number_of_arms_is_unknown() -> None:
    """The base is named; an arm that is there may be of any type."""

    @attrs.frozen
    class Beyond(LinUcb):
        name = "beyond"
        arm: int = 7

        def act(self, policy, observation, rng):
            return np.full(len(policy), self.arm, dtype=np.uint64)

    problem = attrs.evolve(PROBLEM, arms=None, dimension=2, changing=True, masked=True)
    seen = Observation(np.ones((4, 3, 2)), np.ones((4, 3), dtype=bool))
    with pytest.raises(CorralError, match="beyond: act returned arm 7; the shop has 0 to 2"):
        selection(Beyond(), problem=problem).ask(seen)
    actions, _ = selection(Beyond(arm=2), problem=problem).ask(seen)
    assert actions.tolist() == [2] * 4 and actions.dtype == np.intp


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
        (
            (np.zeros(4, dtype=int), np.ones((1, 4))),
            r"one probability per row, of shape \(4,\), or None, not float64 of \(1, 4\)",
        ),
        ((np.zeros(4, dtype=int), ["x"] * 4), r"one probability per row, of shape \(4,\), or None, not list"),
        ((np.zeros(4, dtype=int), np.array([1, 1, np.nan, 1])), "probabilities above 0 and at most 1, not nan"),
        ((np.zeros(4, dtype=int), np.array([1, 0.0, 1, 1])), "probabilities above 0 and at most 1, not 0"),
        ((np.zeros(4, dtype=int), np.array([1, 0, 1, 1], np.float32)), "probabilities above 0 and at most 1, not 0"),
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
