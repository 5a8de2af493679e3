"""One text in two forms: a page of HTML, and Markdown with its pictures in a folder next to it."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from matplotlib.figure import Figure

from corral_core.runs import files
from corral_report import figures
from corral_report.page import Html, Page, element
from corral_report.sizes import BROAD, NARROW, Size

WIDTH = 120
PICTURES = "pictures"


class Document(Protocol):
    """The parts of a text."""

    def section(self, heading: str) -> AbstractContextManager[None]: ...

    def paragraph(self, text: str) -> None: ...

    def bullets(self, items: Sequence[str]) -> None: ...

    def definitions(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> None: ...

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, numbers: bool) -> None: ...

    def code(self, text: str) -> None: ...

    def picture(self, name: str, draw: Callable[[Size], Figure], caption: str) -> None: ...


class Web:
    """A page of HTML."""

    def __init__(self, title: str, lead: str) -> None:
        self._page = Page(title, lead, contents=True)

    def section(self, heading: str) -> AbstractContextManager[None]:
        return self._page.section(heading)

    def paragraph(self, text: str) -> None:
        self._page.paragraph(text)

    def bullets(self, items: Sequence[str]) -> None:
        self._page.add(element("ul", *(element("li", item) for item in items)))

    def definitions(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> None:
        self._page.definitions(pairs)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, numbers: bool) -> None:
        self._page.table(header, rows, caption, numbers)

    def code(self, text: str) -> None:
        self._page.code(text)

    def picture(self, name: str, draw: Callable[[Size], Figure], caption: str) -> None:
        broad, narrow = (figures.svg(draw(size)) for size in (BROAD, NARROW))
        self._page.figure(broad, caption, "The numbers are in the table above.", narrow)

    def write(self, path: Path) -> None:
        self._page.write(path)


class Markdown:
    """Markdown, with pictures as files."""

    def __init__(self, title: str, lead: str) -> None:
        self._parts = [f"# {_plain(title)}", _filled(lead)]
        self._pictures: dict[str, Figure] = {}
        self._level = 1

    @contextmanager
    def section(self, heading: str) -> Iterator[None]:
        self._level += 1
        self._parts.append(f"{'#' * self._level} {_plain(heading)}")
        yield
        self._level -= 1

    def paragraph(self, text: str) -> None:
        self._parts.append(_filled(text))

    def bullets(self, items: Sequence[str]) -> None:
        self._parts.append("\n".join(_filled(item, "- ", "  ") for item in items))

    def definitions(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> None:
        self.bullets([f"{term}: {'; '.join(map(_unmarked, lines))}" for term, lines in pairs])

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, numbers: bool) -> None:
        self.paragraph(caption)
        under = ["---", *(["---:" if numbers else "---"] * (len(header) - 1))]
        lines = [header, under, *rows]
        self._parts.append(
            "\n".join(
                f"| {' | '.join(cell if cell in under else _plain(cell) or ' ' for cell in line)} |" for line in lines
            )
        )

    def code(self, text: str) -> None:
        self._parts.append(f"```\n{text}\n```")

    def picture(self, name: str, draw: Callable[[Size], Figure], caption: str) -> None:
        self._pictures[name] = draw(BROAD)
        self._parts.append(f"![{_plain(caption)}]({PICTURES}/{name}.svg)")

    def write(self, path: Path) -> None:
        """Write the text, and its pictures into a folder next to it."""
        for name, figure in self._pictures.items():
            figures.save(figure, path.parent / PICTURES / f"{name}.svg")
        with files.usable(path):
            files.write(path, ("\n\n".join(self._parts) + "\n").encode())


def _unmarked(text: str) -> str:
    """The text of HTML, without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", text)) if isinstance(text, Html) else text


def _plain(text: str) -> str:
    """Text with all Markdown characters escaped."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)


def _filled(text: str, first: str = "", later: str = "") -> str:
    return textwrap.fill(
        _plain(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
