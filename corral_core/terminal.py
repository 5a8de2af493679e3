"""What commands print: numbers and sentences for people, tables, JSON for programs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

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


_output: TextIO | None = None  # standard output, while it is reserved


@contextlib.contextmanager
def reserved_output(wanted: bool = True) -> Iterator[None]:
    """Reserve standard output for `show_json`, so that plugins cannot spoil what programs read.

    Until the block ends, everything else that is written there goes to standard error: what Python prints, and what C
    code, subprocesses or `os.write` send to file descriptor 1.
    """
    global _output
    if not wanted or _output is not None or sys.stdout is None:
        yield
        return
    sys.stdout.flush()
    with _diverted(1, 2) as copy:
        _output = sys.stdout if copy is None or not _writes_to(sys.stdout, 1) else _reopened(copy, sys.stdout)
        kept = sys.stdout, _output
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        finally:
            _output = None
            if kept[0] is not kept[1]:
                with contextlib.suppress(OSError):  # `show_json` has flushed, and raised if that was impossible
                    kept[1].close()


@contextlib.contextmanager
def _diverted(number: int, other: int) -> Iterator[int | None]:
    """Let a file descriptor mean another one; yields a copy of the first, or None if one of them is closed."""
    try:
        os.fstat(other)
        copy = os.dup(number)
    except OSError:
        yield None
        return
    os.dup2(other, number)
    try:
        yield copy
    finally:
        _flush_c_output()
        os.dup2(copy, number)
        os.close(copy)


def _flush_c_output() -> None:
    """Write what C code has printed so far: it keeps its own buffer, and would otherwise write it at exit."""
    if "ctypes" in sys.modules:  # not imported for this alone; numpy imports it
        import ctypes

        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)


def _writes_to(stream: TextIO, number: int) -> bool:
    try:
        return stream.fileno() == number
    except (OSError, ValueError, AttributeError):  # a stream in memory, as in tests
        return False


def _reopened(number: int, stream: TextIO) -> TextIO:
    return open(os.dup(number), "w", encoding=stream.encoding, errors=stream.errors)


def show_json(content: object, *, indent: int | None = 2) -> None:
    """Print JSON to standard output, also while it is reserved."""
    import json

    print(json.dumps(content, indent=indent, allow_nan=False), file=_output, flush=True)


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
