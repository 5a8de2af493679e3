"""Whatever is wrong with the input: one line that says what, exit code 2, no traceback, nothing written."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core import cli
from corral_core.environments.bandit import Bandit
from corral_core.registry.known import PROVIDED
from corral_core.registry.names import get_registry

GOOD = """
name = "good"
{top}
[environment]
{environment}
[meta]
{meta}
[[bases]]
{base}
{more}
"""
PARTS = {
    "top": "horizon = 20\nreplicates = 2",
    "environment": 'name = "bernoulli-arms"\nmeans = [0.5, 0.45]',
    "meta": 'name = "corral"',
    "base": 'name = "epsilon-greedy"',
    "more": "",
}
LEAST = "horizon = 9\nbases = [{ name = 'ucb' }]\nenvironment = { name = 'bernoulli-arms' }"
HUGE = "1" + "0" * 400
ENDLESS = "0x" + "f" * 5000  # Python reads it, and refuses to print it


@pytest.fixture(autouse=True)
def _absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin of ours that nobody has installed."""
    monkeypatch.setitem(PROVIDED, "corral-absent", {"base": ("far-away",), "experiment": ("far-off",)})


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the command here; return the one line it says."""
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    said = capfd.readouterr()
    assert stop.value.code == 2, said.err
    assert said.out == ""
    assert said.err.startswith("Error: ")
    assert said.err.count("\n") == 1
    return said.err


def failed(capfd: pytest.CaptureFixture[str], *arguments: str) -> set[str]:
    """Run an experiment in which every curve is refused while it is played; return what is said of them."""
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    found = json.loads(capfd.readouterr().out)
    assert (stop.value.code, found["curves"]) == (2, [])
    return {each["error"] for each in found["failed"]}


def refused_file(capfd: pytest.CaptureFixture[str], folder: Path, text: str | bytes, *arguments: str) -> str:
    """Run a file that must be refused before anything is written."""
    file, out = folder / "experiment.toml", folder / "out"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = refused(capfd, "run", str(file), "--engine", "serial", "--out", str(out), *arguments)
    assert sorted(folder.iterdir()) == [file]
    return line


# Each: the part of a good file that is replaced, what by, and a piece of the sentence.
WRONG = [
    # names
    ("base", 'name = "epsilon-greddy"', "there is no base epsilon-greddy; did you mean epsilon-greedy"),
    ("base", 'name = "far-away"', "comes with corral-absent"),
    ("base", 'name = "linucb"', "linucb needs features; bernoulli-arms has none"),
    ("base", 'name = "corral"', "corral is a meta, not a base"),
    ("base", 'name = ""', "there is no base"),
    ("meta", 'name = "coral"', "there is no meta coral; did you mean corral"),
    ("meta", 'name = "ucb"', "ucb is a base, not a meta"),
    ("environment", 'name = "bernouli-arms"', "did you mean bernoulli-arms"),
    ("environment", 'name = "ucb"', "ucb is a base, not an environment"),
    # missing keys
    ("top", "replicates = 2", "needs horizon"),
    ("base", "c = 1", "bases[0] needs a name"),
    ("meta", "eta = 1", "meta needs a name"),
    ("environment", "arms = 2", "environment needs a name"),
    ("more", '[sweep]\nparameter = "horizon"', "sweep.values must be a list"),
    ("more", "[sweep]\nvalues = [1]", "sweep.parameter must be a string"),
    # extra keys
    ("top", "horizon = 20\nreplicate = 2", "has no 'replicate'; did you mean replicates"),
    ("environment", 'name = "bernoulli-arms"\nmean = [0.5]', "has no 'mean'; did you mean means"),
    ("meta", 'name = "corral"\nrate = 1', "corral has no 'rate'"),
    ("meta", 'name = "uniform"\neta = 1', "uniform has no 'eta'; it takes none"),
    ("base", 'name = "epsilon-greedy"\nepsilon = 1', "epsilon-greedy has no 'epsilon'"),
    ("base", 'name = "epsilon-greedy"\ngrid = { d = [1] }', "epsilon-greedy has no 'd'"),
    ("more", "[compare]\nalon = 'plain'", "compare has no 'alon'; did you mean alone"),
    ("more", "[sweep]\nparameter = 'horizon'\nvalues = [1]\nsteps = 2", "sweep has no 'steps'"),
    ("more", "[options]\nbiass = 1", "options has no 'biass'; did you mean bias"),
    ("base", 'name = "ucb"\ngrid = { scale = { geometric = [1, 2], counts = 2 } }', "has no 'counts'"),
    # types
    ("environment", 'name = "bernoulli-arms"\nmeans = 0.5', "means must be a list"),
    ("environment", 'name = "bernoulli-arms"\nmeans = ["a"]', "means[0] must be a number, not 'a'"),
    ("environment", 'name = "bernoulli-arms"\narms = 2.0', "arms must be a whole number, not 2.0"),
    ("environment", 'name = "bernoulli-arms"\narms = true', "arms must be a whole number, not True"),
    ("environment", 'name = "lower-bound-sqrt"\nworld = "both"', "world must be one-errs or none-errs, not 'both'"),
    ("environment", 'name = "lower-bound-sqrt"\nworld = ["P"]', "world must be one-errs or none-errs, not ['P']"),
    ("environment", "name = 3", "environment needs a name"),
    ("meta", 'name = "corral"\neta = [1]', "eta must be a number or a string, not [1]"),
    ("meta", 'name = "corral"\nmixing = "sideways"', "mixing must be separate or overwrite"),
    ("base", 'name = "epsilon-greedy"\nc = "one"', "c must be a number, not 'one'"),
    ("base", 'name = "epsilon-greedy"\nc = 2020-02-02', "c must be a number"),
    ("base", 'name = "epsilon-greedy"\ngrid = 3', "the grid of epsilon-greedy must be a table of lists"),
    ("base", 'name = "epsilon-greedy"\nc = 1\ngrid = { c = [1] }', "has c both as a value and as a grid"),
    ("top", 'horizon = "20"', "horizon must be a whole number, not '20'"),
    ("top", 'horizon = "2 * horizon"', "horizon must be a whole number"),
    ("top", "horizon = []", "horizon must be a whole number"),
    ("top", "horizon = 20\nseed = 1.5", "seed must be a whole number"),
    ("top", "horizon = 20\nseed = -1", "seed must be a whole number of at least 0"),
    ("top", "horizon = 20\nquestion = 3", "question must be a string"),
    ("top", "horizon = 20\nchunk_size = 0", "chunk_size must be a whole number of at least 1"),
    ("top", "horizon = 20\nchunk_size = 'big'", "chunk_size must be a whole number"),
    ("top", "horizon = 20\nfirst_bases = 2", "first_bases is 2, but the experiment has only 1"),
    ("top", "horizon = 20\noptions = 3", "options must be a table"),
    ("more", "[options]\nbase_test = 1", "base_test must be true or false, not 1"),
    ("more", "[compare]\nalone = 'loud'", "alone must be plain or smooth or both or none, not 'loud'"),
    ("more", "[compare]\nalone = []", "alone must be"),
    ("more", "[compare]\nbases = 0", "compare.bases must be a list of tables"),
    ("more", "[compare]\nbases = ['ucb']", "compare.bases[0] must be a table with a name"),
    ("more", "[compare]\nmetas = { name = 'exp3p' }", "compare.metas must be a list of tables"),
    ("more", "[compare]\npresets = 'theory'", "compare.presets must be a list"),
    ("more", "[compare]\npresets = ['theorie']", "preset must be paper or theory or practice, not 'theorie'"),
    ("more", "[compare]\nmetas = [{ name = 'exp3p', preset = 1 }]", "preset must be paper or theory or practice"),
    # horizon and replicates
    *[("top", f"horizon = {wrong}", "horizon must be") for wrong in ("0", "-5", "2.5", "true", "1e3", "nan", HUGE)],
    *[
        ("top", f"horizon = 9\nreplicates = {wrong}", "replicates must be")
        for wrong in ("0", "-5", "2.5", "false", "inf", HUGE)
    ],
    ("top", "horizon = 2147483648", "horizon must be at most 2,147,483,647"),
    ("top", f"horizon = {ENDLESS}", "horizon must be less than 2^63, not a number with thousands of digits"),
    ("top", f"horizon = -{HUGE}", "horizon must be less than 2^63"),
    # numbers out of range
    *[("base", f'name = "epsilon-greedy"\nc = {wrong}', "c must be finite") for wrong in ("nan", "inf", HUGE, ENDLESS)],
    *[("base", f'name = "epsilon-greedy"\nc = {wrong}', "c' must be > 0") for wrong in ("0", "-1")],
    ("top", "horizon = 20\ndelta = 0", "delta must lie between 0 and 1"),
    ("top", "horizon = 20\ndelta = 1.0", "delta must lie between 0 and 1"),
    ("top", "horizon = 20\ndelta = nan", "delta must be finite"),
    ("environment", 'name = "bernoulli-arms"\nmeans = [0.5, nan]', "means[1] must be finite"),
    ("environment", 'name = "bernoulli-arms"\nmeans = [0.5, 1.2]', "the mean 1.2 lies outside [0.0, 1.0]"),
    ("environment", 'name = "bernoulli-arms"\nmeans = []', "means must have at least one value"),
    ("environment", 'name = "bernoulli-arms"\narms = 0', "arms"),
    ("environment", 'name = "bernoulli-arms"\nhigh = 3', "low and high must lie in [0, 1]"),
    ("environment", 'name = "bernoulli-arms"\nlow = 1', "low must be less than high"),
    ("environment", 'name = "gaussian-arms"\nnoise = 0', "noise"),
    *[("meta", f'name = "corral"\neta = {wrong}', "eta must be") for wrong in ('"fast"', "-1", "0", "nan", "inf")],
    ("meta", 'name = "corral"\neta = "0/sqrt(T)"', "eta must be positive"),
    ("meta", 'name = "exp3p"\np = 0.6', "p must be at most 1/(2M) = 0.5 with M = 1"),
    ("meta", 'name = "exp3p"\np = "2/sqrt(T)\\n"', "p must be"),
    ("more", "[options]\nbias = 1.5", "bias"),
    ("more", "[options]\nbias = -0.5", "bias"),
    ("more", "[options]\nplayer = 'rough'", "player must be smooth or plain or boosted"),
    ("more", "[options]\nplayer = 'boosted'\ncopies = 0", "copies"),
    # grids
    ("base", 'name = "ucb"\ngrid = { scale = [] }', "is an empty grid"),
    ("base", 'name = "ucb"\ngrid = { scale = 3 }', "must be a list, geometric or powers-of-two, not 3"),
    ("base", 'name = "ucb"\ngrid = { scale = {} }', "must be a list, geometric or powers-of-two"),
    ("base", 'name = "ucb"\ngrid = { scale = { geometric = [9, 1], count = 2 } }', "the smaller first, not [9, 1]"),
    ("base", 'name = "ucb"\ngrid = { scale = { geometric = [0, 1], count = 2 } }', "two positive numbers"),
    ("base", 'name = "ucb"\ngrid = { scale = { geometric = [1], count = 2 } }', "two positive numbers"),
    ("base", 'name = "ucb"\ngrid = { scale = { geometric = [1, inf], count = 2 } }', "two positive numbers"),
    ("base", f'name = "ucb"\ngrid = {{ scale = {{ geometric = [1, {ENDLESS}], count = 2 }} }}', "two positive numbers"),
    ("base", f'name = "ucb"\ngrid = {{ scale = {{ powers-of-two = [1, {HUGE}] }} }}', "two positive numbers"),
    ("base", 'name = "ucb"\ngrid = { scale = { powers-of-two = [8, 2] } }', "the smaller first"),
    ("base", 'name = "ucb"\ngrid = { scale = { powers-of-two = [5, 7] } }', "is an empty grid"),
    *[
        ("base", f'name = "ucb"\ngrid = {{ scale = {{ geometric = [1, 2], count = {count} }} }}', "count must be")
        for count in ("0", "-1", "2.0", "true", "10001", HUGE)
    ],
    ("base", 'name = "ucb"\ngrid = { scale = { geometric = [1, 2] } }', "count must be"),
    ("base", 'name = "ucb"\ngrid = { scale = [1, "two"] }', "scale must be a number, not 'two'"),
    ("base", 'name = "ucb"\ngrid = { scale = [1, [2]] }', "scale must be a number"),
    (
        "base",
        'name = "ucb"\n[bases.grid]\nscale = { geometric = [1, 2], count = 999 }\n'
        "delta = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.91, 0.92]",
        "has more than 10,000 combinations",
    ),
    # what does not go together
    ("top", 'horizon = 20\npreset = "theorie"', "preset must be paper or theory or practice"),
    ("more", "[options]\nplayer = 'plain'\nbase_test = true", "base_test compares the two steps of a smoothed base"),
    ("base", 'name = "lower-bound-sqrt-base"', "works only in lower-bound-sqrt, not in bernoulli-arms"),
    ("base", 'name = "lower-bound-unknown-rate-base"', "works only in lower-bound-unknown-rate, not in bernoulli-arms"),
    ("environment", 'name = "gaussian-arms"\nlow = -1e308\nhigh = 1e308', "have a range that is too large for a float"),
    ("base", 'name = "rate"\n[compare]\nbases = [{ name = "rate" }]', "has the curve 'rate' twice"),
    # sweeps
    ("more", "[sweep]\nparameter = 'horizon'\nvalues = []", "sweep.values is an empty grid"),
    ("more", "[sweep]\nparameter = 'horizon'\nvalues = [10, nan]", "horizon must be a whole number"),
    ("more", "[sweep]\nparameter = 'horizon'\nvalues = [10, inf]", "horizon must be a whole number"),
    ("more", "[sweep]\nparameter = 'horizon'\nvalues = [10, 0]", "at least 1, not 0"),
    ("more", "[sweep]\nparameter = 'bases'\nvalues = [2]", "first_bases is 2, but the experiment has only 1"),
    ("more", "[sweep]\nparameter = 'meta.etaa'\nvalues = [2]", "corral has no 'etaa'; did you mean eta"),
    ("more", "[sweep]\nparameter = 'bases.ucb.scale'\nvalues = [2]", "there is no 'bases.ucb.scale'"),
    ("more", "[sweep]\nparameter = 'horizon.x'\nvalues = [2]", "'horizon.x' does not name a single value"),
    ("more", "[sweep]\nparameter = 'bases.0'\nvalues = [2]", "'bases.0' does not name a single value"),
    ("more", "[sweep]\nparameter = ''\nvalues = [2]", "has no ''"),
    ("more", "[sweep]\nparameter = 3\nvalues = [2]", "sweep.parameter must be a string"),
    ("top", "horizon = 20\nsweep = 3", "sweep must be a table with parameter and values"),
    # too large for any memory
    ("environment", 'name = "bernoulli-arms"\narms = 1000000000000000000', "is too large for memory"),
    ("environment", f'name = "bernoulli-arms"\narms = {HUGE}', "arms"),
]


@pytest.mark.parametrize(("part", "text", "piece"), WRONG, ids=[f"{part}-{text[-60:]}" for part, text, _ in WRONG])
def test_a_wrong_file_is_refused_in_one_line(
    part: str, text: str, piece: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = refused_file(capfd, tmp_path, GOOD.format(**{**PARTS, part: text}))
    assert piece.replace("'", "") in line.replace("'", "")


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("horizon = ", "is not valid TOML"),
        ("horizon = 1\nhorizon = 2", "is not valid TOML"),
        ("horizon = " + "1" * 5000, "is not valid TOML"),
        ("horizon = " + "[" * 50_000, "is not valid TOML"),
        ("", "needs horizon"),
        ("horizon = 9\nbases = []\nenvironment = { name = 'bernoulli-arms' }", "bases must name at least one base"),
        ("horizon = 9\nbases = { name = 'ucb' }\nenvironment = { name = 'bernoulli-arms' }", "bases must be a list"),
        ("horizon = 9\nbases = [{ name = 'ucb' }]\nenvironment = 'bernoulli-arms'", "environment must be a table"),
        ("horizon = 9\nbases = [{ name = 'ucb' }]", "needs environment"),
        ("horizon = 9\nenvironment = { name = 'bernoulli-arms' }", "needs bases"),
        (f"name = 3\n{LEAST}", "name must be a string"),
        (f"{LEAST}\ncompare = {{ alone = 'none' }}", "has nothing to play"),
        (b"\xff\xfe\x00\x01", "it is not UTF-8 text"),
        (b"\x00\x01\x02", "is not valid TOML"),
    ],
)
def test_a_file_that_is_no_experiment(
    text: str | bytes, piece: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert piece in refused_file(capfd, tmp_path, text)


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        (["--workers", "0"], "--workers must be at least 1, not 0"),
        (["--workers", "-3"], "--workers must be at least 1"),
        (["--engine", "seriel"], "there is no engine seriel; did you mean serial?"),
        (["--horizon", "0"], "horizon must be a whole number of at least 1, not 0"),
        (["--horizon", HUGE], "horizon must be less than 2^63"),
        (["--replicates", "-1"], "replicates must be a whole number of at least 1, not -1"),
        (["--seed", "-1"], "seed must be a whole number of at least 0"),
    ],
)
def test_a_wrong_option_of_run(
    arguments: list[str], piece: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert piece in refused_file(capfd, tmp_path, GOOD.format(**PARTS), *arguments)


def test_an_option_that_the_sweep_would_overrule(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = GOOD.format(**{**PARTS, "more": "[sweep]\nparameter = 'horizon'\nvalues = [10, 20]"})
    assert "sweeps horizon" in refused_file(capfd, tmp_path, text, "--horizon", "30")


@pytest.mark.parametrize("command", ["run", "describe"])
@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("nowhere.toml", "nowhere.toml cannot be read: No such file"),
        ("folder.toml", "folder.toml cannot be read: Is a directory"),
        ("quickstrat", "did you mean quickstart"),
        ("far-off", "comes with corral-absent"),
        ("a" * 300, "a" * 77 + "..."),
        ("", "there is no"),  # "no experiment" or "nothing called"
    ],
)
def test_an_experiment_that_is_not_there(
    command: str,
    name: str,
    piece: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder.toml").mkdir()
    monkeypatch.chdir(tmp_path)
    assert piece in refused(capfd, command, name)


class Broken(Bandit):
    """Pays what it is told, at the third play."""

    name = "broken"
    pays = float("nan")
    problem = get_registry().load("environment", "bernoulli-arms")(means=(0.5, 0.45)).problem

    def __attrs_post_init__(self) -> None: ...

    def draw(self, rows: int, rng: np.random.Generator) -> Any:
        return {"left": 3}

    def pay(self, instance: Any, observation: Any, action: Any, rng: np.random.Generator) -> Any:
        instance["left"] -= 1
        reward = np.zeros(len(action))
        if instance["left"] <= 0:
            reward[-1] = self.pays
        return reward, np.zeros(len(action))


@pytest.mark.parametrize("pays", [float("nan"), float("inf"), float("-inf")])
def test_a_reward_that_is_no_number_stops_the_run_by_name(
    pays: float, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral_mab.environments.arms.BernoulliArms", Broken)
    monkeypatch.setattr(Broken, "pays", pays)
    file, out = tmp_path / "experiment.toml", tmp_path / "out"
    file.write_text(GOOD.format(**{**PARTS, "environment": 'name = "bernoulli-arms"'}))
    assert failed(capfd, "run", str(file), "--engine", "serial", "--json", "--out", str(out)) == {
        f"broken: the reward of row 1 is {pays}; rewards must be finite numbers"
    }
    assert list((out / "chunks").iterdir()) == []


def test_a_chunk_that_outgrows_memory_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hungry(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("corral_core.engines.chunks.simulate", hungry)
    file = tmp_path / "experiment.toml"
    file.write_text(GOOD.format(**PARTS))
    assert failed(capfd, "run", str(file), "--engine", "serial", "--json") == {
        "a chunk of 2 replicates does not fit in memory; set a smaller chunk_size in the experiment file"
    }


def test_the_installed_command_says_no_more_than_that_line(tmp_path: Path) -> None:
    """The same from a shell, with the default engine."""
    command = [sys.executable, "-c", "from corral_core.cli import main; main()", "run", "quickstrat", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: there is no experiment quickstrat; did you mean quickstart?\n"
    assert list(tmp_path.iterdir()) == []
