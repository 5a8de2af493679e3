"""`corral check`: a table, one line a failure, and an exit code.

Also tests `checks/names.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from corral_core import cli
from corral_core.checks import CHECKS
from corral_core.checks.metas import MetaCase
from corral_core.checks.names import subjects_of
from corral_core.registry.discovery import Plugins
from corral_core.registry.known import PROVIDED
from corral_core.registry.names import Registry

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
    assert title == "meta uniform in 2 cases"
    assert header.split() == ["check", "result", "demands"]
    assert [row.split()[:2] for row in rows] == [[check.name, "passed"] for check in CHECKS[MetaCase]]
    assert last == f"all {len(rows)} checks passed"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", "uniform", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found[0]) == ["kind", "name", "case", "check", "demands", "result", "why"]
    assert {each["result"] for each in found} == {"passed"}


def test_a_failure_is_told_with_what_was_seen(lopsided: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("check", lopsided) == 1
    out = capsys.readouterr().out
    assert "probabilities-sum-to-one           failed " in out
    assert (
        "failed: lopsided over bases with bounds: probabilities-sum-to-one: after round 0 they are float64 (3, 5)"
        in out
    )
    assert out.rstrip().endswith(f"{len(CHECKS[MetaCase]) - 1} of {len(CHECKS[MetaCase])} checks passed, 1 failed")


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
    out = capsys.readouterr().out
    assert "failed: corral_metas, entry 3: the name 'Wrong Name' is not written in lower case" in out
    assert "failed: it is registered as alias, but its class has the name uniform" in out
    assert "failed: the meta missing of zoo cannot be loaded from corral_core.metas.uniform:Unicorn" in out
