"""Saving and loading: the same bits, whatever the moment, and one sentence if it cannot be.

Also tests `selection/packing.py`, `selection/described.py` and `protocols/states.py`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Ucb, Ucb1
from corral_nonparam import KnnUcb

from corral_core.bases.lift import lift
from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.exp3p import Exp3P
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.problem import Observation, Problem
from corral_core.protocols.states import state_arrays
from corral_core.selection.options import PRESETS, Options
from corral_core.selection.selection import Selection

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, digest, play, selection

BASES = [EpsilonGreedy(c=1), Ucb(), Exp3(), EpsilonGreedy(c=9)]
METAS = [Corral(eta=0.2), Corral(eta=0.2, mixing="overwrite"), Exp3P(p=0.05), OriginalCorral(eta=0.1), Uniform()]


def saved(chosen: Selection, path: Path) -> Selection:
    chosen.save(path / "selection.npz")
    return Selection.load(path / "selection.npz", chosen.bases, chosen.meta, chosen.problem)


def told(chosen: Selection, numbers: list[int]) -> list[Any]:
    """Late answers in this order, then more plays, and what is known in the end."""
    done = play(chosen, 7)
    for number in numbers:
        chosen.tell(number, np.full(chosen.rows, number % 2))
    done += play(chosen, 80)
    return [done, chosen.probabilities.tolist(), chosen.restarts.tolist(), chosen.active.tolist()]


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("options", [*PRESETS, "boosted", "shared"])
@pytest.mark.parametrize("meta", METAS, ids=lambda meta: f"{meta.name}-{getattr(meta, 'mixing', '')}")
def test_a_loaded_selection_continues_with_the_same_bits(meta: Any, options: str, rows: int, tmp_path: Path) -> None:
    """At five moments, in the middle of a round too, with five answers that come late and out of order."""
    named = {"boosted": Options(player="boosted", copies=3), "shared": Options(player="plain", share=True)}
    if options == "shared" and meta.feedback != "raw":
        pytest.skip("sharing needs raw feedback")
    chosen = selection(BASES, meta, rows, {**PRESETS, **named}[options])
    for moment in range(5):
        play(chosen, 17 + moment)
        late = [chosen.ask()[1].number for _ in range(5)]
        loaded = saved(chosen, tmp_path)
        late = [late[index] for index in np.random.default_rng(moment).permutation(5)]
        assert told(loaded, late) == told(chosen, late)


def test_rounds_and_logs_are_shared_again(tmp_path: Path) -> None:
    """Two tickets of one smoothed round, and policies that refer to the log of their base's state."""
    problem = Problem(arms=2, dimension=1, changing=True, noise=0.1, low=0.0, high=1.0, horizon=99, delta=0.1)
    chosen = selection([KnnUcb(initial=1)], None, 2, PRESETS["paper"], problem=problem)
    luck = np.random.default_rng(1)

    def ask(made: Selection, seed: int) -> Any:
        return made.ask(Observation(features=np.random.default_rng(seed).random((2, 2, 1))))[1]

    for number in range(30):
        chosen.tell(ask(chosen, number), luck.random(2))
    first, second = ask(chosen, 98), ask(chosen, 99)
    loaded = saved(chosen, tmp_path)
    one, other = loaded.open_tickets
    assert one.round is other.round
    assert first.round is second.round
    player = loaded.blocks[0].player
    history = player.state.history
    assert one.policies[0].history is history
    assert player.replay.draw(np.array([0]), np.random.default_rng(0)).history is history
    for made in (chosen, loaded):
        made.tell(1 + first.number, np.ones(2))
        made.tell(first.number, np.zeros(2))
    for number in range(40):
        tickets = [ask(made, number) for made in (chosen, loaded)]
        assert (tickets[0].actions == tickets[1].actions).all()
        for made, ticket in zip((chosen, loaded), tickets, strict=True):
            made.tell(ticket, np.full(2, number % 3 / 2))


