"""What commands print: numbers and sentences for people, tables, JSON for programs."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def number(value: float) -> str:
    """About four digits, with thousands separators."""
    if abs(value) >= 1e9:
        return f"{value:.4g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def counted(count: int, what: str) -> str:
    """A count with its noun: "1 play", "2 plays"."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def plays(count: int) -> str:
    return counted(count, "play")


def say(sentence: str, indent: str = "", following: str | None = None) -> None:
    """Print a sentence, wrapped between words at the width of the terminal; in a pipe it stays on one line."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    later = indent if following is None else following
    wrapper = textwrap.TextWrapper(width, initial_indent=indent, subsequent_indent=later, break_on_hyphens=False)
    print(wrapper.fill(sentence))


def say_paragraphs(text: str) -> None:
    """Print a docstring: wrap paragraphs and list items, keep indented lines (formulas), leave out examples."""
    shown = [part for part in re.split(r"\n\s*\n", text) if not part.startswith(">>>")]
    for number, part in enumerate(shown):
        if number:
            print()
        if part.startswith("- "):
            for item in re.split(r"\n(?=- )", part):
                say(" ".join(item.split()), following="  ")
        elif "\n " in part or part.startswith(" "):
            print(part)
        else:
            say(" ".join(part.split()))


def printable(name: str) -> str:
    """The name with `?` for every character that is not printable and could move the cursor."""
    return name if name.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in name)


def show_json(rows: Sequence[object]) -> None:
    import json

    print(json.dumps(rows, indent=2))


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> Console:
    """Print a table; in a pipe every row stays on one line. With `numbers`, all columns but the first hold them."""
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False, highlight=False)
    if not sys.stdout.isatty():
        console.width = 10_000
    elif numbers:
        header = [title.replace(" (", "\n(") for title in header]  # leaves room for the names in the first column
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for place, title in enumerate(header):
        wraps = numbers or title in ("summary", "provides", "demands", "where")
        table.add_column(title, justify="right" if numbers and place else "left", overflow="fold", no_wrap=not wraps)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    return console
