"""Tables of Gymnasium that are no tables, are invalid or incomplete: one sentence each."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from corral_adapters import GymnasiumTable
from corral_adapters.environments.transitions import Transitions
from gymnasium.spaces import Discrete, MultiDiscrete

from corral_core import CorralError

sys.path.insert(0, str(Path(__file__).parent))
from listed_tables import CLIFF, FORK, TAXI, changed, listed, registered


@pytest.fixture(autouse=True)
def _registered():
    yield from registered()


WHOLE = r"its P must have 2 states, each with 2 actions, each with a list of \(probability, next state, reward, term"
CHANCES = r"its P gives action 1 in state 0 the probabilities .*; they must sum to 1, none below 0$"
STARTS = r"its initial_state_distrib must be 2 probabilities that sum to 1, none below 0, not "
INSTEAD = "use gymnasium, which needs no table$"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (GymnasiumTable("FrozenLak-v1"), "^gymnasium-table: FrozenLak-v1 cannot be made: .*FrozenLake"),
        (GymnasiumTable("FrozenLake-v1", {"is_slipery": 1}), "FrozenLake-v1 cannot be made: .*is_slipery"),
        (GymnasiumTable("FrozenLake-v1", {"desc": 5}), "FrozenLake-v1 cannot be made: "),
        (GymnasiumTable(CLIFF), f"an episode of {CLIFF} may never end; set stages$"),
        (
            GymnasiumTable("Blackjack-v1", stages=5),
            rf"^gymnasium-table: Blackjack-v1: its observations must be numbered from 0, .*Tuple\(.*; {INSTEAD}",
        ),
        (listed(states=Discrete(2, start=1)), rf"its observations must .* are Discrete\(2, start=1\); {INSTEAD}"),
        (listed(actions=MultiDiscrete([2])), rf"its actions must .* are MultiDiscrete\(\[2\]\); {INSTEAD}"),
        (listed(None), f"^gymnasium-table: Listed-v0: it has no transition table P; {INSTEAD}"),
        (listed(start=None), f"it has no initial_state_distrib, the probabilities of the first state; {INSTEAD}"),
    ],
)
def test_refusals(environment, said) -> None:
    with pytest.raises(CorralError, match=said):
        environment.problem  # noqa: B018


@pytest.mark.parametrize(
    "table",
    [
        {},
        [],
        7,
        "ab",
        print,
        np.ones((2, 2, 2)) / 2,
        {0: FORK[0]},
        {**FORK, 2: FORK[1]},
        {0: FORK[0], 2: FORK[1]},
        {0: FORK[0], 1: {0: FORK[1][0]}},
        {0: FORK[0], 1: {**FORK[1], 2: FORK[1][0]}},
        {0: FORK[0], 1: None},
        changed(0, 1, (1.0, 0, 0.0, False)),
        changed(0, 1, [(1.0, 0, 0.0)]),
        changed(0, 1, [(1.0, 0.5, 0.0, False)]),
        changed(0, 1, [(1.0, 2**70, 0.0, False)]),
        changed(0, 1, [("likely", 0, 0.0, False)]),
        changed(0, 1, [(1.0, 0, None, False)]),
        changed(0, 1, [(1.0, 0, 10**400, False)]),
        {0: {0: [], 1: []}, 1: {0: [], 1: []}},
    ],
    ids=lambda table: str(table)[:60],
)
def test_what_is_no_table(table) -> None:
    with pytest.raises(CorralError, match=f"^gymnasium-table: Listed-v0: {WHOLE}.*; {INSTEAD}"):
        listed(table).problem  # noqa: B018


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([], CHANCES),
        ([(0.5, 0, 0.0, False)], CHANCES),
        ([(1.5, 0, 0.0, False), (-0.5, 0, 0.0, False)], CHANCES),
        ([(0.50001, 0, 0.0, False)] * 2, CHANCES),
        ([(np.nan, 0, 0.0, False)], CHANCES),
        ([(np.inf, 0, 0.0, False), (-np.inf, 0, 0.0, False)], CHANCES),
        ([(1e308, 0, 0.0, False)] * 3, CHANCES),
        ([(1.0, 0, np.nan, False)], r"its P gives action 1 in state 0 the rewards \[nan.*; they must be finite"),
        ([(1.0, 0, -np.inf, False)], r"the rewards \[-inf.*; they must be finite, at most 1e\+100$"),
        ([(1.0, 0, 1e200, False)], r"the rewards \[1e\+200.*; they must be finite"),
        ([(1.0, 2, 0.0, False)], r"its P leads action 1 in state 0 to states \[2.*; states are 0 to 1$"),
        ([(0.5, 0, 0.0, False), (0.5, -1, 0.0, False)], r"to states \[0, -1.*; states are 0 to 1$"),
    ],
)
def test_tables_that_cannot_be_true(outcomes, said) -> None:
    with pytest.raises(CorralError, match=said):
        listed(changed(0, 1, outcomes)).problem  # noqa: B018


@pytest.mark.parametrize(
    "start", [(1.0,), (0.5, 0.4), (1.5, -0.5), (np.nan, 1.0), (np.inf, 0.0), "ab", 1.0, ((1.0, 0.0),), [[1], [2, 3]]]
)
def test_starts_that_cannot_be_true(start) -> None:
    with pytest.raises(CorralError, match=STARTS):
        listed(start=start).problem  # noqa: B018


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_settings_that_make_no_sense() -> None:
    """A lake without a start, and one on which a way is improbable beyond measure."""
    with pytest.raises(CorralError, match="its initial_state_distrib must be 4 probabilities"):
        GymnasiumTable("FrozenLake-v1", {"desc": ["FF", "FG"]}).problem  # noqa: B018
    with pytest.raises(CorralError, match=r"the probabilities \[-0\.25, 1\.5, -0\.25\]"):
        GymnasiumTable("FrozenLake-v1", {"success_rate": 1.5}).problem  # noqa: B018
    with pytest.raises(CorralError, match="settings must be a table of names and values, not 5"):
        GymnasiumTable("FrozenLake-v1", 5)
    with pytest.raises(CorralError, match=r"which cannot be rendered; leave render_mode out$"):
        GymnasiumTable("FrozenLake-v1", {"render_mode": "human"}).problem  # noqa: B018


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            GymnasiumTable(TAXI, {"fickle_passenger": True}),
            f"^gymnasium-table: {TAXI}: its fickle_passenger changes the destination, which P does not list; {INSTEAD}",
        ),
        (
            listed(quirk="jumps"),
            rf"its P is incomplete: action \d in state \d paid .* and led to state \d, .* listed; {INSTEAD}",
        ),
        (listed(quirk="elsewhere"), f"it started in state 1, which has probability 0 as the first state; {INSTEAD}"),
        (listed(quirk="cuts"), f"it cut an episode after 3 of 4 steps, which P does not list; {INSTEAD}"),
        (listed(quirk="breaks"), "^gymnasium-table: Listed-v0 cannot be played: the lake is dry$"),
        (GymnasiumTable("Generous-v0", {"table": FORK}, stages=4), "its P is incomplete: action .* paid"),
        (GymnasiumTable("FrozenLake-v1", {"map_name": None}), "its P is different each time it is made; pass settings"),
    ],
)
def test_tables_that_do_not_tell_everything(environment, said) -> None:
    with pytest.raises(CorralError, match=said):
        environment.problem  # noqa: B018


def test_a_fickle_passenger_would_be_noticed_unnamed() -> None:
    """A taxi whose passenger is fickle in secret: the seeds are fixed, and the destination changes in play."""
    transitions = Transitions.of(gymnasium.make(TAXI), 200)
    fickle = gymnasium.make(TAXI, fickle_passenger=True)
    with pytest.raises(CorralError, match="its P is incomplete"):
        transitions.doubt(fickle, 200)


def test_what_would_not_fit_into_memory() -> None:
    with pytest.raises(
        CorralError,
        match=r"500 states, 6 actions and 7000 stages have more than 20000000 values, the maximum; set fewer",
    ):
        GymnasiumTable(TAXI, stages=7000).problem  # noqa: B018
    with pytest.raises(CorralError, match="16 states, 4 actions and 1000000000000 stages have more than"):
        GymnasiumTable("FrozenLake-v1", stages=10**12).problem  # noqa: B018
    table = {state: {0: [(1.0, 0, 0.0, False)]} for state in range(5000)}
    table[0][0] = [(1 / 5000, state, 0.0, False) for state in range(5000)]
    start = np.full(5000, 1 / 5000)
    with pytest.raises(CorralError, match="5000 states and 1 actions with 5000 outcomes each are more than 20000000"):
        listed(table, start=start, states=Discrete(5000), actions=Discrete(1)).problem  # noqa: B018


def test_ranges_that_cannot_be() -> None:
    with pytest.raises(CorralError, match=r"low must be less than high, not 1\.0 and 0\.0"):
        GymnasiumTable("FrozenLake-v1", low=1.0, high=0.0)
    with pytest.raises(CorralError, match=r"low must be less than 0\.74419, the return of the best policy, not 0\.9$"):
        GymnasiumTable("FrozenLake-v1", low=0.9).problem  # noqa: B018
    with pytest.raises(CorralError, match=r"high must be more than 0, the return of the worst policy, not -1\.0$"):
        GymnasiumTable("FrozenLake-v1", high=-1.0).problem  # noqa: B018
    with pytest.raises(CorralError, match=r"low must be less than .*, not nan$"):
        GymnasiumTable("FrozenLake-v1", low=float("nan")).problem  # noqa: B018
    with pytest.raises(ValueError, match="'stages' must be >= 1"):
        GymnasiumTable("FrozenLake-v1", stages=0)


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_library() -> None:
    lake = GymnasiumTable("FrozenLake-v1")
    with pytest.raises(CorralError, match=r'^gymnasium is not installed: pip install "corral-adapters\[gymnasium\]"$'):
        lake.problem  # noqa: B018
