"""What a meta may say besides its choice: drops, readmissions, restarts it requires, steps, records, no horizon."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from corral_mab import Ucb, UniformPlay

from corral_core.errors import CorralError
from corral_core.metas.exp3p import Exp3P
from corral_core.protocols.meta import Meta, Verdict
from corral_core.rows import Array
from corral_core.selection.options import PRESETS
from corral_core.selection.selection import Selection

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, digest, play, selection

PLAIN = PRESETS["practice"]


@attrs.define(eq=False)
class Script:
    rounds: int
    plays: Array  # (bases, rows)


@attrs.frozen
class Scripted(Meta):
    """The active base that was played least; drops base 1 in row 0 after 4 rounds and readmits it after 8."""

    name: ClassVar[str] = "scripted"
    needs_horizon: ClassVar[bool] = False
    restarts: ClassVar[Any] = "required"
    records: ClassVar[tuple[str, ...]] = ("plays-so-far",)

    def init(self, rows: int, problem: Any) -> Script:
        return Script(0, np.zeros((problem.bases, rows)))

    def choose(self, state: Script, active: Array, rng: Any) -> Any:
        return np.where(active, state.plays, np.inf).argmin(axis=0), None

    def update(self, state: Script, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        state.plays[chosen, np.arange(len(chosen))] += 1
        state.rounds += 1
        at = np.zeros(active.shape, dtype=bool)
        at[1, 0] = True
        if state.rounds == 4:
            return Verdict(drop=at)
        return Verdict(readmit=at, restart=at) if state.rounds == 8 else None

    def probabilities(self, state: Script) -> None:
        return None

    def recorded(self, state: Script) -> dict[str, Array]:
        return {"plays-so-far": state.plays}


def bases_of(chosen: Selection, plays: int) -> list[list[int]]:
    return [bases for bases, _ in play(chosen, plays)]


def test_a_base_is_dropped_in_its_row_until_it_is_readmitted() -> None:
    chosen = selection([Ucb(), UniformPlay()], Scripted(), rows=2, options=PLAIN)
    assert bases_of(chosen, 4) == [[0, 0], [1, 1], [0, 0], [1, 1]]
    assert chosen.active.tolist() == [[True, True], [False, True]]
    assert [bases[0] for bases in bases_of(chosen, 4)] == [0, 0, 0, 0]
    assert chosen.active.all() and chosen.restarts.tolist() == [[0, 0], [1, 0]]  # although the option is off
    assert [bases[0] for bases in bases_of(chosen, 4)] == [1, 1, 1, 1]
    assert chosen.recorded["plays-so-far"].tolist() == [[6, 6], [6, 6]]
    assert chosen.probabilities is None


def test_a_base_that_failed_the_base_test_is_not_readmitted() -> None:
    chosen = selection([Ucb(), UniformPlay()], Scripted(), rows=2, options=PLAIN)
    play(chosen, 4)
    assert chosen.judge.set_aside(np.array([2]))  # base 1 in row 0
    play(chosen, 4)
    assert chosen.judge.wanted.all() and chosen.active.tolist() == [[True, True], [False, True]]


def test_setting_aside_the_only_base_that_was_wanted_readmits_the_others() -> None:
    chosen = selection([Ucb(), UniformPlay()], Scripted(), rows=2, options=PLAIN)
    play(chosen, 4)
    assert chosen.judge.set_aside(np.array([0]))  # base 0 in row 0, where base 1 is dropped
    assert chosen.active.tolist() == [[False, True], [True, True]]


def test_a_verdict_that_leaves_a_row_without_a_base_changes_nothing_there() -> None:
    class All(Scripted):
        def update(self, state: Script, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
            drop = np.ones(active.shape, dtype=bool)
            drop[0, 1] = False
            return Verdict(drop=drop)

    chosen = selection([Ucb(), UniformPlay()], All(), rows=2, options=PLAIN)
    play(chosen, 1)
    assert chosen.active.tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("moment", [0, 3, 5, 9])
def test_drops_and_records_survive_saving_without_a_horizon(moment: int, tmp_path: Path) -> None:
    problem = attrs.evolve(PROBLEM, horizon=None)
    bases = [UniformPlay().resolve(problem), UniformPlay().resolve(problem)]
    first = Selection(bases, Scripted(), problem, rows=2, rng=1, options=PLAIN)
    play(first, moment)
    first.save(tmp_path / "saved.npz")
    second = Selection.load(tmp_path / "saved.npz", bases, Scripted(), problem)
    assert second.rounds is None
    assert bases_of(first, 12) == bases_of(second, 12)
    for one, other in zip((first, second), (second, first), strict=True):
        assert digest([one.active, one.restarts, one.recorded]) == digest(
            [other.active, other.restarts, other.recorded]
        )


@attrs.frozen
class Steps(Exp3P):
    """Notes the gains that it is told."""

    per_step: ClassVar[bool] = True
    seen: list[Array] = attrs.field(factory=list, metadata={"hidden": True})

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        self.seen.append(gain.copy())
        return super().update(state, chosen, probability, gain.mean(axis=0), active)


@pytest.mark.parametrize(("preset", "steps"), [("practice", 1), ("paper", 2), ("theory", 2)])
def test_the_gain_of_every_step(preset: str, steps: int) -> None:
    """Rewards lie in [0, 1], the unit of gains; the bias is subtracted in the steps that count."""
    options, meta = PRESETS[preset], Steps(p=0.1)
    chosen = selection([Ucb(), Ucb(scale=2.0)], meta, rows=3, options=options)
    told: list[Any] = []
    for number in range(40):
        actions, ticket = chosen.ask()
        reward = ((actions + number + np.arange(3)) % 2).astype(float)
        told.append((ticket.chosen.copy(), ticket.round.plays, reward))
        chosen.tell(ticket, reward)
    assert [gain.shape for gain in meta.seen] == [(steps, 3)] * (40 // steps)
    assert isinstance(chosen.judge.needs_plays, bool)
    for number, gain in enumerate(meta.seen):
        whole = told[number * steps : (number + 1) * steps]
        rewards = np.stack([reward for _, _, reward in whole])
        if not options.bias:
            assert (gain == rewards).all()
            continue
        bases, plays, _ = whole[-1]
        average = chosen.judge._bounds(bases, plays) / plays  # type: ignore[attr-defined]
        bias = options.bias * np.minimum(average, 1.0)
        weights = chosen.judge._weights  # type: ignore[attr-defined]
        wanted = rewards - np.where(np.array(weights)[:, None] > 0, bias, 0.0)
        assert np.allclose(gain, wanted, rtol=0, atol=1e-12)


def test_late_steps_are_told_together() -> None:
    """The second step is told first."""
    meta = Steps(p=0.1)
    chosen = selection([Ucb(), Ucb(scale=2.0)], meta, rows=2, options=PRESETS["paper"])
    (_, one), (_, two) = chosen.ask(), chosen.ask()
    chosen.tell(two, np.array([0.25, 0.5]))
    assert meta.seen == []
    chosen.tell(one, np.array([0.0, 1.0]))
    assert [gain.tolist() for gain in meta.seen] == [[[0.0, 1.0], [0.25, 0.5]]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"meta": Exp3P()}, "exp3p needs rounds: the number of rounds that it plans for"),
        ({"delta": None}, "scripted without rounds needs a problem with delta, which otherwise is 1/rounds"),
        ({"base_test": True}, "base_test needs to know the number of rounds for its width; switch base_test off"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_needs_the_number_of_rounds_is_named(changes: dict[str, Any], sentence: str) -> None:
    problem = attrs.evolve(PROBLEM, horizon=None, delta=changes.get("delta", PROBLEM.delta))
    options = attrs.evolve(PRESETS["paper"], base_test=changes.get("base_test", False))
    bases = [Ucb(delta=0.1).resolve(problem)] * 2
    with pytest.raises(CorralError) as refused:
        Selection(bases, changes.get("meta", Scripted()), problem, rng=1, options=options)
    assert str(refused.value) == sentence


class Stubborn(Scripted):
    """Chooses base 1, whatever it dropped."""

    def choose(self, state: Script, active: Array, rng: Any) -> Any:
        return np.ones(active.shape[1], dtype=int), None


def test_a_dropped_base_cannot_be_chosen() -> None:
    chosen = selection([Ucb(), Ucb(scale=2.0)], Stubborn(), rows=2)
    with pytest.raises(CorralError) as refused:
        play(chosen, 10)
    assert str(refused.value) == "scripted: choose must choose an active base, but base 1 is not active"
    assert chosen.rounds_of.sum() == 2 * 4


def test_a_dropped_base_restarts_too_and_comes_back_fresh() -> None:
    """With its drop, or while it is dropped; not if it failed the base test or was set aside."""

    @attrs.frozen
    class Fresh(Scripted):
        def update(self, state: Script, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
            verdict = super().update(state, chosen, probability, gain, active)
            at = np.arange(2)[:, None] == np.ones(active.shape[1])
            if state.rounds == 4:
                return Verdict(drop=at, restart=at)
            return Verdict(restart=at) if state.rounds == 6 else Verdict(readmit=at) if state.rounds == 8 else verdict

    chosen = selection([Ucb(), Ucb(scale=2.0)], Fresh(), rows=2, options=PLAIN)
    play(chosen, 8)
    assert chosen.active.all() and chosen.restarts.tolist() == [[0, 0], [2, 2]]
    assert chosen.blocks[0].player.plays.reshape(2, 2)[1].tolist() == [0, 0]

    chosen = selection([Ucb(), Ucb(scale=2.0)], Fresh(), rows=2, options=PLAIN)
    play(chosen, 3)
    chosen.judge.set_aside(np.array([2]))  # base 1 in row 0
    play(chosen, 5)
    assert chosen.restarts.tolist() == [[0, 0], [0, 2]]
