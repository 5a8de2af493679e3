"""What listings have in common: a table for people, JSON for programs."""

from __future__ import annotations

from typing import Annotated

import typer

from corral_core.registry.discovery import Kind
from corral_core.registry.names import get_registry

AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON list.")]


def show(kind: Kind, as_json: bool) -> None:
    """List everything of one kind."""
    from corral_core.terminal import show_json, show_table

    entries = get_registry().entries(kind)
    if as_json:
        show_json([{"name": entry.name, "plugin": entry.plugin, "summary": entry.summary} for entry in entries])
    elif entries:
        show_table(("name", "summary", "plugin"), [(entry.name, entry.summary, entry.plugin) for entry in entries])
    else:
        print(f"No {kind} is installed; corral-mab provides some: pip install corral-mab, or see `corral plugins`")
