"""What tests of the documentation share: its pages, the code and files that they show, and a fresh command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def files(page: Path) -> dict[str, str]:
    """The files that a page shows: blocks whose first line is a file's name, those of one name put together."""
    found: dict[str, str] = {}
    for block in re.findall(r"```(?:python|toml)\n(# \S+\.(?:py|toml)\n.*?)```", page.read_text("utf-8"), re.DOTALL):
        name = block.split()[1]
        found[name] = found.get(name, "") + block
    return found


def write(page: Path, folder: Path) -> None:
    for name, text in files(page).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def blocks_and_output(page: Path) -> list[tuple[str, str | None]]:
    """Python blocks, each with what the page says that it prints: the block of text that follows at once."""
    found = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", page.read_text(encoding="utf-8"), re.DOTALL)
    return [(block, shown or None) for block, shown in found]


def python(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A fresh Python that finds what lies in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def corral(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(folder, "from corral_core.cli import main; main()", *arguments)


def install(project: Path, folder: Path) -> None:
    """Make a fresh Python that looks into a folder take a project, whose package lies there too, for installed."""
    told = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{told['name'].replace('-', '_')}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: 0.1.0\n")
    points = [f"{name} = {module}\n" for name, module in told["entry-points"]["corral"].items()]
    (info / "entry_points.txt").write_text("[corral]\n" + "".join(points))
