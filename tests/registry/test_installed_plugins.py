"""Badly behaved plugins, installed with pip: each is reported, and everything else keeps working."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from wheels import build, corral, install, run_corral

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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed all of them."""
    folder = tmp_path_factory.mktemp("plugins")
    return install(folder, [build(folder, name, *plugin) for name, plugin in PLUGINS.items()])


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
        "corral-good": [
            "the base sheep is also provided by corral-zclaims; write corral-good:sheep or corral-zclaims:sheep",
            "the command graze is also provided by corral-misspelt; write corral-good:graze or corral-misspelt:graze",
        ],
        "corral-zclaims": [
            "the base sheep is also provided by corral-good; write corral-zclaims:sheep or corral-good:sheep"
        ],
        "corral-misspelt": [
            "there is no hook corral_basis (did you mean corral_bases?)",
            "the command graze is also provided by corral-good; write corral-misspelt:graze or corral-good:graze",
        ],
        "corral-hook-raises": [
            "corral_bases raised: ZeroDivisionError: division by zero",
            "corral_commands raised: AttributeError: 'Typer' object has no attribute 'no'",
        ],
    }


def test_everything_else_keeps_working(site: Path) -> None:
    listed = json.loads(corral(site, "list-bases", "--json"))
    assert {(base["name"], base["plugin"]) for base in listed if base["plugin"] in PLUGINS} == {
        ("sheep", "corral-good"),
        ("sheep", "corral-zclaims"),
        ("cow", "corral-twin-one"),
        ("bull", "corral-twin-two"),
        ("ox", "corral-loud"),
    }
    found = plugins(site)
    assert found["corral-good"]["provides"] == {"base": ["sheep"], "command": ["graze"]}
    assert found["corral-zclaims"]["provides"] == {"base": ["sheep"], "meta": ["x"]}


def test_a_command_of_a_plugin_runs(site: Path) -> None:
    assert "Eat grass." not in corral(site, "--help"), "two plugins claim it"
    assert corral(site, "corral-good:graze", "--times", "2") == "munch munch \n"
    refused = run_corral(site, "graze")
    assert (refused.returncode, refused.stderr.removeprefix("moo\n")) == (
        2,
        "Error: the command graze is provided by corral-good and corral-misspelt; write corral corral-good:graze or "
        "corral corral-misspelt:graze\n",
    )
    assert "Eat grass." in corral(site, "--help", disabled="corral-misspelt")
    assert corral(site, "graze", disabled="corral-misspelt") == "munch \n"


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
    assert found["corral-zclaims"]["provides"] == {"base": ["sheep"], "meta": ["x"]}
    assert "CORRAL_DISABLED_PLUGINS names nosuch, which is not an installed plugin" in found["core"]["problems"]
