"""Files that were edited: whatever cannot belong to the selection is one sentence, in bounded memory."""

from __future__ import annotations

import copy
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Ucb

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.selection.alike import demand_alike
from corral_core.selection.options import PRESETS
from corral_core.selection.selection import Selection

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, play, selection

BASES = [EpsilonGreedy(c=1), Ucb(), Exp3(), EpsilonGreedy(c=9)]
Edit = Callable[[dict[str, Any], dict[str, Any]], None]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file with three open tickets in the middle of a round."""
    path = tmp_path_factory.mktemp("saved") / "x.npz"
    chosen = selection(BASES, Corral(eta=0.2), 2, PRESETS["theory"])
    play(chosen, 61)
    for _ in range(3):
        chosen.ask()
    chosen.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("corral").tobytes()), arrays


def loaded(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> Selection:
    np.savez(path, corral=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    return Selection.load(path, [base.resolve(PROBLEM) for base in BASES], Corral(eta=0.2), PROBLEM)


def ucb_state(header: dict[str, Any]) -> dict[str, Any]:
    return next(node for node in header["objects"] if node.get("rows", "").endswith("UcbState"))


def turned(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Swap the axes of the first state array that is not square."""
    nodes = (node["array"] for node in header["objects"] if "array" in node)
    place = next(place for place in nodes if place[0] != "large" and len(place[2]) == 2 and len(set(place[2])) == 2)
    place[2].reverse()


def longer_log(kind: bool) -> Edit:
    """Say that a log has 10^8 entries more; `kind` is whether it has any."""

    def edit(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        node = next(node for node in header["objects"] if "log" in node and bool(node["columns"]) is kind)
        place = header["objects"][node["length"]["ref"]]["array"]
        arrays[f"small-{place[0]}"][place[1]] += 10**8

    return edit


def numbers(change: Callable[[Any], Any], kind: str) -> Edit:
    return lambda header, arrays: arrays.update({f"small-{kind}": change(arrays[f"small-{kind}"])})


EDITS: dict[str, Edit] = {
    "many rows": lambda header, arrays: header.update(rows=10**9),
    "rows in words": lambda header, arrays: header.update(rows="2"),
    "live in words": lambda header, arrays: header.update(live="yes"),
    "single precision": numbers(lambda array: array.astype(np.float32), "<f8"),
    "counts that are not whole": numbers(lambda array: array + 0.5, "<i8"),
    "negative counts": numbers(lambda array: -array - 1, "<i8"),
    "too large counts": numbers(lambda array: array + 1000, "<i8"),
    "turned": turned,
    "a longer log": longer_log(True),
    "a longer log without entries": longer_log(False),
    "another class": lambda header, arrays: ucb_state(header).update(rows="corral_core.protocols.problem:Observation"),
    "another field": lambda header, arrays: ucb_state(header)["fields"].update(take=5),
    "a method of the judge": lambda header, arrays: header["judge"]["dict"]["own"]["dict"].update(choose=1),
    "a judge without arrays": lambda header, arrays: header["judge"]["dict"].update(own={"dict": {}}),
    "a base test without arrays": lambda header, arrays: header["judge"]["dict"].update(test={"dict": {}}),
    "a meta without a state": lambda header, arrays: header["judge"]["dict"].update(meta={"list": []}),
    "a number as round": lambda header, arrays: header.update(round=5),
    "a ticket as round": lambda header, arrays: header.update(round=header["tickets"]["list"][0]),
    "a ticket thrice": lambda header, arrays: header.update(tickets={"list": header["tickets"]["list"][:1] * 3}),
    "tickets that are yet to come": lambda header, arrays: header.update(issued=0),
    "issued in words": lambda header, arrays: header.update(issued="x"),
    "tickets of nothing": lambda header, arrays: header.update(tickets={"list": [1]}),
    "failures of nothing": lambda header, arrays: header.update(failures={"dict": {"reasons": {"list": [1]}}}),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_file_is_one_sentence(name: str, saved: Any, tmp_path: Path) -> None:
    """And takes little memory, whatever it says about its size."""
    header, arrays = copy.deepcopy(saved)
    assert loaded(tmp_path / "x.npz", header, arrays).rows == 2
    EDITS[name](header, arrays)
    tracemalloc.start()
    try:
        with pytest.raises(CorralError, match=r"^[^\n]*(is damaged|from_arrays refused what was saved)[^\n]*$"):
            loaded(tmp_path / "x.npz", header, arrays)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["\x1b[31mred", "A" * 100_000, "two\nlines"])
@pytest.mark.parametrize("place", ["versions", "name", "format"])
def test_what_a_file_says_is_quoted_in_one_short_line(place: str, text: str, saved: Any, tmp_path: Path) -> None:
    header, arrays = copy.deepcopy(saved)
    if place == "versions":
        header.update(versions={text: text}, rows=None)
    elif place == "name":
        header["described"]["bases"][0] = {"class": "x", "name": text}
    else:
        header.update(format=10**300, versions={"corral-core": text})
    with pytest.raises(CorralError) as refused:
        loaded(tmp_path / "x.npz", header, arrays)
    sentence = str(refused.value)
    assert len(sentence) < 400 + len(str(tmp_path))
    assert sentence.isprintable()


def test_what_is_not_a_file_is_one_sentence() -> None:
    with pytest.raises(CorralError, match="/dev/zero cannot be read: Not a file"):
        Selection.load("/dev/zero", [Ucb().resolve(PROBLEM)], None, PROBLEM)


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [
        (np.zeros((2, 3)), np.zeros((2, 5)), True),  # histories may grow
        (np.zeros((2, 3)), np.zeros((3, 2)), False),
        (np.zeros(2), np.zeros((2, 1)), False),
        (np.zeros(2), np.zeros(2, dtype=int), True),  # counted in whole numbers at first
        (np.zeros(2, dtype=int), np.zeros(2), False),
        (None, np.zeros(2), True),
        ({"a": np.zeros(2)}, {"a": np.ones(2)}, True),
        ({"a": np.zeros(2)}, {"b": np.ones(2)}, False),
        (np.zeros(2), 5, False),
    ],
)
def test_what_is_alike(one: Any, other: Any, fits: bool) -> None:
    """The loaded one, and a fresh one."""
    if fits:
        demand_alike(one, other, "it")
        return
    with pytest.raises(ValueError, match="it"):
        demand_alike(one, other, "it")
