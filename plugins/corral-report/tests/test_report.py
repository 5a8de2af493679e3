"""From runs to a page: the numbers are those of the run, and what is said about playing it again is true."""

from __future__ import annotations

import html
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_report import figures
from corral_report.repeat import experiment_files, repetition
from corral_report.report import report
from corral_report.words import settings_in_words

from corral_core import CorralError, Experiment, Result, Run, load_experiment, run_experiment
from corral_core.analysis.statistics import mean_interval
from corral_core.cli import main
from corral_core.experiments.point import parse_point
from corral_core.experiments.source import sweep
from corral_core.runs.description import PointDescription, describe
from corral_core.terminal import number

SMALL: dict[str, Any] = {
    "name": "small",
    "question": "Which is better?",
    "horizon": 60,
    "replicates": 4,
    "chunk_size": 2,
    "seed": 3,
    "environment": {"name": "bernoulli-arms", "arms": 3},
    "meta": {"name": "corral"},
    "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 10]}}],
    "compare": {"metas": [{"name": "exp3p"}]},
}


def make(folder: Path, **changes: Any) -> Run:
    points = [parse_point(point) for point in sweep({**SMALL, **changes})]
    run_experiment(Experiment(points), engine="serial", out=folder)
    return Run.open(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="module")
def horizons(tmp_path_factory: pytest.TempPathFactory) -> Run:
    axis = {"parameter": "horizon", "values": [40, 80]}
    return make(tmp_path_factory.mktemp("runs") / "horizons", name="horizons", sweep=axis)


@pytest.fixture
def drawn() -> None:
    """Asks for the pictures themselves."""


@pytest.fixture(autouse=True)
def sketched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty pictures, for drawing takes most of the time."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(figures, "svg", lambda figure: "<svg></svg>")
        for name in ("regret_figure", "horizon_figure", "rates_figure", "probabilities_figure", "plays_figure"):
            monkeypatch.setattr(figures, name, lambda results, **options: None)


def rows(page: str) -> list[list[str]]:
    """The cells of all rows of all tables."""
    found = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in found]


def headings(page: str) -> list[str]:
    return re.findall(r"<h[1-6][^>]*>(.*?)</h", page)


def test_the_table_has_means_and_students_intervals(run: Run) -> None:
    table = rows(report([run]).html())
    for result in run.results():
        final = result.final
        interval = mean_interval(final)
        low, high = interval.low, interval.high
        shown = [number(value).replace("-", "−") for value in (np.mean(final), low, high, np.std(final, ddof=1))]
        theory = ", ".join(f"{each:g}" for each in result.curve.exponents)
        assert [result.curve.name, shown[0], f"{shown[1]} to {shown[2]}", shown[3], "4", theory] in table
        if result.curve.meta:
            for place, label in enumerate(result.curve.bases):
                (row,) = [row for row in table if row[0] == label and len(row) == 3]
                assert number(float(result.plays_of[-1, place])) in row


def test_the_page_says_all_there_is_to_say(run: Run) -> None:
    page = report([run]).html()
    assert headings(page) == ["small", "Results", "Settings", "To play it again"]
    text = html.unescape(page)
    sentences = [sentence for point in run.points for curve in point.curves for sentence in curve.choices]
    assert len(sentences) == 2
    expected = ["Which is better?", "bernoulli-arms with arms = 3", "60 plays", "epsilon-greedy(c=10)", *sentences]
    assert [each for each in [*expected, run.checksum, *run.versions.values()] if each not in text] == []
    assert page.count("<figure>") == 7  # regret, rates, probabilities and recorded quantities of two metas, plays
    assert page.count("<svg") == 14


def test_a_sweep_of_horizons_shows_exponents(horizons: Run) -> None:
    page = report([horizons]).html()
    assert headings(page)[1:4] == ["Over horizon", "At horizon = 40", "At horizon = 80"]
    table = rows(page)
    for name in ("corral", "exp3p", "ucb"):
        means = [result.final.mean() for result in horizons.results() if result.curve.name == name]
        (row,) = [row for row in table if row[0] == name and len(row) == 4]
        assert float(row[1]) == pytest.approx(np.log2(means[1] / means[0]), abs=0.005)
    assert "<nav" in page


