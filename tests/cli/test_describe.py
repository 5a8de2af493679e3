"""`corral describe`: everything that is registered, and what the theorem says of an experiment."""

from pathlib import Path

import pytest

from corral_core import cli
from corral_core.experiments.source import read
from corral_core.parsing import parameters
from corral_core.registry.discovery import Kind
from corral_core.registry.known import PROVIDED
from corral_core.registry.names import get_registry
from corral_core.runs.run import Run

KINDS: tuple[Kind, ...] = ("base", "meta", "environment")
CLASSES = [(kind, entry.name) for kind in KINDS for entry in get_registry().entries(kind)]


def describe(capsys: pytest.CaptureFixture[str], name: str) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main(["describe", name])
    said = capsys.readouterr()
    assert (stop.value.code, said.err) == (0, "")
    return said.out


def refusal(capsys: pytest.CaptureFixture[str], name: str) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main(["describe", name])
    said = capsys.readouterr()
    assert (stop.value.code, said.out) == (2, "")
    return said.err


@pytest.mark.parametrize(("kind", "name"), CLASSES)
def test_a_class_shows_its_parameters_bound_and_source(
    kind: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = describe(capsys, name)
    entry = next(entry for entry in get_registry().find(name) if entry.kind == kind)
    assert f"{name}: a" in said
    assert entry.summary in said
    cls = get_registry().load(entry.kind, name)
    rows = [line.split() for line in said.splitlines()]
    for field in parameters(cls):
        assert any(row and row[0] == field.name for row in rows)
        assert field.metadata["help"] in said
    assert ("Bound U(s, delta): " in said) or kind != "base"
    assert ">>>" not in said


@pytest.mark.parametrize("name", [entry.name for entry in get_registry().entries("experiment")])
def test_an_experiment_shows_what_the_theorem_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = describe(capsys, name)
    assert f"{name}: an experiment of {get_registry().get('experiment', name).plugin}\n" in said
    assert "Theorem 4.11 of Pacchiano et al. 2020, for corral" in said
    assert "regret of order sqrt(MT) + M/eta" in said
    theory = read(name).table.get("preset") == "theory"
    assert f"\n    {'holds' if theory else 'FAILS'}    the base test is on\n" in said
    assert ("So the theorem does not apply to this experiment" in said) or theory


def test_the_papers_figure_is_vacuous(capsys: pytest.CaptureFixture[str]) -> None:
    """16 sqrt(T ln T) with its constants, through T c^2 eta: far beyond the 50,000 that can be lost."""
    said = describe(capsys, "epsilon-greedy")
    assert "Vacuous at this horizon: with literal bounds the theorem allows 50,000 or more" in said
    assert "\n    holds    bases are smoothed\n" in said
    assert "curves: corral, epsilon-greedy(c=1) to epsilon-greedy(c=1e+05) (18), ucb" in said


def test_a_name_of_two_things_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    said = describe(capsys, "epsilon-greedy")
    assert said.startswith("epsilon-greedy: a base of corral-mab\n")
    assert "\n\nepsilon-greedy: an experiment of corral-mab\n" in said
    both = describe(capsys, "lower-bound-sqrt")
    assert both.startswith("lower-bound-sqrt: an environment")
    assert "lower-bound-sqrt: an experiment" in both


@pytest.mark.parametrize("name", ["mine.toml", "mine"])
def test_a_file_is_described_too(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / name
    file.write_text(
        'horizon = 100\npreset = "theory"\nenvironment = { name = "bernoulli-arms" }\nmeta = { name = "corral" }\n'
        'bases = [{ name = "ucb" }]\nsweep = { parameter = "horizon", values = [100, 400] }\n'
    )
    said = describe(capsys, str(file))
    assert said.startswith("mine: an experiment\n")
    assert "swept: horizon = 100; horizon = 400\n" in said
    assert "Theorem 4.11 of Pacchiano et al. 2020, for corral at horizon = 400\n" in said
    assert "FAILS    the base test" not in said


def test_an_unknown_name_gets_the_nearest(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(capsys, "epsilon-gredy").endswith("did you mean epsilon-greedy or epsilon-greedy-rates?\n")
    monkeypatch.setitem(PROVIDED, "corral-absent", {"base": ("far-away",)})
    assert "comes with corral-absent" in refusal(capsys, "far-away")
    assert "did you mean serial" not in refusal(capsys, "serial")


def test_lists_keep_their_items(capsys: pytest.CaptureFixture[str]) -> None:
    lines = describe(capsys, "linucb").splitlines()
    assert sum(line.startswith("- ") for line in lines) == 2


def test_where_to_import_it_from_and_what_a_choice_may_be(capsys: pytest.CaptureFixture[str]) -> None:
    said = describe(capsys, "nested-dimension-infinite")
    assert "  from corral_linucb import InfiniteNested\n" in said
    assert "ball or ellipsoid: the unit ball, or" in said


def test_what_is_installed_is_suggested_first_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert "; did you mean linucb or" in refusal(capsys, "LinUCB")


SWITCHED_OFF = """
horizon = 100
replicates = 2
preset = "theory"
[environment]
name = "bernoulli-arms"
[meta]
name = "original-corral"
[[bases]]
name = "ucb"
bound = { c = 2, alpha = 0.5 }
"""


@pytest.mark.parametrize("command", ["describe", "run"])
def test_what_a_meta_switches_off_and_what_is_claimed_is_said(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence each, for the curve; a run's description has the same sentences."""
    file = tmp_path / "off.toml"
    file.write_text(SWITCHED_OFF)
    more = ["--quiet", "--engine", "serial", "--out", str(tmp_path / "run")] if command == "run" else []
    with pytest.raises(SystemExit) as stop:
        cli.main([command, str(file), *more])
    assert stop.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    sentences = [
        "U(s) as given, instead of the bases' own: 2 s^0.5 for ucb",
        "player is plain, not smooth; bias and base_test are switched off (original-corral takes importance-weighted "
        "feedback and plain players)",
    ]
    for sentence in sentences:
        assert said.count(f"original-corral: {sentence}") == 1
    if command == "run":
        (point,) = Run.open(tmp_path / "run").points
        assert list(point.curve("original-corral").choices[1:]) == sentences
