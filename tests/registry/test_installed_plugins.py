"""Badly behaved plugins, installed with pip: each is reported, and everything else keeps working."""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

HEADER = "from corral_core.hookspecs import Entry, hookimpl\n"
BASES = "@hookimpl\ndef corral_bases():\n    return [Entry('{name}', 'An animal', 'nowhere:Nothing')]\n"
COMMANDS = """
@hookimpl
def corral_commands(app):
    @app.command()
    def graze(times: int = 1) -> None:
        "Eat grass."
        print("munch " * times)
"""

# Distribution -> entry-point name, source of the module.
PLUGINS = {
    "corral-good": ("good", BASES.format(name="sheep") + COMMANDS),
    "corral-raises": ("raises", "raise RuntimeError('the barn is on fire')\n"),
    "corral-exits": ("exits", "raise SystemExit(1)\n"),
    "corral-zclaims": ("claims", BASES.format(name="sheep") + BASES.format(name="x").replace("bases", "metas")),
    "corral-misspelt": ("misspelt", BASES.format(name="horse").replace("bases", "basis") + COMMANDS),
    "corral-hook-raises": ("hookraises", BASES.replace("return", "1 / 0 #") + COMMANDS.replace("@app.", "@app.no.")),
    "corral-twin-one": ("twin", BASES.format(name="cow")),
    "corral-twin-two": ("twin", BASES.format(name="bull")),
    "corral-loud": ("loud", "print('moo')\n" + BASES.format(name="ox")),
}


def build(folder: Path, name: str, entry: str, source: str) -> str:
    """A wheel with one module; written by hand, so that no build backend is needed."""
    module = name.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    files = {
        f"{module}.py": HEADER + source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[corral]\n{entry} = {module}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return str(path)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed all of them."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("this Python has no pip")
    folder = tmp_path_factory.mktemp("plugins")
    wheels = [build(folder, name, *plugin) for name, plugin in PLUGINS.items()]
    options = ("--quiet", "--no-deps", "--no-index", "--no-cache-dir", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site"), *wheels]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "site"


def corral(site: Path, *arguments: str, disabled: str = "") -> str:
    """What a fresh `corral` prints."""
    done = subprocess.run(
        [sys.executable, "-c", "from corral_core.cli import main; main()", *arguments],
        env={
            **os.environ,
            "PYTHONPATH": str(site),
            "CORRAL_DISABLED_PLUGINS": disabled,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def plugins(site: Path, disabled: str = "") -> dict[str, Any]:
    listed = json.loads(corral(site, "plugins", "--json", disabled=disabled))
    return {plugin["name"]: plugin for plugin in listed if plugin["name"] in {"core", *PLUGINS}}


def test_each_is_reported(site: Path) -> None:
    found = plugins(site)
    assert list(found) == ["core", *sorted(PLUGINS)]
    assert {name for name, plugin in found.items() if plugin["status"] == "failed"} == {"corral-raises", "corral-exits"}
    assert {plugin["version"] for name, plugin in found.items() if name != "core"} == {"1.0"}
    said = {name: plugin["problems"] for name, plugin in found.items() if plugin["problems"]}
    assert said == {
        "corral-raises": ["corral_raises cannot be imported: RuntimeError: the barn is on fire"],
        "corral-exits": ["corral_exits cannot be imported: SystemExit: 1"],
        "corral-zclaims": ["the base sheep is ignored: corral-good already brings one"],
        "corral-misspelt": [
            "there is no hook corral_basis (did you mean corral_bases?)",
            "the command graze is ignored: there is one already",
        ],
        "corral-hook-raises": [
            "corral_bases raised: ZeroDivisionError: division by zero",
            "corral_commands raised: AttributeError: 'Typer' object has no attribute 'no'",
        ],
    }


def test_everything_else_keeps_working(site: Path) -> None:
    listed = json.loads(corral(site, "list-bases", "--json"))
    brought = {base["name"]: base["plugin"] for base in listed if base["plugin"] in PLUGINS}
    assert brought == {
        "sheep": "corral-good",
        "cow": "corral-twin-one",
        "bull": "corral-twin-two",
        "ox": "corral-loud",
    }
    found = plugins(site)
    assert found["corral-good"]["brings"] == {"base": ["sheep"], "command": ["graze"]}
    assert found["corral-zclaims"]["brings"] == {"meta": ["x"]}


def test_a_command_of_a_plugin_runs(site: Path) -> None:
    assert "Eat grass." in corral(site, "--help")
    assert corral(site, "graze", "--times", "2") == "munch munch \n"


def test_the_table_says_it_all(site: Path) -> None:
    text = corral(site, "plugins")
    assert "…" not in text
    for name, plugin in plugins(site).items():
        assert all(f"{name}: {problem}\n" in text for problem in plugin["problems"])


def test_a_plugin_is_switched_off_by_either_name(site: Path) -> None:
    found = plugins(site, disabled="corral_good, raises ,nosuch")
    assert [name for name, plugin in found.items() if plugin["status"] == "disabled"] == [
        "corral-good",
        "corral-raises",
    ]
    assert found["corral-zclaims"]["brings"] == {"base": ["sheep"], "meta": ["x"]}
    assert "CORRAL_DISABLED_PLUGINS names nosuch, which is not an installed plugin" in found["core"]["problems"]
