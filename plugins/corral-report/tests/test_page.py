"""Pages: escaped, whole, in one file, and valid enough for a strict reader."""

from __future__ import annotations

import math
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from corral_report.page import Html, Page, code, element, escape, names
from corral_report.toml import inline, to_toml
from hypothesis import given, settings
from hypothesis import strategies as st

from corral_core import CorralError

EMPTY = {"meta", "link", "br", "hr", "img", "use", "path"}
NASTY = "<script>alert('a' & \"b\")</script>"
PICTURE = """<?xml version="1.0"?><!DOCTYPE svg><svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 9 9">
<metadata>when</metadata><defs><clipPath id="box"><path d="M 1.23456 2 L 3.004 4"/></clipPath></defs>
<g id="g" clip-path="url(#box)"><use href="#g"/><text>id="g" 1.23456</text></g></svg>"""


class Reader(HTMLParser):
    """Collects elements and attributes, and refuses what is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def fetched(page: str) -> list[str]:
    """Whatever a browser might fetch: addresses in attributes and styles, but for places in the page and plain data."""
    reader = Reader(page)
    names = ("src", "srcset", "href", "xlink:href", "data", "poster", "action", "background")
    found = [str(each.get(name)) for _, each in reader.elements for name in names if each.get(name)]
    found += re.findall(r"url\(['\"]?([^)'\"]*)", page) + re.findall(r"@import[^;]*", page)
    scripts = [tag for tag, _ in reader.elements if tag in ("script", "iframe", "object", "embed", "base")]
    return [each for each in found if not each.startswith(("#", "data:"))] + scripts


def example() -> Page:
    page = Page(NASTY, NASTY, contents=True)
    for _ in range(2):
        with page.section(NASTY):
            page.paragraph(NASTY, code(NASTY))
            page.note(NASTY)
            with page.section("Inner"):
                page.table(["curve", NASTY], [[NASTY, NASTY]], NASTY)
                page.figure(PICTURE, NASTY, NASTY, PICTURE)
    page.definitions([(NASTY, [NASTY, NASTY])])
    page.code(NASTY)
    page.details(NASTY, NASTY)
    return page


def test_everything_is_escaped_and_closed() -> None:
    reader = Reader(example().html())
    assert reader.all("script") == []
    assert "".join(reader.text).count(NASTY) == 3 + 2 + 2 * 11 + 6  # title and lead, contents, sections, the end
    assert escape(escape("<")) == "&lt;" and escape(Html("<b>")) == "<b>"
    assert element("p", "a & b", class_='"', aria_label="<") == '<p class="&quot;" aria-label="&lt;">a &amp; b</p>'


def test_names_are_escaped_one_by_one() -> None:
    assert names(["a<", "b"]) == '<span class="name">a&lt;</span>, <span class="name">b</span>'


def test_nothing_is_fetched() -> None:
    assert fetched(example().html()) == []


@pytest.mark.parametrize(
    "bad",
    [
        '<img src="https://example.org/a.png">',
        '<link rel="stylesheet" href="//example.org/a.css">',
        "<script>1</script>",
        "<style>@import 'a.css';</style>",
        "<style>p { background: url(a.png) }</style>",
        '<svg><use xlink:href="a.svg#b"></use></svg>',
    ],
)
def test_what_would_be_fetched_is_noticed(bad: str) -> None:
    assert fetched(bad) != []


def test_the_browser_is_told_to_fetch_nothing() -> None:
    policies = [each for each in Reader(example().html()).all("meta") if each.get("http-equiv")]
    assert [str(each["content"]).split(";")[0] for each in policies] == ["default-src 'none'"]


def test_ids_are_unique_and_every_reference_has_its_target() -> None:
    reader = Reader(example().html())
    ids = [str(each["id"]) for _, each in reader.elements if "id" in each]
    assert len(ids) == len(set(ids))
    references = [str(each[name]) for _, each in reader.elements for name in ("href", "clip-path") if each.get(name)]
    references = [each.removeprefix("url(").rstrip(")") for each in references if "#" in each]
    labels = ("aria-labelledby", "aria-describedby")
    references += [f"#{each[name]}" for _, each in reader.elements for name in labels if each.get(name)]
    assert len(references) == 4 + 8 + 4 + 4  # contents, two a picture, sections, descriptions
    assert {each.removeprefix("#") for each in references} <= set(ids)


def test_pictures_are_described_and_their_texts_untouched() -> None:
    page = Page("a")
    page.figure(PICTURE, "What it shows", "In words")
    (svg,) = Reader(page.html()).all("svg")
    assert (svg["role"], svg["aria-label"]) == ("img", "What it shows")
    assert "<desc id=" in page.html() and ">In words</desc>" in page.html()
    assert '<text>id="g" 1.23456</text>' in page.html()
    assert 'd="M 1.23 2 L 3.00 4"' in page.html()
    assert "metadata" not in page.html() and "<?xml" not in page.html()


def test_headings_follow_the_sections() -> None:
    reader = Reader(example().html())
    assert [tag for tag, _ in reader.elements if re.fullmatch("h[1-6]", tag)] == ["h1", "h2", "h3", "h2", "h3"]


def test_tables_name_their_rows_and_columns() -> None:
    page = Page("a")
    page.table(["curve", "x", "y"], [["b", "1", "2"], ["c", "3", "4"]], "Numbers")
    reader = Reader(page.html())
    assert [each["scope"] for each in reader.all("th")] == ["col", "col", "col", "row", "row"]
    assert len(reader.all("caption")) == 1
    assert [each["class"] for each in reader.all("td")] == ["number"] * 4
    page = Page("a")
    page.table(["curve", "x"], [["b", "1"]], "Words", numbers=False)
    assert [each.get("class") for each in Reader(page.html()).all("td")] == [None]


def test_the_same_content_is_the_same_page() -> None:
    assert example().html() == example().html()


# --- Writing ----------------------------------------------------------------------------------------------------------


def test_a_page_is_written_over_an_older_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    Page("old").write(path)
    Page("new \ud800").write(path)  # half a character, as JSON may hold it
    assert "<h1>new &#55296;</h1>" in path.read_text("utf-8")
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]


def test_what_is_no_page_is_kept(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text("horizon = 1")
    for path, sentence in {
        tmp_path: "is a folder",
        tmp_path / "experiment.toml": "is not an HTML page",
        tmp_path / "none" / "a.html": "none does not exist; create it first",
    }.items():
        with pytest.raises(CorralError, match=sentence):
            Page("a").write(path)
    assert (tmp_path / "experiment.toml").read_text() == "horizon = 1"


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 300 + ".html")
    with pytest.raises(CorralError, match="File name too long"):
        Page("a").write(path)


# --- TOML -------------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@settings(deadline=None, derandomize=True)
@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_as_toml_is_read_back(table: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(table)) == table


def test_toml_of_an_experiment_reads_like_one() -> None:
    source = {"name": "a", "bases": [{"name": "ucb"}, {"name": "b", "grid": {"c": [1, 2.5]}}], "meta": {"eta": None}}
    written = 'name = "a"\n\n[[bases]]\nname = "ucb"\n\n[[bases]]\nname = "b"\ngrid = { c = [1, 2.5] }\n\n[meta]\n'
    assert to_toml(source) == written
    assert math.isnan(tomllib.loads(to_toml({"a": math.nan}))["a"])
    assert inline(-math.inf) == "-inf"
