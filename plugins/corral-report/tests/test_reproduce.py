"""`corral reproduce`: plays, judges, goes on after an interruption, and says where it disagrees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corral_report.reproduce import plan, reproduce, untried
from corral_report.reproduce_report import counted, to_json, write

from corral_core.cli import main
from corral_core.errors import CorralError
from corral_core.known import known

EXPERIMENT = """
name = "tiny"
question = "Which of two, where one has linear regret?"
horizon = 400
replicates = 12
open = ["the arms are not stated: 0.75 and 0.25"]
quick = { replicates = 8 }

[environment]
name = "bernoulli-arms"
means = [0.75, 0.25]

[[bases]]
name = "rate"
gap = 0.5

[[bases]]
name = "rate"
gap = 0.5
good = 1
bad = 0

[[claims]]
of = "Figure 7"
says = "The base that errs rarely | does *better*."
less = ["rate(gap=0.5)", "rate(gap=0.5, good=1, bad=0)"]

[[claims]]
of = "Figure 8"
says = "The base that errs often does better."
reading = true
less = ["rate(gap=0.5, good=1, bad=0)", "rate(gap=0.5)"]
"""


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """Regrets are near 10 and near 190: that chance turns them round has probability below 1e-20."""
    file = tmp_path / "tiny.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    return str(file)


def command(*words: str) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as left:
        main(["reproduce", *words])
    code = left.value.code
    return code if isinstance(code, int) else 0


def test_the_report_says_what_agrees_and_what_does_not(tiny: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = reproduce(plan([tiny], quick=True), out, workers=1)
    left = untried()
    page, markdown = write(found, left, out, quick=True)
    assert [judgement.verdict for judgement in found[0].judgements] == ["agrees", "disagrees"]
    assert counted(found) == "Of 2 claims 1 agree, 1 disagree, and 0 cannot be told."
    for text in (page.read_text("utf-8"), markdown.read_text("utf-8")):
        assert "disagrees" in text and "(Reading.)" in text
        assert "the arms are not stated" in text and "400 plays, 8 replicates" in text
        assert "were not written blindly" in text
        assert str(tmp_path) not in text, "no path of this machine"
        assert "corral reproduce tiny.toml --quick" in text
    assert r"rarely \| does \*better\*" in markdown.read_text("utf-8")
    assert (out / "pictures/tiny.svg").read_text("utf-8").startswith("<?xml")
    assert "](pictures/tiny.svg)" in markdown.read_text("utf-8")
    told = to_json(found, left, quick=True)
    assert [claim["verdict"] for claim in told["claims"]] == ["agrees", "disagrees"]


def test_it_goes_on_after_an_interruption(tiny: str, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    planned = plan([tiny], quick=False)
    write(reproduce(planned, whole, workers=1), untried(), whole, quick=False)
    reproduce(planned, broken, workers=1)
    chunks = sorted((broken / "runs" / "tiny" / "chunks").glob("*.npz"))
    chunks[0].unlink()
    kept = chunks[1].stat().st_mtime_ns
    write(reproduce(planned, broken, workers=1), untried(), broken, quick=False)
    assert chunks[0].exists() and chunks[1].stat().st_mtime_ns == kept, "only what was missing is played"
    for name in ("index.html", "reproduction.md", "pictures/tiny.svg"):
        assert (whole / name).read_bytes() == (broken / name).read_bytes()


def test_the_command(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert command(tiny, "--out", str(out), "--workers", "1", "--json", "--quiet") == 0, "to disagree is no error"
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert printed.err == "" and told["quick"] is True and len(told["claims"]) == 2
    assert told["claims"][1]["findings"][0]["holds"] is False
    assert command(tiny, "--out", str(out), "--workers", "1") == 0
    printed = capsys.readouterr()
    assert "1 of 1: tiny, 400 plays, 8 replicates, 2 curves, seed 1" in printed.err
    assert "Of 2 claims 1 agree, 1 disagree" in printed.out


def test_another_version_needs_another_folder(tiny: str, tmp_path: Path) -> None:
    reproduce(plan([tiny], quick=True), tmp_path / "out", workers=1)
    with pytest.raises(CorralError, match="choose another folder"):
        reproduce(plan([tiny], quick=False), tmp_path / "out", workers=1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--quick", "--full"), "cannot both be"),
        (("--workers", "0"), "--workers must be at least 1"),
        (("quickstart",), "states no claims"),
        (("linear-arm",), "linear-arms"),
        (("nowhere.toml",), "cannot be read"),
    ],
)
def test_wrong_input(words: tuple[str, ...], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(*words, "--out", str(tmp_path / "out")) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_file_in_the_place_of_the_folder(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert command(tiny, "--out", str(tmp_path / "out")) == 2
    assert "cannot be used: File exists" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "out").read_text("utf-8") == "mine"


def test_what_is_not_installed_is_named() -> None:
    left = untried()
    assert left.absent["riverswim"] == known("experiment")["riverswim"] == "corral-tabular"
    assert "quickstart" in left.silent and "linear-arms" not in left.silent


def test_all_registered_claims_are_planned() -> None:
    names = [each.name for each in plan([], quick=True)]
    assert {"linear-arms", "independent-arms", "epsilon-greedy", "known-bound", "lower-bound-sqrt"} <= set(names)
    assert "unknown-dimension" not in names, "it takes an hour"
    assert plan(["linear-arms"], quick=False)[0].points[0].replicates == 500, "the first figure, as the paper has it"