@pytest.mark.parametrize("kind", ["PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_of_every_kind(kind: str, tmp_path: Path) -> None:
    rng = np.random.Generator(getattr(np.random, kind)(7))
    fitted = [EpsilonGreedy(c=50).resolve(PROBLEM)]
    chosen = Selection(fitted, None, PROBLEM, rows=2, rng=rng, options=PRESETS["practice"])
    play(chosen, 11)
    rng.spawn(2)
    loaded = saved(chosen, tmp_path)
    assert play(loaded, 50) == play(chosen, 50)
    assert loaded.rng.spawn(1)[0].random() == rng.spawn(1)[0].random()


def test_a_base_that_was_set_aside_stays_aside(tmp_path: Path) -> None:
    @attrs.frozen
    class Failing(Ucb1):
        name = "failing"

        def act(self, policy: Any, observation: Any, rng: Any) -> Any:
            raise ZeroDivisionError("a bug")

    chosen = selection([Failing(), Ucb()], Uniform(), 2, PRESETS["practice"])
    with pytest.warns(RuntimeWarning, match="failing failed"):
        play(chosen, 30)
    loaded = saved(chosen, tmp_path)
    assert loaded.set_aside == chosen.set_aside
    assert (loaded.active == chosen.active).all()
    assert play(loaded, 20) == play(chosen, 20)


def test_a_selection_can_be_copied_but_not_pickled() -> None:
    chosen = selection(BASES, Corral(eta=0.2))
    play(chosen, 31)
    other = copy.deepcopy(chosen)
    assert play(other, 50) == play(chosen, 50)
    with pytest.raises(CorralError, match=r"a selection cannot be pickled: use save and load, or copy\.deepcopy"):
        pickle.dumps(chosen)


# --- Python learners ---


class Counting:
    """Plays the arm of the best mean; it can be saved."""

    def __init__(self, arms: int) -> None:
        self.pulls, self.total = np.zeros(arms), [0.0] * arms

    def act(self, context: Any, rng: Any) -> int:
        return int(np.argmax(np.where(self.pulls > 0, np.array(self.total) / np.maximum(self.pulls, 1), np.inf)))

    def learn(self, context: Any, action: int, reward: float) -> None:
        self.pulls[action] += 1
        self.total[action] += reward

    def to_state(self) -> dict[str, Any]:
        return {"pulls": self.pulls.copy(), "total": list(self.total)}

    def from_state(self, state: dict[str, Any]) -> None:
        self.pulls, self.total = state["pulls"], state["total"]


class Mute(Counting):
    to_state = property()  # type: ignore[assignment]


@pytest.mark.parametrize("options", [*PRESETS.values(), Options(player="boosted", copies=2)])
def test_lifted_learners_are_saved_by_their_own_methods(options: Options, tmp_path: Path) -> None:
    bases = [lift(lambda problem: Counting(3), "counting").claiming((1, 0.5)), Exp3()]
    chosen = selection(bases, Uniform(), 2, options)
    play(chosen, 21)
    late = [chosen.ask()[1].number for _ in range(3)]
    loaded = saved(chosen, tmp_path)
    assert told(loaded, late) == told(chosen, late)


def test_learners_that_cannot_be_saved_are_named(tmp_path: Path) -> None:
    chosen = selection([lift(lambda problem: Mute(3), "mute"), Ucb()], Uniform())
    sentence = r"mute cannot be saved: its learner Mute needs to_state\(\) and from_state\(state\)"
    with pytest.raises(CorralError, match=sentence):
        chosen.save(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (ZeroDivisionError("oops"), r"odd: to_state failed \(ZeroDivisionError: oops\)"),
        ("a circle", r"odd: to_state failed \(RecursionError"),
        ("huge", r"odd: to_state must return integers of at most 4096 bits"),
        (
            {"day": np.array(["2026-01-01"], dtype="datetime64[D]")},
            r"odd: to_state must return plain values and arrays",
        ),
    ],
)
def test_states_that_cannot_be_written_name_the_base(state: Any, sentence: str, tmp_path: Path) -> None:
    class Odd(Counting):
        def to_state(self) -> Any:
            if isinstance(state, Exception):
                raise state
            circle: list[Any] = []
            circle.append(circle)
            return {"a circle": circle, "huge": 10**5000}.get(state) if isinstance(state, str) else state

    chosen = selection([lift(lambda problem: Odd(3), "odd"), Ucb()], Uniform())
    with pytest.raises(CorralError, match=sentence):
        chosen.save(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


# --- one sentence ---


def remade(path: Path, **changes: Any) -> Any:
    known: dict[str, Any] = {"bases": [base.resolve(PROBLEM) for base in BASES], "meta": METAS[0], "problem": PROBLEM}
    known |= changes
    return Selection.load(path, known.pop("bases"), known.pop("meta"), known.pop("problem"), **known)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"bases": [Ucb(arms=3)]}, r"base 0 was epsilon-greedy when it was saved, and is ucb now"),
        ({"bases": [base.resolve(PROBLEM) for base in BASES[:3]]}, "was saved with 4 bases, not 3"),
        ({"meta": Corral(eta=0.3)}, r"the meta-algorithm had eta = 0.2 when it was saved, and has 0.3 now"),
        ({"meta": Uniform()}, "the meta-algorithm was corral when it was saved, and is uniform now"),
        (
            {"problem": attrs.evolve(PROBLEM, high=2.0)},
            r"the problem had high = 1.0 when it was saved, and has 2.0 now",
        ),
        ({"options": PRESETS["theory"]}, r"options had bias = 0.0 when it was saved, and has 1.0 now"),
    ],
)
def test_other_parts_are_named(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    chosen = selection(BASES, METAS[0])
    chosen.save(tmp_path / "x.npz")
    with pytest.raises(CorralError, match=sentence):
        remade(tmp_path / "x.npz", **changes)
    remade(tmp_path / "x.npz", options=PRESETS["paper"])


def test_damaged_files_and_other_formats_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut at many places, and with single bytes changed: never anything but a sentence, or the same selection."""
    path = tmp_path / "x.npz"
    chosen = selection(BASES, METAS[0])
    play(chosen, 30)
    chosen.save(path)
    content = path.read_bytes()
    for cut in (0, 1, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(CorralError, match=r"x.npz is damaged, or not a saved selection"):
            remade(path)
    for place in np.random.default_rng(1).integers(0, len(content), 60).tolist():
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            loaded = remade(path)
        except CorralError:
            continue
        assert (loaded.probabilities == chosen.probabilities).all()
    with pytest.raises(CorralError, match="cannot be read: No such file"):
        remade(tmp_path / "nowhere.npz")
    monkeypatch.setattr("corral_core.selection.saving.FORMAT", 3)
    path.write_bytes(content)
    with pytest.raises(CorralError, match="has format 2, but this version of Corral reads format 3"):
        remade(path)


def header_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("corral").tobytes()), arrays


def test_headers_that_were_not_written_here_are_one_sentence(tmp_path: Path) -> None:
    """Every part of the header is left out, or is of each wrong kind; and what only looks like a saved file."""
    path = tmp_path / "x.npz"
    chosen = selection(BASES, METAS[0])
    play(chosen, 5)
    chosen.save(path)
    header, arrays = header_of(path)

    def refused(text: bytes, save: Any = np.savez) -> None:
        save(path, corral=np.frombuffer(text, dtype=np.uint8), **arrays)
        with pytest.raises(CorralError, match=r"^\S*x.npz (is damaged, or|has format)[^\n]*$"):
            remade(path)

    for name in header:
        if name not in ("live", "rounds", "round", "shown", "issued"):
            refused(json.dumps({key: value for key, value in header.items() if key != name}).encode())
        for wrong in (None, [], {}, "x", [[1]], {"x": None}):
            changed = json.dumps(header | {name: wrong}).encode()
            if name in ("described", "format", "generator", "judge", "objects", "players"):
                refused(changed)
                continue
            np.savez(path, corral=np.frombuffer(changed, dtype=np.uint8), **arrays)
            with contextlib.suppress(CorralError):
                remade(path)
    refused(b'{"format": 1}')
    refused(b"[" * 100_000)
    refused(json.dumps(header).encode(), np.savez_compressed)
    np.savez(path, corral=np.array([{}]))
    with pytest.raises(CorralError, match="is damaged, or not a saved selection"):
        remade(path)


@pytest.mark.parametrize("path", ["", "/", "a\0b", None, 3, "."])
def test_paths_that_are_none_are_one_sentence(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = selection(BASES, METAS[0])
    with pytest.raises(CorralError, match=r"cannot be written: [^\n\0]+$"):
        chosen.save(path)
    with pytest.raises(CorralError, match=r"cannot be read: [^\n\0]+$"):
        remade(path)
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link_and_a_private_file_private(tmp_path: Path) -> None:
    chosen = selection(BASES, METAS[0])
    (tmp_path / "link.npz").symlink_to(tmp_path / "x.npz")
    for _ in range(2):
        chosen.save(tmp_path / "link.npz")
        (tmp_path / "x.npz").chmod(0o600)
    assert (tmp_path / "link.npz").is_symlink()
    chosen.save(tmp_path / "link.npz")
    assert (tmp_path / "x.npz").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    chosen = selection(BASES, METAS[0])
    chosen.save(path)
    before, known = path.read_bytes(), digest(chosen.blocks)

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CorralError, match=r"x.npz cannot be written: No space left on device"):
        chosen.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.npz"]
    assert digest(chosen.blocks) == known


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda state, arrays: None, "hoarder: from_arrays must return the state, not NoneType None"),
        (lambda state, arrays: 1 / 0, r"hoarder: from_arrays refused what was saved \(ZeroDivisionError"),
    ],
)
def test_a_meta_that_cannot_be_filled_is_named(answer: Any, sentence: str, tmp_path: Path) -> None:
    @attrs.frozen
    class Hoarder(Uniform):
        name = "hoarder"

        def from_arrays(self, state: Any, arrays: Any) -> Any:
            return answer(state, arrays)

    chosen = selection(BASES, Hoarder())
    with pytest.raises(CorralError, match=sentence):
        saved(chosen, tmp_path)


def test_states_of_metas_that_cannot_be_saved_are_named(tmp_path: Path) -> None:
    @attrs.define(eq=False)
    class Listing:
        gains: list[float]

    @attrs.frozen
    class Hoarder(Uniform):
        name = "hoarder"

        def to_arrays(self, state: Any) -> Any:
            return state_arrays(Listing([1.0]), self.name)

    chosen = selection(BASES, Hoarder())
    with pytest.raises(CorralError, match=r"hoarder cannot be saved: Listing.gains is list \[1.0\]; keep arrays and"):
        chosen.save(tmp_path / "x.npz")
