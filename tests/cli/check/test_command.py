"""`corral check`: a table, one line per failure, and an exit code.

Also tests `checks/names.py`.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corral_core import cli
from corral_core.checks import CHECKS
from corral_core.checks.contests import MetaCase
from corral_core.checks.names import subjects_of
from corral_core.metas.uniform import Uniform
from corral_core.registry.discovery import Plugins
from corral_core.registry.known import PROVIDED
from corral_core.registry.names import Registry

ASKED = [check for check in CHECKS[MetaCase] if check.applies_to(MetaCase(Uniform(), True))]
BROKEN = '''
import attrs
from corral_core.metas.uniform import Uniform


@attrs.frozen
class Lopsided(Uniform):
    """Does not sum to one."""

    name = "lopsided"

    def probabilities(self, state):
        return state.sampled * 1.0000001
'''


def corral(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    return stop.value.code


@pytest.fixture(autouse=True)
def _absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin of ours that nobody has installed."""
    monkeypatch.setitem(PROVIDED, "corral-absent", {"base": ("far-away",), "experiment": ("far-off",)})


@pytest.fixture
def lopsided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "lopsided_meta.py").write_text(BROKEN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "lopsided_meta", raising=False)
    return "lopsided_meta:Lopsided"


def test_a_table_with_a_line_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", "uniform") == 0
    title, header, *rows, last, _ = capsys.readouterr().out.splitlines()
    assert title == "meta uniform in 2 cases: uniform over bases with bounds, uniform over bases without bounds"
    assert header.split() == ["check", "result", "cases", "demands"]
    assert [row.split()[:3] for row in rows] == [[check.name, "passed", "2"] for check in ASKED]
    assert last == f"all {len(rows)} checks passed"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", "uniform", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found[0]) == ["kind", "name", "check", "demands", "result", "cases"]
    assert list(found[0]["cases"][0]) == ["case", "environment", "result", "why"]
    assert len(found) == len(ASKED)
    assert {each["result"] for each in found} == {"passed"}


def test_a_failure_is_told_with_what_was_seen(lopsided: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", lopsided) == 1
    out = capsys.readouterr().out
    assert "probabilities-sum-to-one           failed " in out
    assert (
        "failed: lopsided over bases with bounds: probabilities-sum-to-one: after round 0 they are float64 (3, 5)"
        in out
    )
    count = len(ASKED)
    assert out.rstrip().endswith(f"{count - 1} of {count} checks passed, 1 failed")


def test_an_expected_failure(lopsided: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", lopsided, "--expect", "probabilities-sum-to-one=rounded on purpose") == 0
    assert "expected: lopsided over bases with bounds: rounded on purpose" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("uniforn",), "there is nothing called uniforn; did you mean uniform?"),
        (("far-away",), "the base far-away comes with corral-absent, which is not installed"),
        (("nowhere:Thing",), "nowhere:Thing cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        (("json:dumps",), "only a base, environment or meta, or a class of one, can be checked, not <function dumps"),
        (("json:JSONDecoder",), "JSONDecoder is not a class derived from Base or Environment or Meta"),
        (("uniform", "--expect", "shape=why"), "there is no check 'shape'; did you mean shapes"),
        (("uniform", "--expect", "shapes"), "--expect must be CHECK=REASON"),
        (("uniform", "--check", "shape"), "there is no check 'shape'; did you mean shapes"),
        (("uniform", "--check", "no-rows"), "no-rows: no such check applies to what is checked here"),
        (
            ("uniform", "--case", "without any"),
            "no case contains 'without any'; there are uniform over bases with bounds, "
            "uniform over bases without bounds",
        ),
        (("uniform", "--workers", "0"), "--workers must be at least 1, not 0"),
    ],
)
def test_wrong_input_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert corral("check", *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"Error: {sentence}")


@pytest.mark.parametrize("name", ["core", "corral-core", "Corral_Core"])
def test_a_plugin_stands_for_all_it_brings(name: str) -> None:
    subjects = subjects_of(name)
    assert [subject.name for subject in subjects] == ["corral", "exp3p", "original-corral", "uniform"]
    assert all(subject.cases for subject in subjects)


