"""Write `corral_core/registry/known.py`: which of the plugins in this folder provides which name.

    python plugins/write_known.py

The plugins must be installed: `pip install -r requirements.txt`.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

from corral_core.cli.application import command_line
from corral_core.registry.discovery import Plugins

PLUGINS = Path(__file__).parent
TARGET = PLUGINS.parent / "corral_core" / "registry" / "known.py"
HEAD = '''"""Which of Corral's own plugins provides which name, so that an unknown name can say what to install.

This file is written by `python plugins/write_known.py`.
"""

PROVIDED: dict[str, dict[str, list[str]]] = {
'''
TAIL = '''}


def known(kind: str) -> dict[str, str]:
    """The names of one kind, each with the plugin that provides it."""
    return {name: plugin for plugin, kinds in PROVIDED.items() for name in kinds.get(kind, ())}
'''


def distributions() -> list[str]:
    """Names of the plugins in this folder that have hooks."""
    projects = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(PLUGINS.glob("*/pyproject.toml"))]
    return [project["project"]["name"] for project in projects if "entry-points" in project["project"]]


def text() -> str:
    """What the file should say."""
    wanted = distributions()
    plugins = Plugins([entry for entry in entry_points(group="corral") if entry.dist and entry.dist.name in wanted])
    command_line(plugins)
    found = {record.name: record for record in plugins.records()}
    lines = []
    for name in wanted:
        if name not in found or found[name].problems:
            sys.exit(f"{name} is not installed or has problems: see corral plugins")
        lines.append(f'    "{name}": {{\n')
        for kind, provided in found[name].provides.items():
            lines.append(f'        "{kind}": [\n')
            lines += [f'            "{each}",\n' for each in provided]
            lines.append("        ],\n")
        lines.append("    },\n")
    return HEAD + "".join(lines) + TAIL


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
