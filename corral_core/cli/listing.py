"""What listings have in common: a table for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from corral_core.registry.discovery import Kind
from corral_core.registry.names import get_registry

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON list.")]


def show(kind: Kind, as_json: bool) -> None:
    """List everything of one kind."""
    entries = get_registry().entries(kind)
    if as_json:
        show_json([{"name": entry.name, "plugin": entry.plugin, "summary": entry.summary} for entry in entries])
    elif entries:
        show_table(("name", "summary", "plugin"), [(entry.name, entry.summary, entry.plugin) for entry in entries])
    else:
        print(f"No {kind} is installed; corral-mab provides some: pip install corral-mab, or see `corral plugins`")


def show_json(rows: Sequence[object]) -> None:
    import json

    print(json.dumps(rows, indent=2))


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> Console:
    """Print a table; in a pipe every row stays on one line. `numbers`: all columns but the first are numbers."""
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False, highlight=False)
    if not sys.stdout.isatty():
        console.width = 10_000
    elif numbers:
        header = [title.replace(" (", "\n(") for title in header]  # leaves room for the names in the first column
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for place, title in enumerate(header):
        wraps = numbers or title in ("summary", "provides", "demands")
        table.add_column(title, justify="right" if numbers and place else "left", overflow="fold", no_wrap=not wraps)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    return console