def test_an_expectation_that_is_out_of_date(lopsided: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = ["--expect", "probabilities-sum-to-one=rounded", "--expect", "no-rows=not of metas"]
    assert corral("check", lopsided, "uniform", *expected) == 1
    out = capsys.readouterr().out
    assert "failed: no-rows was expected to fail but fails in no case: not of metas" in out
    assert "probabilities-sum-to-one was" not in out


def test_a_file_is_an_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('horizon = 20\n[environment]\nname = "bernoulli-arms"\n[[bases]]\nname = "ucb"\n', encoding="utf-8")
    assert corral("check", str(file)) == 1
    assert "asks-a-question: it has no question" in capsys.readouterr().out


def test_what_a_plugin_prints_stays_out_of_the_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talkative.py").write_text(BROKEN.replace("        return", "        print('hello')\n        return"))
    monkeypatch.chdir(tmp_path)
    assert corral("check", "talkative:Lopsided", "--json") == 1
    out, err = capsys.readouterr()
    assert {each["result"] for each in json.loads(out)} == {"passed", "failed"}
    assert "hello" in err


def test_a_base_called_like_its_plugin_is_checked_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib.metadata import EntryPoint

    from corral_core.checks import names
    from corral_core.registry import names as registries

    source = PLUGIN.replace('"alias"', '"uniform-two"').replace('"missing"', '"lopsided"')
    (tmp_path / "plugin_of_two.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry(Plugins([EntryPoint("corral-lopsided", "plugin_of_two", "corral")]))
    monkeypatch.setattr(names, "get_registry", lambda: registry)
    monkeypatch.setattr(registries, "get_registry", lambda: registry)
    corral("check", "lopsided")
    out = capsys.readouterr().out
    assert "uniform-two" not in out
    assert "To check everything that the plugin corral-lopsided provides: corral check corral-lopsided" in out


PLUGIN = """
from corral_core.hookspecs import Entry, hookimpl


@hookimpl
def corral_metas():
    return [
        Entry("alias", "Another name", "corral_core.metas.uniform:Uniform"),
        Entry("missing", "Not there", "corral_core.metas.uniform:Unicorn"),
        Entry("Wrong Name", "x", "a:b"),
    ]
"""


def test_what_is_wrong_with_a_plugin_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib.metadata import EntryPoint

    from corral_core.checks import names

    (tmp_path / "plugin_to_check.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry(Plugins([EntryPoint("zoo", "plugin_to_check", "corral")]))
    monkeypatch.setattr(names, "get_registry", lambda: registry)
    assert corral("check", "zoo") == 1
    out, count = capsys.readouterr().out, len(ASKED)
    assert "failed: corral_metas, entry 3: the name 'Wrong Name' is not written in lower case" in out
    assert "failed: it is registered as alias, but its class has the name uniform" in out
    assert f"{count} of {count + 1} checks passed, 1 failed" in out
    assert "failed: the meta missing of zoo cannot be loaded from corral_core.metas.uniform:Unicorn" in out


# --- Counts -----------------------------------------------------------------------------------------------------------


def counts(out: str) -> list[tuple[int, ...]]:
    """Of every summary: the number of checks, of those that passed, and of all others together."""
    found = []
    for line in out.splitlines():
        if match := re.fullmatch(r"(\d+) of (\d+) checks passed, (.*)", line):
            found.append((int(match[2]), int(match[1]), sum(int(number) for number in re.findall(r"\d+", match[3]))))
        elif match := re.fullmatch(r"all (\d+) checks passed", line):
            found.append((int(match[1]), int(match[1]), 0))
    return found


WRONG = """
import attrs
from corral_core import Uniform, Entry, hookimpl


@hookimpl
def corral_metas():
    return [Entry("tilted", "x", "plugin_with_a_wrong_name:Tilted"), Entry("alias", "y", "corral_core:Uniform")]


@attrs.frozen
class Tilted(Uniform):
    'Its name is wrong.'

    name = "Tilted Meta"
"""


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from importlib.metadata import EntryPoint

    from corral_core.checks import names

    (tmp_path / "plugin_with_a_wrong_name.py").write_text(WRONG, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "plugin_with_a_wrong_name", raising=False)
    registry = Registry(Plugins([EntryPoint("zoo", "plugin_with_a_wrong_name", "corral")]))
    monkeypatch.setattr(names, "get_registry", lambda: registry)
    return "zoo"


def test_counts_add_up_and_agree_with_table_and_json(zoo: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where something is wrong before any check runs."""
    assert corral("check", zoo) == 1
    out = capsys.readouterr().out
    assert corral("check", zoo, "--json") == 1
    rows = json.loads(capsys.readouterr().out)
    table = [row for row in out.splitlines() if re.match(r"[a-z-]+ +(passed|failed) +\d+ ", row)]
    alias, tilted = counts(out)
    for total, passed, others in (alias, tilted):
        assert passed + others == total
    assert alias[0] + tilted[0] == len(rows) == len(table)
    assert alias[1] + tilted[1] == sum(row["result"] == "passed" for row in rows)


def test_a_wrong_name_is_counted_once(zoo: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is no valid name fails the check of names; that it is not the registered one follows."""
    assert corral("check", zoo, "--json") == 1
    failed = [row for row in json.loads(capsys.readouterr().out) if row["result"] == "failed"]
    found = [(row["name"], row["check"]) for row in failed]
    assert found == [("alias", "is-registered"), ("tilted", "says-what-it-is")]


def test_one_that_is_named_twice_is_checked_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", "uniform", "uniform") == 0
    assert len(counts(capsys.readouterr().out)) == 1


# --- A part of the checks ---------------------------------------------------------------------------------------------


def test_some_checks_of_some_cases(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--check", "shapes", "--check", "single-row", "--case", "WITHOUT bounds"]
    assert corral("check", "core", *options, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["check"] for row in rows} == {"shapes", "single-row"}
    cases = [case["case"] for row in rows for case in row["cases"]]
    assert {case.partition(" over ")[2] for case in cases} == {"bases without bounds"}
    assert len(set(cases)) == len(cases) / 2 > 1
    assert corral("check", "uniform", *options) == 0
    title, _, *table, last, _ = capsys.readouterr().out.splitlines()
    assert (title, len(table), last) == ("meta uniform", 2, "all 2 checks passed")


def test_an_expectation_about_a_check_that_was_not_asked_for_is_not_out_of_date(lopsided: str) -> None:
    assert corral("check", lopsided, "--check", "shapes", "--expect", "probabilities-sum-to-one=rounded") == 0


def test_fail_fast_stops_and_counts_the_rest(lopsided: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", lopsided, "uniform", "--fail-fast") == 1
    out = capsys.readouterr().out
    assert "meta uniform" not in out
    assert f"stopped at the first failure: {len(ASKED)} more checks not run" in out
    ((total, passed, others),) = counts(out)
    assert passed + others == total == len(ASKED)
    assert corral("check", lopsided, "uniform", "--fail-fast", "--json") == 1
    rows = json.loads(capsys.readouterr().out)
    assert [case["result"] for row in rows for case in row["cases"]].count("failed") == 1
    assert [row["result"] for row in rows].count("failed") == 1
    assert {case["result"] for row in rows if row["name"] == "uniform" for case in row["cases"]} == {"not run"}
    assert sum(len(row["cases"]) for row in rows) == 4 * len(ASKED)


def test_workers_give_the_same_output(lopsided: str, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for workers in ("1", "3"):
        assert corral("check", lopsided, "uniform", "--workers", workers, "--json") == 1
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_workers_stop_at_the_same_failure(lopsided: str, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for workers in ("1", "2"):
        assert corral("check", lopsided, "uniform", "--fail-fast", "--workers", workers) == 1
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


# --- Signals ----------------------------------------------------------------------------------------------------------

WAITING = """
import os, sys, time
import attrs
from corral_core import Uniform


@attrs.frozen
class Waiting(Uniform):
    'Says when it plays, and then takes very long.'

    name = "waiting"

    def update(self, state, chosen, probability, gain, active):
        open(f"playing-{os.getpid()}", "w").close()
        time.sleep(600)


@attrs.frozen
class Leaving(Uniform):
    'Ends the program.'

    name = "leaving"

    def choose(self, state, active, rng):
        sys.exit(143)
"""
CORRAL = (sys.executable, "-c", "from corral_core.cli import main; main()")


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it(sent: signal.Signals, code: int, workers: str, tmp_path: Path) -> None:
    """It is no failure of the check; and no worker stays behind, or its pipe would keep `communicate` waiting."""
    (tmp_path / "waiting_meta.py").write_text(WAITING, encoding="utf-8")
    command = [*CORRAL, "check", "waiting_meta:Waiting", "--workers", workers]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not list(tmp_path.glob("playing-*")) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    (playing, *_) = [path.name for path in tmp_path.glob("playing-*")]
    assert (playing == f"playing-{process.pid}") == (workers == "1")
    assert (process.returncode, out) == (code, "")
    assert err == ("Interrupted.\n" if sent == signal.SIGINT else "")


def test_a_plugin_that_exits_has_failed_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "leaving_meta.py").write_text(WAITING, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "leaving_meta", raising=False)
    assert corral("check", "leaving_meta:Leaving") == 1
    assert "draws-have-rows-first: raised SystemExit: 143 (leaving_meta.py, line " in capsys.readouterr().out