def test_settings_that_differ_from_point_to_point_are_told_apart() -> None:
    axis = {"parameter": "environment.low", "values": [0.1, 0.2]}
    claimed = [{**base, "bound": {"c": 1, "alpha": 0.5}} for base in SMALL["bases"]]  # rewards leave [low, high]
    changed = {**SMALL, "bases": claimed, "preset": "theory", "sweep": axis}
    points = describe(Experiment([parse_point(each) for each in sweep(changed)]))
    points = tuple(attrs.evolve(point, at=point.at.replace("low", "<low>")) for point in points)
    said = dict(settings_in_words(points))
    assert said["environment"] == [
        f'<span class="name">environment.&lt;low&gt; = {low}</span>: bernoulli-arms with arms = 3, low = {low}'
        for low in (0.1, 0.2)
    ]
    assert said["seed"] == ["3"] and said["horizon"] == ["60 plays"]
    assert said["preset"][0].startswith("theory (smoothed bases with the bias")
    assert said["how bases are played"] == [
        "smoothed, two plays per round: corral, exp3p",
        "plain, one play per round: 3 bases alone",
    ]


def test_runs_that_share_curves_stand_side_by_side(run: Run, horizons: Run) -> None:
    page = report([run, horizons]).html()
    assert headings(page)[:3] == ["2 runs: small, horizons", "Side by side", "small"]
    table = rows(page)
    assert ["curve", "small", "horizons horizon = 40", "horizons horizon = 80"] in table
    assert ["plays", "60", "40", "80"] in table
    (ucb,) = [result for result in run.results() if result.curve.name == "ucb"]
    half = 3.182446305284263 * np.std(ucb.final, ddof=1) / 2  # the quantile of Student's t, three degrees of freedom
    (row,) = [row for row in table if row[0] == "ucb" and len(row) == 4 and "±" in row[1]]
    assert row[1] == f"{number(ucb.final.mean())} ± {number(half)}"


def test_runs_of_one_name_are_told_apart(run: Run) -> None:
    assert headings(report([run, run]).html())[0] == "2 runs: small (small) #1, small (small) #2"


def test_runs_without_common_curves_have_no_table_of_them(run: Run, tmp_path: Path) -> None:
    alone = {"meta": {"name": "uniform"}, "bases": [{"name": "exp3"}], "compare": {}}
    other = make(tmp_path / "other", name="other", **alone)
    assert "Side by side" not in headings(report([run, other]).html())


def test_no_run_is_refused() -> None:
    with pytest.raises(CorralError, match="at least one run"):
        report([])


# --- What is missing --------------------------------------------------------------------------------------------------


