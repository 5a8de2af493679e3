"""What bases, metas, problems and options cannot go together.

Also tests `selection/options.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Ucb

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.problem import Problem
from corral_core.selection.options import PRESETS, Options
from corral_core.selection.selection import Selection

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, play, selection


@pytest.mark.parametrize(
    ("bases", "meta", "options", "sentence"),
    [
        ([], Uniform(), None, "at least one base"),
        ([Ucb(), Exp3()], None, None, "need a meta-algorithm"),
        ([Ucb(), Exp3()], Corral(), Options(player="plain", base_test=True), "two steps of a smoothed base"),
    ],
)
def test_what_cannot_go_together_is_refused(bases, meta, options, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        selection(bases, meta, options=options)


def test_bounds_are_asked_for_where_they_are_needed() -> None:
    @attrs.frozen
    class Unbounded(Ucb):
        name = "unbounded"

        def bound(self, delta):
            return None

    selection([Unbounded(), Exp3()], Corral())
    with pytest.raises(CorralError, match="unbounded has no regret bound"):
        selection([Unbounded(), Exp3()], Corral(), options=PRESETS["theory"])


def test_rewards_need_a_known_range() -> None:
    with pytest.raises(CorralError, match="no known range"):
        selection([Ucb(low=0.0, high=1.0)], Uniform(), problem=attrs.evolve(PROBLEM, low=None, high=None))


def test_what_judges_the_played_base_is_off_where_every_base_is_taught() -> None:
    """Original CORRAL has neither bias nor test, whatever the preset; restarts are its source's."""
    chosen = selection([Exp3(), EpsilonGreedy(c=3)], OriginalCorral(eta=0.1), options=PRESETS["theory"])
    assert chosen.options == attrs.evolve(PRESETS["practice"], restart=True)
    play(chosen, 20)


FITTED = Ucb().resolve(PROBLEM)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"bases": {"ucb": FITTED}}, r"bases must be a list of bases, like \[Ucb\(\), Exp3\(\)\], not dict"),
        ({"bases": FITTED}, "bases must be a list of bases, .* not Ucb"),
        ({"bases": "ucb"}, "bases must be a list of bases, .* not str 'ucb'"),
        ({"bases": None}, "bases must be a list of bases, .* not NoneType"),
        ({"bases": [Ucb]}, r"a base must be an object, not a class: write Ucb\(...\)"),
        ({"bases": ["ucb"]}, "a base must be a Base, not str 'ucb'"),
        ({"bases": [Ucb()]}, r"ucb does not know its arms: call resolve\(problem\) on it first"),
        ({"meta": Corral}, r"meta must be an object, not a class: write Corral\(...\)"),
        ({"meta": "corral"}, "meta must be a Meta or None, not str 'corral'"),
        ({"problem": Problem}, r"problem must be an object, not a class: write Problem\(...\)"),
        ({"problem": {"arms": 3}}, "problem must be a Problem, not dict"),
        ({"options": "practice"}, r"options must be Options, like PRESETS\[.practice.\], not str 'practice'"),
        ({"options": Options}, r"options must be an object, not a class: write Options\(...\)"),
        ({"rounds": None}, "corral needs rounds: the number of rounds that it plans for"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, not int 0"),
        ({"rounds": 2.5}, "rounds must be a whole number of at least 1, not float 2.5"),
        ({"rounds": float("nan")}, "rounds must be a whole number of at least 1, not float nan"),
        ({"rows": 0}, "rows must be a whole number of at least 1, not int 0"),
        ({"rows": True}, "rows must be a whole number of at least 1, not bool True"),
        ({"rows": "4"}, "rows must be a whole number of at least 1, not str '4'"),
        ({"rng": "luck"}, r"rng must be a numpy Generator or a seed \(.*\), not str 'luck'"),
        ({"rng": None}, "rng must be a numpy Generator or a seed"),
        ({"shown": [1]}, "shown must be a table of arrays by name, not list"),
        ({"shown": {"x": np.zeros(3)}}, r"shown\['x'\] must be an array with 2 rows, not float64 of \(3,\)"),
        ({"shown": {"x": [1, 2]}}, r"shown\['x'\] must be an array with 2 rows, not list"),
    ],
)
def test_a_selection_that_is_made_wrongly(changed: dict, sentence: str) -> None:
    parts = {"bases": [FITTED, Exp3().resolve(PROBLEM)], "meta": Corral(), "problem": PROBLEM, **changed}
    told = {"rows": 2, "rounds": 9, "rng": 1, **{key: parts.pop(key) for key in list(parts)[3:]}}
    with pytest.raises(CorralError, match=sentence):
        Selection(parts["bases"], parts["meta"], parts["problem"], **told)


def test_one_row_and_no_rounds_are_the_default_of_a_base_alone() -> None:
    action, _ = Selection([FITTED], None, PROBLEM, rng=1).ask()
    assert action.tolist() == [0]


def test_messages_name_the_problem() -> None:
    """A problem without a name of its own is no environment."""
    with pytest.raises(CorralError, match="ucb needs a finite set of arms; the problem has none"):
        Ucb().resolve(Problem(noise=0.5, low=0.0, high=1.0, delta=0.1))
