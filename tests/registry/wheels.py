"""Plugins as wheels, installed for real with pip into a folder, and a fresh `corral` that finds them there."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HEADER = "from corral_core.hookspecs import Entry, hookimpl\n"


def build(folder: Path, name: str, entry: str, source: str, more: str = "", version: str = "1.0") -> str:
    """A wheel with a hook module and perhaps a second one, `NAME_things`; no build backend is needed."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": HEADER + source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[corral]\n{entry} = {module}\n",
    }
    if more:
        files[f"{module}_things.py"] = more
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return str(path)


def install(folder: Path, wheels: list[str]) -> Path:
    """The folder into which pip has installed some wheels."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("this Python has no pip")
    options = ("--quiet", "--no-deps", "--no-index", "--no-cache-dir", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site"), *wheels]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "site"


def run_corral(
    site: Path, *arguments: str, disabled: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A fresh `corral` that finds what is installed in a folder."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{site}{os.pathsep}{site / 'later'}",
        "CORRAL_DISABLED_PLUGINS": disabled,
    }
    done = subprocess.run(
        [sys.executable, "-c", "from corral_core.cli import main; main()", *arguments],
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert "Traceback" not in done.stderr
    return done


def corral(site: Path, *arguments: str, disabled: str = "", cwd: Path | None = None) -> str:
    """What a fresh `corral` prints."""
    done = run_corral(site, *arguments, disabled=disabled, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout
