"""A page of HTML in one file, without scripts and without anything that a browser would have to fetch.

    page = Page("quickstart", "What does it cost not to know?")
    with page.section("Results"):
        page.table(["curve", "mean regret"], [["ucb", "51.2"]], caption="After 20,000 plays")
    page.write(Path("report.html"))

All text is escaped, except `Html`, which `escape` and `element` return.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from importlib.metadata import version
from pathlib import Path

from corral_core import CorralError
from corral_core.runs import files

BEGINNING = "<!doctype html>"
# Enforced by the browser: styles and pictures come from the page itself, and nothing else is allowed.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Text as HTML, escaped unless it already is HTML."""
    return text if isinstance(text, Html) else Html(html.escape(text))


def element(name: str, *content: str, **attributes: str) -> Html:
    """An element with escaped content; `class_` and `aria_label` are the attributes class and aria-label."""
    said = "".join(f' {key.strip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{said}>{''.join(map(escape, content))}</{name}>")


def code(text: str) -> Html:
    """A few words of code inside a sentence."""
    return element("code", text)


def names(found: Sequence[str]) -> Html:
    """Names with commas between them; no name is broken if it fits on a line."""
    return Html(", ".join(element("span", name, class_="name") for name in found))


class Page:
    """A page under construction; new parts go to the end of the innermost open section."""

    def __init__(self, title: str, lead: str = "", contents: bool = False) -> None:
        self._title, self._lead, self._contents = title, lead, contents
        self._parts: list[str] = []
        self._headings: list[tuple[int, str, str]] = []  # level, anchor, text
        self._level = 1
        self._figures = 0

    @contextmanager
    def section(self, heading: str) -> Iterator[None]:
        """A part of the page with a heading; sections inside it have lower headings."""
        anchor = self._anchor(heading)
        self._level += 1
        self._headings.append((self._level, anchor, heading))
        self._parts.append(f'<section aria-labelledby="{anchor}">')
        self.add(element(f"h{min(self._level, 6)}", heading, id=anchor))
        yield
        self._parts.append("</section>")
        self._level -= 1

    def add(self, part: Html) -> None:
        """Add any other HTML."""
        self._parts.append(part)

    def paragraph(self, *text: str) -> None:
        self.add(element("p", *text))

    def note(self, *text: str) -> None:
        """Add a note that readers must not overlook."""
        self.add(element("p", *text, class_="note", role="note"))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, numbers: bool = True) -> None:
        """Add a table. The first column names the rows; with `numbers`, all others are numbers."""
        kind = {"class_": "number"} if numbers else {}
        first, *others = header
        top = [element("th", first, scope="col"), *(element("th", each, scope="col", **kind) for each in others)]
        body = [
            element("tr", element("th", name, scope="row"), *(element("td", each, **kind) for each in cells))
            for name, *cells in rows
        ]
        whole = element(
            "table",
            element("caption", element("span", caption)),
            element("thead", element("tr", *top)),
            element("tbody", Html("\n".join(body))),
        )
        # A table that is too wide scrolls on its own, and can be focused so that the keyboard can scroll it.
        self.add(element("div", whole, class_="wide", role="region", tabindex="0", aria_label=caption))

    def figure(self, svg: str, caption: str, description: str, narrow: str = "") -> None:
        """Add a picture, optionally another for narrow screens, and a description for readers who cannot see it."""
        self._figures += 1
        name = f"figure-{self._figures}"
        drawn = [_inline(svg, name, caption, description, "broad" if narrow else "")]
        if narrow:
            drawn.append(_inline(narrow, f"{name}-narrow", caption, description, "narrow"))
        self.add(element("figure", *drawn, element("figcaption", caption)))

    def definitions(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Add terms with their descriptions."""
        lines = [element("dt", term) + "".join(element("dd", each) for each in said) for term, said in pairs]
        self.add(element("dl", Html("\n".join(lines))))

    def code(self, text: str) -> None:
        """Add a command or a file that readers can copy."""
        self.add(element("pre", element("code", text)))

    def details(self, summary: str, text: str) -> None:
        """Add code that is hidden until the reader opens it."""
        self.add(element("details", element("summary", summary), element("pre", element("code", text))))

    def html(self) -> str:
        """The whole page; the same content gives the same bytes."""
        style = resources.files("corral_report").joinpath("style.css").read_text(encoding="utf-8")
        head = [
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="corral-report {escape(version("corral-report"))}">',
            '<link rel="icon" href="data:,">',
            element("title", self._title),
            f"<style>\n{style}</style>",
        ]
        top = [element("h1", self._title), *([element("p", self._lead, class_="lead")] if self._lead else [])]
        body = ["<header>", *top, "</header>", *self._navigation(), "<main>", *self._parts, "</main>"]
        lines = [BEGINNING, '<html lang="en">', "<head>", *head, "</head>", "<body>", *body, "</body>", "</html>"]
        return "\n".join(lines) + "\n"

    def write(self, path: Path) -> None:
        """Write the page completely or not at all; a file that is not a page is left alone."""
        written = self.html().encode("utf-8", errors="xmlcharrefreplace")
        check_target(path)
        with files.usable(path):
            files.write(path, written)

    def _anchor(self, heading: str) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:60] or "section"
        taken = {anchor for _, anchor, _ in self._headings}
        return next(name for number in range(len(taken) + 1) if (name := _numbered(slug, number)) not in taken)

    def _navigation(self) -> list[str]:
        if not self._contents:
            return []
        items = [
            element("li", element("a", text, href=f"#{anchor}"), class_=f"level-{level}")
            for level, anchor, text in self._headings
            if level <= 3
        ]
        return [element("nav", element("ul", Html("\n".join(items))), aria_label="Contents")]


def _numbered(slug: str, number: int) -> str:
    return f"{slug}-{number + 1}" if number else slug


def check_target(path: Path) -> None:
    """Refuse a path that cannot become a page, before any work is done."""
    with files.usable(path):
        if path.is_dir():
            raise CorralError(f"{path} is a folder; --out takes a file, such as {path / 'report.html'}")
        if not path.parent.is_dir():
            raise CorralError(f"folder {path.parent} does not exist; create it first, or choose another --out")
        if path.exists() and not (path.is_file() and path.read_bytes().lower().startswith(BEGINNING.encode())):
            raise CorralError(f"{path} exists and is not an HTML page; choose another --out")


def _inline(svg: str, name: str, label: str, description: str, kind: str) -> Html:
    """An SVG as part of a page: with unique ids, a description for readers who cannot see it, and fewer digits."""
    opening, rest = svg[svg.index("<svg") :].split(">", 1)
    opening = re.sub(r'\s(role|class|aria-[a-z]+)="[^"]*"', "", opening)
    attributes = f'role="img" aria-label="{escape(label)}" aria-describedby="{name}-description"'
    opening = opening.replace("<svg", f'<svg class="{kind}" {attributes}' if kind else f"<svg {attributes}", 1)
    rest = re.sub(r"<!--.*?-->|<(metadata|title|desc)\b.*?</\1>", "", rest, flags=re.DOTALL)
    rest = re.sub(r"<[^>]*>", lambda tag: _own(tag[0], name), rest)
    return Html(f"{opening}>{element('desc', description, id=f'{name}-description')}{rest.strip()}")


def _own(tag: str, name: str) -> str:
    tag = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", tag)
    return re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), tag)
