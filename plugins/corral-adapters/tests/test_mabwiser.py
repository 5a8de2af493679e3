"""MABWiser's policies compared with MABWiser driven by hand, under selection, and when they are refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from corral_adapters import MabWiser
from corral_mab import BernoulliArms, GaussianArms
from mabwiser.mab import MAB, LearningPolicy, NeighborhoodPolicy

from corral_core import Corral, CorralError, Feedback, Observation, Problem, try_out
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows, group_kin

PLAIN = Problem(arms=4, low=0.0, high=1.0)
SHARED = Problem(arms=4, dimension=3, shared=True, changing=True, low=0.0, high=1.0)
ALL = [
    LearningPolicy.EpsilonGreedy(epsilon=0.3),
    LearningPolicy.Popularity(),
    LearningPolicy.Random(),
    LearningPolicy.Softmax(tau=0.2),
    LearningPolicy.ThompsonSampling(),
    LearningPolicy.UCB1(alpha=0.7),
    LearningPolicy.LinGreedy(epsilon=0.3, l2_lambda=2.0),
    LearningPolicy.LinTS(alpha=0.7),
    LearningPolicy.LinUCB(alpha=0.7, scale=True),
]


def named(policy) -> str:
    return type(policy).__name__


@pytest.mark.parametrize("policy", ALL, ids=named)
@pytest.mark.usefixtures("untouched")
def test_it_plays_what_mabwiser_plays(policy) -> None:
    """150 plays: each arm once, then what a bare MAB with the same generator predicts."""
    problem = SHARED if named(policy).startswith("Lin") else PLAIN
    base = MabWiser(named(policy), policy._asdict()).resolve(problem)
    rng, rewards, own = np.random.default_rng(1), np.random.default_rng(2), np.random.default_rng(1)
    state = base.init(given_rows([base], {}, 1), rng)
    bare = MAB([0, 1, 2, 3], policy)
    row = np.zeros(1, dtype=int)
    for play in range(150):
        context = rewards.random(3) if problem.shared else None
        seen = NOTHING if context is None else Observation(features=context[None])
        arm = base.act(base.policy(state, row), seen, rng)
        if play < 4:
            assert arm[0] == play
        else:
            bare._rng.rng = own
            for model in getattr(bare._imp, "arm_to_model", {}).values():
                model.rng = bare._rng  # each has a copy for its own once it is fitted
            assert arm[0] == bare.predict(None if context is None else [context.tolist()])
        reward = (rewards.random(1) < [0.2, 0.4, 0.6, 0.8][arm[0]]).astype(float)
        base.learn(state, row, Feedback(seen, arm, reward), rng)
        bare.partial_fit([int(arm[0])], reward.tolist(), None if context is None else [context.tolist()])
    assert rng.random() == own.random()  # and drew no more than that


@pytest.mark.parametrize("policy", ALL, ids=named)
def test_acting_changes_nothing_and_a_snapshot_stays(policy) -> None:
    problem = SHARED if named(policy).startswith("Lin") else PLAIN
    learner = MabWiser(named(policy), policy._asdict()).resolve(problem).make(problem)
    rng = np.random.default_rng(3)
    for _ in range(12):
        learner.learn(rng.random(3), learner.act(rng.random(3), rng), float(rng.integers(2)))
    before = pickle.dumps(learner)
    context = rng.random(3)
    played = [learner.act(context, np.random.default_rng(seed)) for seed in range(30)]
    assert pickle.dumps(learner) == before
    kept = learner.snapshot()
    for _ in range(12):
        learner.learn(rng.random(3), learner.act(rng.random(3), rng), 1.0)
    assert [kept.act(context, np.random.default_rng(seed)) for seed in range(30)] == played


@pytest.mark.usefixtures("untouched")
def test_selection_over_smoothed_policies() -> None:
    """Thompson sampling is told from a policy that plays at random: 12 rows of 600 plays.

    Over twelve other seeds the mean regret was 35 with a standard deviation of 3, and the first base was played 476
    times more with one of 13: either bound is more than 25 of these away, so that chance fails it with less than 1e-9.
    """
    bases = [MabWiser("ThompsonSampling"), MabWiser("Random")]
    record = try_out(BernoulliArms(means=(0.9, 0.1)), bases, Corral(eta=0.5), rows=12, horizon=600, preset="paper")
    assert record.regret is not None
    assert record.regret[:, -1].mean() < 120
    assert record.plays[:, -1, 0].mean() > record.plays[:, -1, 1].mean()


def test_policies_with_like_parameters_are_not_kin() -> None:
    """MABWiser's own tuples are equal where their numbers are."""
    assert LearningPolicy.UCB1(0.1) == LearningPolicy.EpsilonGreedy(0.1)
    bases = [MabWiser.wrap(policy) for policy in (LearningPolicy.UCB1(0.1), LearningPolicy.EpsilonGreedy(0.1))]
    assert len(group_kin([base.resolve(PLAIN) for base in bases])) == 2


