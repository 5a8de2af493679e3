"""`corral reproduce`: plays, judges, goes on after an interruption, and says where it disagrees."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from corral_report.reproduce import ITEMS, plan, reproduce, size, untried
from corral_report.reproduce_report import counted, to_json, write

from corral_core import CorralError, run_experiment
from corral_core.cli import main
from corral_core.registry.known import PROVIDED
from corral_core.runs.checksums import digest

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
    planned = plan([tiny], quick=True)
    found = reproduce(planned, out, workers=1)
    left = untried(planned)
    page, markdown = write(found, left, out, quick=True)
    assert [judgement.verdict for judgement in found[0].judgements] == ["agrees", "disagrees"]
    assert counted(found) == (
        "1 claim in the paper's words: 1 agrees, 0 disagree, 0 are undecided; "
        "1 reading: 0 agree, 1 disagrees, 0 are undecided."
    )
    for text in (page.read_text("utf-8"), markdown.read_text("utf-8")):
        assert "disagrees" in text and "(Reading.)" in text
        assert "the arms are not stated" in text and "400 plays, 8 replicates" in text
        assert "were not written blindly" not in text  # that is about experiments of ours
        assert str(tmp_path) not in text, "no path of this machine"
        assert "corral reproduce tiny.toml --quick" in text
        assert "bernoulli-arms with means = [0.75, 0.25]" in text.replace("\\", "")
        assert "smoothed bases; no bias" in text and "2 bases alone" in text
        assert "95% over all the numbers of a claim" in " ".join(text.split())
    assert r"rarely \| does \*better\*" in markdown.read_text("utf-8")
    assert (out / "pictures/tiny.svg").read_text("utf-8").startswith("<?xml")
    assert "](pictures/tiny.svg)" in markdown.read_text("utf-8")
    told = to_json(found, left, quick=True)
    assert [claim["verdict"] for claim in told["claims"]] == ["agrees", "disagrees"]
    assert told["claims"][0]["findings"][0]["level"] == 0.95
    assert told["counts"] == {
        "words": {"agrees": 1, "disagrees": 0, "undecided": 0},
        "readings": {"agrees": 0, "disagrees": 1, "undecided": 0},
    }


def test_it_goes_on_after_an_interruption(tiny: str, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    planned = plan([tiny], quick=False)
    write(reproduce(planned, whole, workers=1), untried(planned), whole, quick=False)
    reproduce(planned, broken, workers=1)
    chunks = sorted((broken / "runs" / "tiny" / "chunks").glob("*.npz"))
    chunks[0].unlink()
    kept = chunks[1].stat().st_mtime_ns
    write(reproduce(planned, broken, workers=1), untried(planned), broken, quick=False)
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
    assert "1 claim in the paper's words: 1 agrees, 0 disagree" in printed.out


def test_another_version_needs_another_folder(tiny: str, tmp_path: Path) -> None:
    reproduce(plan([tiny], quick=True), tmp_path / "out", workers=1)
    told: list[str] = []
    with pytest.raises(CorralError, match="choose another folder"):
        reproduce(plan(["quadratic", tiny], quick=False), tmp_path / "out", workers=1, tell=told.append)
    assert told == [], "all folders are looked at before anything is played"


def test_other_versions_are_seen_before_anything_is_played(tiny: str, tmp_path: Path) -> None:
    other = tmp_path / "tiny-2.toml"
    other.write_text(EXPERIMENT.replace('"tiny"', '"tiny-2"'), encoding="utf-8")
    planned = plan([tiny, str(other)], quick=True)
    reproduce(planned, tmp_path / "out", workers=1)
    for name in ("tiny", "tiny-2"):
        next((tmp_path / "out" / "runs" / name / "chunks").glob("*.npz")).unlink()
    begun = tmp_path / "out" / "runs" / "tiny-2" / "versions.json"
    written = begun.read_bytes()
    begun.write_text(json.dumps({**json.loads(written), "numpy": "0.1"}), encoding="utf-8")
    journal = begun.with_name("journal.jsonl")
    journal.write_text(journal.read_text("utf-8").replace(digest(written), digest(begun.read_bytes())), "utf-8")
    told: list[str] = []
    with pytest.raises(CorralError, match=r"was started with numpy 0\.1"):
        reproduce(planned, tmp_path / "out", workers=1, tell=told.append)
    assert told == []


@pytest.mark.parametrize("name", ["index.html", "reproduction.md", "pictures"])
def test_what_is_something_else_stays(name: str, tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine", encoding="utf-8")
    assert command(tiny, "--out", str(out), "--workers", "1") == 2
    assert "choose another --out" in " ".join(capsys.readouterr().err.split())
    assert (out / name).read_text("utf-8") == "mine" and not (out / "runs").exists(), "nothing was played"


def test_a_folder_in_the_place_of_the_markdown(tiny: str, tmp_path: Path) -> None:
    (tmp_path / "out" / "reproduction.md").mkdir(parents=True)
    assert command(tiny, "--out", str(tmp_path / "out"), "--quiet") == 2


SWEEP = """
[sweep]
parameter = "horizon"
values = [1, 20, 40]
"""


def test_what_cannot_be_judged_does_not_end_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arms without a gap: regret is always zero, so it has no exponent."""
    text = EXPERIMENT.replace("[0.75, 0.25]", "[0.5, 0.5]").split("[[claims]]")[0]
    claims = '[[claims]]\nof = "Theorem 7"\nsays = "so"\nexponent = { "rate(gap=0.5)" = 0.5 }\n'
    file = tmp_path / "flat.toml"
    file.write_text(text + SWEEP + claims, encoding="utf-8")
    out = tmp_path / "out"
    assert command(str(file), "--out", str(out), "--workers", "1", "--json", "--quiet") == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert claim["verdict"] == "undecided"
    (finding,) = claim["findings"]
    assert "means above zero" in finding["what"] and finding["low"] is finding["estimate"] is None
    assert "means above zero" in (out / "reproduction.md").read_text("utf-8")
    assert "exponent of rate" in (out / "index.html").read_text("utf-8")


