"""What a caller passes to a selection: refused in one sentence, with every byte as it was; plain values for one row."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from pathlib import Path

import attrs
import numpy as np
import pytest
from corral_linucb import LinUcb
from corral_mab import EpsilonGreedy, Ucb, Ucb1
from corral_tabular import Psrl

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.protocols.problem import NOTHING, Observation, Problem, Trajectory
from corral_core.selection.options import PRESETS

sys.path.insert(0, str(Path(__file__).parent))
from made import digest, play, selection

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
        (Observation(mask=THERE), "the shop has features that change; every observation must show them"),
        (Observation(SEEN), "the shop masks arms; every observation needs a mask of the available ones"),
        (
            Observation(SEEN.tolist(), THERE),
            r"features must be numbers of shape \(4, 3, 2\): rows, arms, features, .* not list",
        ),
        (
            Observation(SEEN[:, :, :1], THERE),
            r"the shop: features must be numbers of shape .* not float64 of \(4, 3, 1\)",
        ),
        (Observation(SEEN[:, :2], THERE), r"not float64 of \(4, 2, 2\)"),
        (Observation(SEEN[0], THERE), r"with rows = 4, not float64 of \(3, 2\)"),
        (Observation(SEEN.astype(str), THERE), r"not <U32 of \(4, 3, 2\)"),
        (Observation(NAN, THERE), "the shop: features of row 2 are not finite numbers"),
        (Observation(np.ma.array(SEEN, mask=SEEN > 0), THERE), "the shop: features must be numbers of shape"),
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
    chosen = selection([LinUcb(), LinUcb(dimension=1)], Corral(eta=0.2), problem=CONTEXTS, options=PRESETS[preset])
    rng = np.random.default_rng(3)
    for _ in range(7):
        _, ticket = chosen.ask(Observation(rng.random((4, 3, 2)), THERE))
        chosen.tell(ticket, rng.random(4))
    before = digest(chosen)
    with pytest.raises(CorralError, match=sentence):
        chosen.ask(observation)
    assert digest(chosen) == before


def test_an_arm_that_is_not_there_may_have_any_features() -> None:
    mask = THERE.copy()
    mask[2, 2] = False
    action, _ = selection([LinUcb()], None, problem=CONTEXTS).ask(Observation(NAN, mask))
    assert action[2] != 2


def test_a_mask_where_there_are_none() -> None:
    """Bases that were resolved without masks would not respect it."""
    chosen = selection([Ucb()], None)
    with pytest.raises(CorralError, match="the problem has no masks; to pass one, set masked=True in its Problem"):
        chosen.ask(Observation(mask=THERE))


@pytest.mark.parametrize(
    ("reward", "sentence"),
    [
        (None, "rewards must be numbers, not NoneType None"),
        (1j, "rewards must be numbers, not complex 1j"),
        ([1j] * 4, "rewards must be numbers, not list"),
        ("1.0", "rewards must be numbers, not str '1.0'"),
        (["1", "0", "1", "0"], "rewards must be numbers, not list"),
        (np.array(["1", "0", "1", "0"]), "rewards must be numbers, not ndarray"),
        (b"1", "rewards must be numbers, not bytes"),
        (np.ma.array(np.ones(4), mask=[0, 1, 0, 0]), "rewards must be numbers, not MaskedArray"),
        (np.ma.masked, "rewards must be numbers, not MaskedConstant"),
        ([1.0, np.ma.masked, 0.0, 1.0], "rewards must be numbers, not list"),
        (np.array(["2026-01-01"] * 4, dtype="M8[D]"), "rewards must be numbers, not ndarray"),
        (np.ones(4, dtype="m8[s]"), "rewards must be numbers, not ndarray"),
        (datetime.date(2026, 1, 1), "rewards must be numbers, not date"),
        ([1.0, None, 0.0, 1.0], "rewards must be numbers, not list"),
        ([1.0, [2.0], 0.0, 1.0], "rewards must be numbers, not list"),
        ([Decimal(1)] * 4, "rewards must be numbers, not list"),
        ({"reward": 1.0}, "rewards must be numbers, not dict"),
        ([10**400] * 4, "rewards must be numbers, not list"),
        (object(), "rewards must be numbers, not object"),
        (1.0, r"one reward per row, of shape \(4,\), not \(\)"),
        (np.ones(3), r"one reward per row, of shape \(4,\), not \(3,\)"),
        (np.ones((4, 1)), r"one reward per row, of shape \(4,\), not \(4, 1\)"),
        ([0.0, 1.0, np.nan, 1.0], "the reward of row 2 is nan; rewards must be finite numbers"),
        ([0.0, np.inf, 1.0, 1.0], "the reward of row 1 is inf"),
    ],
)
@pytest.mark.parametrize("preset", ["practice", "theory"])
def test_wrong_rewards_are_named_and_change_nothing(reward, sentence: str, preset: str) -> None:
    chosen = selection([Ucb(), EpsilonGreedy(c=5)], Corral(eta=0.2), options=PRESETS[preset])
    play(chosen, 9)
    _, ticket = chosen.ask()
    before = digest(chosen), digest(ticket)
    with pytest.raises(CorralError, match=sentence):
        chosen.tell(ticket, reward)
    assert (digest(chosen), digest(ticket)) == before
    chosen.tell(ticket, np.ones(4))  # the same ticket can be told rightly
    assert digest(chosen) != before[0]


@pytest.mark.parametrize(
    "reward",
    [[1, 0, 1, 0], (True, False, True, False), np.array([1, 0, 1, 0], dtype=np.uint8), np.ma.array(np.ones(4))],
    ids=["ints", "booleans", "bytes", "nothing masked"],
)
def test_rewards_may_be_any_real_numbers(reward) -> None:
    chosen = selection([Ucb()], None)
    chosen.tell(chosen.ask()[1], reward)
    assert chosen.blocks[0].player.state.means.total.sum() == np.sum(reward)


@pytest.mark.parametrize(
    ("ticket", "sentence"),
    [
        (lambda own, other: None, "expected the ticket that ask returned, or its number, not NoneType None"),
        (lambda own, other: (np.zeros(4), own), "expected the ticket that ask returned, or its number, not tuple"),
        (lambda own, other: 17, "there is no ticket 17: 0 to 0 were issued so far"),
        (lambda own, other: other, "this ticket belongs to another selection; tell it to the one that issued it"),
    ],
    ids=["none", "what ask returned", "a number", "of another"],
)
@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_wrong_tickets_are_named_and_change_nothing(ticket, sentence: str, preset: str) -> None:
    """A ticket of another selection was accepted once, and taught this one."""
    chosen, another = (selection([Ucb(), Ucb1()], Corral(), options=PRESETS[preset], seed=seed) for seed in (1, 2))
    _, own = chosen.ask()
    _, other = another.ask()
    before = digest(chosen), digest(another)
    with pytest.raises(CorralError, match=sentence):
        chosen.tell(ticket(own, other), np.ones(4))
    with pytest.raises(CorralError, match=r"no episodes|expected the ticket|another selection|no ticket 17"):
        chosen.ask(NOTHING, ticket(own, other) or 17)
    assert (digest(chosen), digest(another)) == before


def test_a_ticket_is_for_episodes() -> None:
    chosen = selection([Ucb()], None)
    _, ticket = chosen.ask()
    before = digest(chosen)
    with pytest.raises(CorralError, match="the problem has no episodes: call ask without a ticket, once for each play"):
        chosen.ask(NOTHING, ticket)
    assert digest(chosen) == before


@pytest.mark.parametrize("experience", [np.zeros(4), "seen", 3, {"features": None}])
def test_wrong_experience_is_named_and_changes_nothing(experience) -> None:
    chosen = selection([Ucb()], None)
    _, ticket = chosen.ask()
    before = digest(chosen)
    with pytest.raises(CorralError, match="tell needs the Observation that was passed to ask, or nothing, not"):
        chosen.tell(ticket, np.ones(4), experience)
    assert digest(chosen) == before


# --- One row ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", [1.0, 1, True, np.float32(1), np.array(1.0), [1.0], np.ones(1)], ids=repr)
def test_the_reward_of_one_row_may_be_a_number(reward) -> None:
    chosen = selection([Ucb()], None, rows=1)
    chosen.tell(chosen.ask()[1], reward)
    assert chosen.blocks[0].player.state.means.total.sum() == 1


def test_one_row_may_be_plain_lists() -> None:
    """With and without the axis of rows, lists play like arrays."""
    features, mask = np.random.default_rng(5).random((20, 1, 3, 2)), np.array([[True, True, False]])
    forms = [
        lambda each: Observation(each, mask),
        lambda each: Observation(each.tolist(), mask.tolist()),
        lambda each: Observation(each[0].tolist(), mask[0].tolist()),
        lambda each: Observation(tuple(map(tuple, each[0])), (True, True, False)),
    ]
    played = []
    for form in forms:
        chosen = selection([LinUcb(), LinUcb(dimension=1)], Corral(eta=0.3), rows=1, problem=CONTEXTS)
        actions = []
        for each in features:
            action, ticket = chosen.ask(form(each))
            chosen.tell(ticket, float(each[0, action[0], 0]))
            actions.append(int(action[0]))
        played.append(actions)
    assert played[0] == played[1] == played[2] == played[3]
    assert 2 not in played[0]


def test_lists_that_have_no_shape() -> None:
    chosen = selection([LinUcb()], None, rows=1, problem=CONTEXTS)
    with pytest.raises(CorralError, match="features must be numbers of one shape, not list"):
        chosen.ask(Observation([[1.0, 2.0], [1.0], [0.0, 0.0]], [True] * 3))
    with pytest.raises(CorralError, match=r"features must be numbers of shape \(1, 3, 2\).* not <U1 of \(1, 3, 2\)"):
        chosen.ask(Observation([["a", "b"]] * 3, [True] * 3))


@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_what_the_caller_changes_after_asking_changes_nothing(preset: str) -> None:
    """Observations, actions and probabilities are copies: overwriting them is like leaving them alone."""

    def plays(meddling: bool) -> str:
        chosen = selection([LinUcb(), LinUcb(dimension=1)], Corral(eta=0.3), problem=CONTEXTS, options=PRESETS[preset])
        rng, features, mask = np.random.default_rng(3), np.zeros((4, 3, 2)), THERE.copy()
        for _ in range(30):
            features[...], mask[...] = rng.random((4, 3, 2)), True
            action, ticket = chosen.ask(Observation(features, mask))
            reward = features[np.arange(4), action, 0]
            if meddling:
                features[...], mask[...], action[...], chosen.probabilities[...] = np.nan, False, 99, 0
            chosen.tell(ticket, reward)
        return digest(chosen)

    assert plays(meddling=True) == plays(meddling=False)


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
        selection([Psrl()], None, problem=EPISODES).ask(seen)


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
    select = selection([Psrl()], None, problem=EPISODES)
    _, ticket = select.ask(at())
    before = digest(select)
    with pytest.raises(CorralError, match=said):
        select.tell(ticket, np.zeros(4), experience)
    assert digest(select) == before
    select.tell(ticket, np.zeros(4), path())


def test_an_episode_of_known_length_is_told_whole() -> None:
    problem = attrs.evolve(EPISODES, fixed_length=True)
    select = selection([Psrl()], None, problem=problem)
    _, ticket = select.ask(at())
    with pytest.raises(CorralError, match="every episode takes 4 stages, but one in this Trajectory took 2"):
        select.tell(ticket, np.zeros(4), path())
    whole = path().replace(**{name: np.tile(array, (1, 2)) for name, array in path()._values()})
    select.tell(ticket, np.zeros(4), whole)


def test_an_episode_that_was_told_is_over() -> None:
    select = selection([Psrl()], None, problem=EPISODES)
    _, ticket = select.ask(at())
    select.tell(ticket, np.zeros(4), path())
    before = digest(select)
    with pytest.raises(CorralError, match="this ticket was told already"):
        select.ask(at(stage=1), ticket)
    with pytest.raises(CorralError, match="this ticket was told already"):
        select.tell(ticket, np.zeros(4), path())
    assert digest(select) == before


def test_the_state_of_one_row_may_be_a_number() -> None:
    select = selection([Psrl()], None, rows=1, problem=EPISODES)
    _, ticket = select.ask(Observation(state=2, stage=0))
    select.ask(Observation(state=[1], stage=1), ticket)
    with pytest.raises(CorralError, match="the state must be from 0 to 2, not 3"):
        select.ask(Observation(state=3, stage=1), ticket)


def other_types(array: np.ndarray) -> list[np.ndarray]:
    """The same numbers in types that compiled kernels do not know."""
    if array.dtype.kind == "f":
        return [array.astype(kind) for kind in (np.float16, np.longdouble, array.dtype.newbyteorder())]
    return [array.astype(kind) for kind in (np.uint8, np.uint64, np.dtype(np.int32).newbyteorder())]


def test_features_of_any_kind_of_number() -> None:
    """Half precision, or the byte order of another machine, is played as double precision."""
    problem = attrs.evolve(CONTEXTS, masked=False)
    features = np.random.default_rng(5).integers(-8, 8, (4, 3, 2)) / 8
    for other in other_types(features):
        usual, unusual = (selection([LinUcb(), LinUcb(dimension=1)], Corral(eta=0.2), problem=problem) for _ in "12")
        for _ in range(5):
            pairs = [each.ask(Observation(seen)) for each, seen in ((usual, features), (unusual, other))]
            assert (pairs[0][0] == pairs[1][0]).all()
            for each, (_, ticket) in zip((usual, unusual), pairs, strict=True):
                each.tell(ticket, np.arange(4.0))


def test_states_of_any_kind_of_number() -> None:
    state, stage = np.array([0, 1, 2, 0]), np.array([0, 0, 0, 0])
    for kind in range(3):
        select = selection([Psrl()], None, problem=EPISODES)
        seen = Observation(state=other_types(state)[kind], stage=other_types(stage)[kind])
        _, ticket = select.ask(seen)
        whole = path()
        told = {name: other_types(getattr(whole, name))[kind] for name in ("state", "next_state", "reward")}
        select.tell(ticket, np.zeros(4), path(**told))


def test_other_fields_of_an_observation_are_the_callers_own() -> None:
    class Noticed(Observation):
        extra: object = None

    select = selection([Ucb()], None)
    for extra in (np.array(["a", "b", "c", "d"]), np.ones(4, complex), np.array([None] * 4)):
        _, ticket = select.ask(Noticed(extra=extra))
        assert ticket.observation.extra.dtype == extra.dtype


def test_numbers_that_are_too_large_in_double_precision_are_refused() -> None:
    large = np.zeros((4, 2), np.longdouble)
    large[1, 1] = np.longdouble("1e400") if np.finfo(np.longdouble).max > 1e400 else np.inf
    select = selection([Psrl()], None, problem=EPISODES)
    _, ticket = select.ask(at())
    with pytest.raises(CorralError, match="reward of a Trajectory must be finite numbers"):
        select.tell(ticket, np.zeros(4), path(reward=large))
    with pytest.raises(CorralError, match="the state must be whole numbers"):
        select.ask(Observation(state=np.zeros(4, np.float16), stage=np.zeros(4, int)))


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.dtype(np.int64).newbyteorder()])
def test_a_base_learns_the_action_in_a_type_that_kernels_know(kind: type) -> None:
    @attrs.frozen
    class Odd(Ucb):
        name = "odd"

        def act(self, policy, observation, rng):
            return super().act(policy, observation, rng).astype(kind)

    usual, odd = (selection([base], None, options=PRESETS["practice"]) for base in (Ucb(), Odd()))
    assert play(usual, 30) == play(odd, 30)