def test_an_incomplete_run_says_what_is_missing(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "part"
    shutil.copytree(run.path, folder)
    for chunk in [*folder.glob("chunks/*-ucb-*"), *folder.glob("chunks/*-exp3p-*1.npz")]:
        chunk.unlink()
    page = report([Run.open(folder)]).html()
    assert "exp3p has 2 of 4 replicates; ucb has 0 of 4 replicates." in page
    assert run.checksum not in page
    assert [row[4] for row in rows(page) if row[0] == "exp3p" and len(row) == 6] == ["2"]


@pytest.mark.parametrize("which", ["run", "horizons"])
def test_a_run_with_nothing_in_it_is_refused(
    which: str, request: pytest.FixtureRequest, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "empty"
    shutil.copytree(request.getfixturevalue(which).path, folder)
    shutil.rmtree(folder / "chunks")
    assert corral("report", str(run.path), str(folder), "--out", str(tmp_path / "a.html")) == 2
    said = capsys.readouterr().err
    assert f"{folder} contains no curve yet; corral run" in said and said.count("\n") == 1
    assert not (tmp_path / "a.html").exists()


def test_a_point_with_nothing_in_it_is_still_described(horizons: Run, tmp_path: Path) -> None:
    folder = tmp_path / "part"
    shutil.copytree(horizons.path, folder)
    for chunk in folder.glob("chunks/1-*"):
        chunk.unlink()
    page = report([Run.open(folder)]).html()
    assert page.count("There are no results yet.") == 1 and "corral at horizon = 80 has 0 of 4" in page


def test_the_command_says_what_is_missing(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "part"
    shutil.copytree(run.path, folder)
    next(folder.glob("chunks/*-ucb-*")).unlink()
    assert corral("report", str(run.path), str(folder), "--out", str(tmp_path / "a.html")) == 0
    said = capsys.readouterr().out
    assert said.count("incomplete") == 1 and f"{folder} is incomplete: 9 of 10 chunks exist; corral run" in said


def test_versions_that_went_on_with_a_run_are_shown(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(run.path, folder)
    with (folder / "journal.jsonl").open("a") as journal:
        for _ in range(2):
            journal.write(json.dumps({"versions": {**run.versions, "numpy": "1.2.3", "other": "4"}}) + "\n")
    page = report([Run.open(folder)]).html()
    table = rows(page)
    assert ["numpy", run.versions["numpy"], "1.2.3"] in table and ["other", "–", "4"] in table
    assert "versions are mixed here" in page and "bit by bit" not in page
    assert ["numpy", run.versions["numpy"]] in rows(report([run]).html())


def test_probabilities_that_never_change_are_not_drawn(tmp_path: Path) -> None:
    page = report([make(tmp_path / "uniform", meta={"name": "uniform"}, compare={})]).html()
    assert "Mean probability with which" not in page and page.count("<figure>") == 3  # regret, rates, plays


def test_one_replicate_has_no_interval(tmp_path: Path) -> None:
    page = report([make(tmp_path / "one", replicates=1)]).html()
    (row,) = [row for row in rows(page) if row[0] == "ucb" and len(row) == 6]
    assert row[2:4] == ["–", "–"]
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)


@attrs.frozen(eq=False)
class Altered:
    """A run whose results are not as they were."""

    run: Run
    points: tuple[PointDescription, ...]
    found: list[Result]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    def results(self) -> list[Result]:
        return self.found


def test_names_of_curves_are_escaped(run: Run) -> None:
    nasty = "<script>alert(1)</script>&amp;"
    (point,) = run.points
    curves = {curve.name: attrs.evolve(curve, name=nasty + curve.name, choices=(nasty,)) for curve in point.curves}
    point = attrs.evolve(point, curves=tuple(curves.values()), name=nasty, question=nasty)
    found = [attrs.evolve(each, point=point, curve=curves[each.curve.name]) for each in run.results()]
    page = report([Altered(run, (point,), found)]).html()  # type: ignore[list-item]
    assert "<script" not in page
    assert [row[0] for row in rows(page) if len(row) == 6][1:] == [each.curve.name for each in found]


def test_numbers_that_are_none_are_left_out(run: Run) -> None:
    found = run.results()
    found[0] = attrs.evolve(found[0], final=np.array([1.0, np.nan, 2.0, 3.0]))
    page = report([Altered(run, run.points, found)]).html()  # type: ignore[list-item]
    (row,) = [row for row in rows(page) if row[0] == found[0].curve.name and len(row) == 6]
    assert row[1:3] == ["–", "–"]


def test_rewards_are_shown_if_the_regret_is_unknown(run: Run) -> None:
    found = [attrs.evolve(result, regret=None) for result in run.results()]
    page = report([Altered(run, run.points, found)]).html()  # type: ignore[list-item]
    assert "mean reward" in page and "mean regret" not in page
    assert page.count("<figure>") == 6  # no rates


# --- Playing it again -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes", "command"),
    [
        ("quickstart", {}, "corral run quickstart --out quickstart"),
        ("quickstart", {"seed": 5, "horizon": 200}, "corral run quickstart --horizon 200 --seed 5 --out quickstart"),
        (
            "lower-bound-unknown-rate",
            {"replicates": 2},
            "corral run lower-bound-unknown-rate --replicates 2 --out lower-bound-unknown-rate",
        ),
    ],
)
def test_a_registered_experiment_is_played_by_its_name(name: str, changes: dict[str, int], command: str) -> None:
    again = repetition(describe(load_experiment(name, **changes)))
    assert again.commands == (command,) and again.registered


def resolved(found: tuple[PointDescription, ...]) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(json.dumps([setting.source for setting in found]))
    return loaded


@pytest.mark.parametrize("which", ["run", "horizons"])
def test_the_file_on_the_page_is_the_experiment(which: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(which)
    again = repetition(run.points)
    ((name, text),) = again.files.items()
    assert again.commands == (f"corral run {name} --out {name.removesuffix('.toml')}",) and not again.registered
    points = [parse_point(point) for point in sweep(tomllib.loads(text))]
    assert resolved(describe(Experiment(points))) == resolved(run.points)
    page = report([run]).html()
    (shown,) = re.findall(r"<details>.*?<code>(.*?)</code>", page, re.DOTALL)
    assert html.unescape(shown) == text


@pytest.mark.parametrize("which", ["run", "horizons"])
def test_the_file_on_the_page_plays_the_same_chunks(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    run: Run = request.getfixturevalue(which)
    ((name, text),) = repetition(run.points).files.items()
    (tmp_path / name).write_text(text, "utf-8")
    run_experiment(load_experiment(str(tmp_path / name)), engine="serial", out=tmp_path / "again")
    first, second = (
        [line for line in (folder / "SHA256SUMS").read_text().splitlines() if "chunks/" in line]
        for folder in (run.path, tmp_path / "again")
    )
    assert first == second != []


@pytest.mark.parametrize(
    "axis",
    [
        {"parameter": "bases", "values": [1, 2]},
        {"parameter": "environment.low", "values": [0.1, 0.2]},
        {"parameter": "meta.eta", "values": ["auto", 0.1]},
        {"parameter": "bases.ucb.width", "values": [0.5, 1.0]},
        {"parameter": "options.bias", "values": [0.0, 0.25]},
    ],
    ids=lambda axis: axis["parameter"],
)
def test_any_sweep_becomes_one_file(axis: dict[str, Any]) -> None:
    points = [{**point, "chunk_size": 2} for point in sweep({**SMALL, "sweep": axis})]
    ((name, text),) = experiment_files(points, "a b").items()
    assert name == "a-b.toml"
    assert sweep(tomllib.loads(text)) == points


def test_points_of_no_sweep_become_a_file_each() -> None:
    points = [{**SMALL, "at": "mood = good"}, {**SMALL, "at": "mood = bad", "seed": 4}]
    files = experiment_files(points, "small")
    plain = [{key: value for key, value in point.items() if key != "at"} for point in points]  # only a sweep sets it
    assert [tomllib.loads(text) for text in files.values()] == plain
    assert list(files) == ["small-1.toml", "small-2.toml"]


# --- The command ------------------------------------------------------------------------------------------------------


def corral(*arguments: str) -> int:
    try:
        main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.mark.usefixtures("drawn")
def test_the_command_writes_the_same_page_every_time(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    assert corral("report", str(run.path), "--out", str(out)) == 0
    assert capsys.readouterr().out == f"The report is in {out}\n"
    assert out.read_text("utf-8") == report([run]).html()


def test_wrong_input_is_one_sentence(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, sentence in (
        ((str(tmp_path / "none"),), "does not exist; corral run EXPERIMENT --out"),
        ((str(tmp_path),), "contains no run"),
        ((str(run.path), "--out", str(tmp_path)), "is a folder"),
    ):
        assert corral("report", *arguments) == 2
        said = capsys.readouterr().err
        assert sentence in said and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