def test_one_play_is_no_plays(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(EXPERIMENT.replace("horizon = 400", "horizon = 1"), encoding="utf-8")
    assert size(plan([str(file)], quick=True)[0].experiment).startswith("1 play, 8 replicates")


def test_a_file_of_ones_own_is_not_promised_the_replicates_of_a_paper(tiny: str, tmp_path: Path) -> None:
    planned = plan([tiny], quick=False)
    _, markdown = write(reproduce(planned, tmp_path, workers=1), untried(planned), tmp_path, quick=False)
    told = markdown.read_text("utf-8")
    assert "full version" in told and "paper's number of replicates" not in told


def test_claims_about_an_unknown_regret_are_refused(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from corral_mab import BernoulliArms

    there = BernoulliArms.problem.fget
    assert there is not None
    monkeypatch.setattr(BernoulliArms, "problem", property(lambda self: attrs.evolve(there(self), regret=False)))
    with pytest.raises(CorralError, match="about regret, but its environment does not report regret"):
        plan([tiny], quick=True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--quick", "--full"), "exclude each other"),
        (("--workers", "0"), "--workers must be at least 1"),
        (("quickstart",), "has no claims"),
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


def test_what_was_not_tried_is_named(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDED, "corral-absent", {"experiment": ("far", "farther", "farthest")})
    monkeypatch.setitem(PROVIDED, "corral-gone", {"experiment": ("away",)})
    for name, item in {"far": "Figure 8", "farther": "Figure 8", "away": "Theorem 9"}.items():
        monkeypatch.setitem(ITEMS, name, item)
    planned = plan([tiny], quick=True)
    left = untried(planned)
    assert left.absent == dict.fromkeys(("far", "farther", "farthest"), "corral-absent") | {"away": "corral-gone"}
    assert "quickstart" in left.silent and "linear-arms" not in left.silent
    assert left.unasked["linear-arms"] == ("Figure 1, left",), "each item once"
    _, markdown = write(reproduce(planned, tmp_path, workers=1), left, tmp_path, quick=True)
    told = " ".join(markdown.read_text("utf-8").split())
    assert "far, farther, farthest (Figure 8): corral-absent is not installed" in told
    assert "away (Theorem 9): corral-gone is not installed" in told
    asked = re.search(r"Not requested: (.*?)\.", told)
    assert asked is not None and "linear-arms" in asked[1].split(", ")
    assert "Lemma 6.2" in told
    assert untried(plan([], quick=True)).unasked == {}


def test_all_registered_claims_are_planned() -> None:
    planned = plan([], quick=True)
    names = [each.name for each in planned]
    assert {"linear-arms", "independent-arms", "epsilon-greedy", "known-bound", "lower-bound-sqrt"} <= set(names)
    assert "unknown-dimension" not in names, "it takes an hour"
    items = [each.experiment.stated.claims[0].of for each in planned]
    rows = [item for item in items if item.startswith("Table 1")]
    assert [row.split(", ")[1] for row in rows] == ["top row", "middle row", "bottom row"]
    (figure,) = plan(["linear-arms"], quick=False)
    assert figure.experiment.points[0].replicates == 500, "the first figure, as the paper has it"


def test_a_curve_that_fails_leaves_its_claims_undecided(
    tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other experiments are still played and judged, and the report is written."""
    from corral_mab import Rate

    other = tmp_path / "other.toml"
    other.write_text(EXPERIMENT.replace('"tiny"', '"other"').replace("good = 1\n", ""), encoding="utf-8")
    other.write_text(other.read_text("utf-8").replace("good=1, ", ""), encoding="utf-8")
    act = Rate.act

    def fails(self: Rate, *given: Any) -> Any:
        return 1 / 0 if self.good else act(self, *given)

    monkeypatch.setattr(Rate, "act", fails)
    monkeypatch.setattr("corral_report.reproduce.run_experiment", partial(run_experiment, engine="serial"))
    assert command(tiny, str(other), "--out", str(tmp_path / "out"), "--json", "--quiet") == 1
    printed = capsys.readouterr()
    claims = json.loads(printed.out)["claims"]
    assert {claim["verdict"] for claim in claims if claim["experiment"] == "tiny"} == {"undecided"}
    assert {claim["verdict"] for claim in claims if claim["experiment"] == "other"} != {"undecided"}
    assert "ZeroDivisionError: division by zero; finished chunks are kept, resume with: corral run" in printed.err
    told = (tmp_path / "out" / "reproduction.md").read_text("utf-8").replace("\\", "")
    assert "These curves failed and are left out: rate(gap=0.5, good=1, bad=0)." in " ".join(told.split())
