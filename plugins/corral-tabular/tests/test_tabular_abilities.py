"""What tabular bases can do besides playing: renew actions, state action probabilities, learn from others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_kit.tabular.tabular import Tabular
from corral_tabular import EpsilonGreedyPlanning, Psrl, QLearning, RiverSwim, Ucrl2

from corral_core import CorralError, Environment, Observation
from corral_core.checks.worlds import SmallChain
from corral_core.selection.setup import given_rows

sys.path.insert(0, str(Path(__file__).parent))
from loops import Wild, episodes

WORLDS = [RiverSwim(stages=5), SmallChain(), Wild()]
BASES = [Ucrl2(scale=0.1), Ucrl2(version="tabularl"), EpsilonGreedyPlanning(epsilon=0.3), QLearning(epsilon=0.3)]


def resolved(base: Tabular, environment: Environment, **changes: Any) -> Any:
    return base.resolve(attrs.evolve(environment.problem, horizon=60, delta=0.1, **changes))


@pytest.mark.parametrize("environment", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("base", BASES, ids=str)
def test_probabilities_follow_from_the_best_actions(base: Tabular, environment: Environment) -> None:
    """Of every state and stage: epsilon/A each, and the rest shared by the best actions."""
    fitted, rows = resolved(base, environment), 3
    epsilon = getattr(base, "epsilon", 0.0)
    for policy, _, _ in episodes(fitted, environment, rows, 15):
        for stage, state in np.ndindex(fitted.stages, fitted.states):
            seen = Observation(state=np.full(rows, state), stage=np.full(rows, stage))
            found = fitted.action_probabilities(policy, seen)
            for row in range(rows):
                best = np.unpackbits(policy.best[row, stage, state])[: fitted.arms]
                for action in range(fitted.arms):
                    wanted = epsilon / fitted.arms + (1 - epsilon) * best[action] / best.sum()
                    assert found[row, action] == pytest.approx(wanted, abs=1e-15)


def test_a_drawn_model_is_played_for_certain() -> None:
    environment = SmallChain()
    fitted = resolved(Psrl(), environment)
    for policy, play, _ in episodes(fitted, environment, 3, 5):
        seen = Observation(state=play.observation.state[:, 0], stage=np.zeros(3, dtype=np.intp))
        found = fitted.action_probabilities(policy, seen)
        assert (found[np.arange(3), play.action[:, 0]] == 1).all() and (found.sum(axis=1) == 1).all()


@pytest.mark.parametrize("environment", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("base", BASES[:3], ids=str)
def test_a_renewed_action_was_never_taken(base: Tabular, environment: Environment) -> None:
    """What remains of the counts are the steps with other actions, and the policy is planned from these."""
    rows, gone = np.array([2, 0]), np.zeros((2, environment.problem.arms), dtype=bool)
    gone[0, 0] = gone[1, -1] = True
    fitted = resolved(base, environment, renewable=True)
    played = list(episodes(fitted, environment, 3, 20))
    seen, state = [play.observation for _, play, _ in played], played[-1][2]
    fitted.policy(state, np.arange(3))
    fitted.renew(state, rows, gone)
    other: Any = fitted.init(given_rows([fitted], {}, 3), None)
    for trajectory in seen:
        taken = trajectory.alive.copy()
        for row, arms in zip(rows, gone, strict=True):
            taken[row] &= ~arms[trajectory.action[row]]
        steps = fitted.steps(np.arange(3), trajectory)
        episode, stage = np.nonzero(trajectory.alive)
        kept = taken[episode, stage]
        other.counts.add(attrs.evolve(steps, **{name: array[kept] for name, array in _arrays(steps)}))
    for name, array in state.counts.to_arrays().items():
        np.testing.assert_allclose(array, other.counts.to_arrays()[name], rtol=1e-12, atol=1e-12)
    if fitted.rarely_changes:
        other.steps[:] = state.steps  # the time goes on
        assert fitted.changed(state, rows).all() and not fitted.changed(state, np.array([1])).any()
        assert (state.in_force.since[rows] == state.counts.taken[rows]).all()
        assert (fitted.policy(state, rows).best == fitted._planned(other, rows).best).all()


@pytest.mark.parametrize("version", ["jaksch", "tabularl"])
def test_what_is_known_of_other_actions_stays_as_certain(version: Any) -> None:
    """The widths of UCRL2 depend on the time, which renewing an action does not turn back."""
    environment = SmallChain()
    fitted = resolved(Ucrl2(version=version), environment, renewable=True)
    *_, (_, _, state) = episodes(fitted, environment, 3, 20)
    rows, gone = np.arange(3), np.array([[True, False]] * 3)

    def widths() -> list[Any]:
        return list(fitted._widths(state, rows, state.counts, state.counts.led.sum(axis=3)))

    before = widths()
    fitted.renew(state, rows, gone)
    for one, other in zip(before, widths(), strict=True):
        assert (one[:, :, 1] == other[:, :, 1]).all() and (one[:, :, 0] < other[:, :, 0]).any()


def _arrays(steps: Any) -> list[tuple[str, Any]]:
    return [(field.name, getattr(steps, field.name)) for field in attrs.fields(type(steps))]


@pytest.mark.parametrize("base", [Psrl(), QLearning()], ids=str)
def test_bases_that_cannot_forget_refuse(base: Tabular) -> None:
    with pytest.raises(CorralError, match=f"{base.name} cannot forget an arm; .* replaces arms by new ones"):
        resolved(base, SmallChain(), renewable=True)