def test_a_ready_made_mab_starts_with_what_it_knows() -> None:
    mab = MAB(["a", "b", "c", "d"], LearningPolicy.EpsilonGreedy(epsilon=0.0))
    mab.fit(["a", "b", "c", "d"], [0, 0, 1, 0])
    base = MabWiser.wrap(mab).resolve(PLAIN)
    first, second = base.make(PLAIN), base.make(PLAIN)
    rng = np.random.default_rng(4)
    assert first.act(None, rng) == 2
    for _ in range(3):
        first.learn(None, 2, -1.0)
    assert first.act(None, rng) != 2
    assert second.act(None, rng) == 2
    with pytest.raises(CorralError, match="EpsilonGreedy was made for 4 arms; a casino has 5"):
        base.resolve(Problem("a casino", arms=5))


def test_a_number_makes_rewards_binary() -> None:
    """The largest regret of 200 other rows was 2.4. For 30 the bad arm would have to be drawn 38 times: below 1e-9."""
    base = MabWiser("ThompsonSampling", {"binarizer": 0.5})
    record = try_out(GaussianArms(means=(0.9, 0.1), noise=0.1), base, rows=3, horizon=100)
    assert record.regret is not None
    assert (record.regret[:, -1] < 30).all()
    with pytest.raises(CorralError, match=r"could not learn from a reward of .*: Thompson Sampling requires binary"):
        try_out(GaussianArms(means=(0.9, 0.1)), MabWiser("ThompsonSampling"), rows=1, horizon=2)


@pytest.mark.parametrize(
    ("algorithm", "settings", "problem", "said"),
    [
        ("UBC1", {}, PLAIN, "mabwiser has no policy 'UBC1'; did you mean UCB1?"),
        ("UCB1", {"alhpa": 1}, PLAIN, "mabwiser: UCB1 has no 'alhpa'; did you mean alpha?"),
        ("UCB1", {"alpha": -1}, PLAIN, "mabwiser: UCB1: The value of alpha cannot be negative"),
        ("UCB1", {"alpha": "x"}, PLAIN, "mabwiser: UCB1: Alpha must be an integer or float"),
        ("LinUCB", {}, PLAIN, "mabwiser: LinUCB needs one context for all arms; the problem shows no contexts"),
        (
            "LinTS",
            {},
            Problem(arms=3, dimension=2, changing=True),
            "mabwiser: LinTS needs one context for all arms; the problem shows features of each arm",
        ),
        ("UCB1", {}, Problem(actions="ball"), "mabwiser needs finitely many actions; .* a ball of actions"),
        ("Popularity", {}, Problem(arms=3, renewable=True), "mabwiser cannot forget an arm"),
        ("UCB1", {}, Problem(arms=3, episodic=True), "mabwiser plays single actions; .* asks for episodes"),
    ],
)
def test_refusals(algorithm, settings, problem, said) -> None:
    with pytest.raises(CorralError, match=said):
        MabWiser(algorithm, settings).resolve(problem)


def test_what_cannot_be_wrapped() -> None:
    with pytest.raises(CorralError, match="settings must be a table of names and values, not 3"):
        MabWiser("UCB1", 3)
    with pytest.raises(CorralError, match=r"algorithm must be a name, .*MabWiser\.wrap takes objects"):
        MabWiser(LearningPolicy.UCB1())
    with pytest.raises(CorralError, match="wraps a LearningPolicy or a MAB, not int"):
        MabWiser.wrap(3)
    near = MAB([0, 1], LearningPolicy.UCB1(), NeighborhoodPolicy.KNearest(2))
    with pytest.raises(CorralError, match="KNearest keeps every play"):
        MabWiser.wrap(near)


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_library() -> None:
    with pytest.raises(CorralError, match=r'^mabwiser is not installed: pip install "corral-adapters\[mabwiser\]"$'):
        MabWiser("UCB1").resolve(PLAIN)
