"""Input of any length: one sentence at once, which quotes at most 80 characters of it."""

import re
from pathlib import Path

import pytest

from corral_core import cli
from corral_core.errors import shortened, shortened_path
from corral_core.suggestions import near, suggestion

LONG = "w" * 1_000_000
FILE = """
{top}
horizon = 20
[environment]
name = "bernoulli-arms"
{environment}
[[bases]]
name = "ucb"
{base}
"""
PARTS = {"top": "", "environment": "", "base": ""}


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    said = capfd.readouterr()
    assert stop.value.code == 2
    assert said.out == "" and len(said.err) < 700
    assert max(map(len, re.findall("w+", said.err)), default=0) <= 80
    return said.err


@pytest.mark.parametrize(
    ("part", "text", "said"),
    [
        ("top", f'name = "{LONG}"', "the name www"),
        ("top", f'name = "{LONG}"\nhorizn = 3', "has no 'horizn'; did you mean horizon?"),
        ("top", f"{LONG} = 3", "has no 'www"),
        ("top", f'preset = "{LONG}"', "preset must be paper or theory or practice, not 'www"),
        ("top", f'meta = {{ name = "{LONG}" }}', "there is no meta www"),
        ("top", f'meta = {{ name = "corral", eta = "{LONG}" }}', "eta must be"),
        ("top", f'sweep = {{ parameter = "{LONG}", values = [1] }}', "has no 'www"),
        ("top", f'sweep = {{ parameter = "x.{LONG}", values = [1] }}', "there is no 'x.www"),
        ("top", f'sweep = {{ parameter = "horizon", values = ["{LONG}"] }}', "horizon must be a whole number"),
        ("top", f'claims = [{{ of = "x", says = "x", less = ["ucb", "{LONG}"] }}]', "unknown curve 'www"),
        ("environment", f'{LONG} = "x"', "bernoulli-arms has no 'www"),
        ("environment", f'means = ["{LONG}"]', "means[0] must be a number, not 'www"),
        ("environment", f'"{LONG}', "is not valid TOML"),
        ("base", f"grid = {{ {LONG} = [1] }}", "has no 'www"),
        ("base", f'grid = {{ scale = "{LONG}" }}', "must be a list, geometric or powers-of-two, not 'www"),
    ],
    ids=range(15),
)
def test_a_file_with_something_very_long(
    part: str, text: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.toml"
    file.write_text(FILE.format(**{**PARTS, part: text}))
    assert said in (line := refused(capfd, "run", str(file)))
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", LONG),
        ("run", f"{LONG}.toml"),
        ("run", f"corral-mab:{LONG}"),
        ("run", f"{LONG}:ucb"),
        ("run", "quickstart", "--engine", LONG),
        ("run", "quickstart", "--json", "--out", LONG),
        ("describe", LONG),
        ("check", LONG),
        ("check", "ucb", "--expect", LONG),
        ("check", "ucb", "--expect", f"{LONG}=because"),
        ("compare", LONG),
        ("compare", f"/{LONG}/{LONG}"),
        (LONG,),
        ("run", "quickstart", f"--{LONG}"),
        ("run", "quickstart", LONG),
    ],
    ids=range(15),
)
def test_an_argument_that_is_very_long(arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    refused(capfd, *arguments)


@pytest.mark.parametrize("value", ["1", '"x"', "[]"])
def test_a_file_may_not_say_where_it_is_in_a_sweep(
    value: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.toml"
    file.write_text(FILE.format(**{**PARTS, "top": f"at = {value}"}))
    assert refused(capfd, "run", str(file)) == "Error: experiment file: at is not allowed in a file; a sweep sets it\n"


@pytest.mark.parametrize("chunk_size", ["", "chunk_size = 2"])
@pytest.mark.parametrize(
    "environment",
    [
        'name = "bernoulli-arms"\narms = 1000000000000000',
        'name = "bernoulli-arms"\narms = 1000000000',
        'name = "nested-dimension"\narms = 1000000000000000',
        'name = "linear-arms"\ndimension = 1000000000000000',
        'name = "linear-arms"\narms = 100000\ndimension = 100000',
    ],
)
def test_sizes_that_no_memory_holds(
    environment: str, chunk_size: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """They are refused before anything of that size is made, also if the file sets the chunk size."""
    file = tmp_path / "file.toml"
    text = FILE.format(**{**PARTS, "top": chunk_size}).replace('name = "bernoulli-arms"', environment)
    file.write_text(text)
    assert "is too large for memory" in (line := refused(capfd, "run", str(file)))
    assert line.count("\n") == 1


def test_what_is_quoted_is_short() -> None:
    assert shortened("x" * 80) == "x" * 80
    assert shortened("x" * 81) == "x" * 77 + "..."
    path = "/".join(["folder"] * 30)
    assert shortened_path(path) == path, "a path that may exist can be copied"
    assert len(shortened_path("x" * 256)) == len(shortened_path("x/" * 3000)) == 80


def test_suggestions_are_short_and_few() -> None:
    assert near("w" * 1000, ["w" * 999]) == []
    assert near("horizn", ["horizon", "w" * 1000]) == ["horizon"]
    listed = suggestion("?", ["w" * 1000, *map(str, range(100))])
    assert listed.startswith(f"; it takes {'w' * 77}..., 0, 1, ") and listed.endswith(", 18, ...")
