"""What corral-report provides: commands. Nothing heavy is imported until one runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from corral_core import hookimpl

if TYPE_CHECKING:
    import typer

corral_protocol = 1
COMMANDS = ("plot", "report", "export", "reproduce")


@hookimpl
def corral_commands(app: typer.Typer) -> None:
    for name in COMMANDS:
        import_module(f"corral_report.cli.{name}").register(app)
