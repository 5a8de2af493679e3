"""The report in a real browser: on a desk and on a phone, light and dark.

The page is put into frames of the wanted widths, because browsers refuse windows as narrow as a phone.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from corral_report.page import Page
from corral_report.report import report

from corral_core import Experiment, Run, run_experiment
from corral_core.experiments.point import parse_point
from corral_core.experiments.source import sweep

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no browser; install one with: apt-get install chromium")

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1400,1000"
)
SCHEMES = {"dark": 0, "light": 1}
WIDTHS = (1280, 360)
READABLE = 9.0  # pixels: the size of the smallest letters of a picture
CONTRAST = 4.5  # WCAG 2.2, level AA, for text
NASTY = "<script>document.title = 'broken'</script>"

MEASURE = r"""
function channel(value) { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; }
function luminance(colour) {
  const [red, green, blue] = colour.match(/[\d.]+/g).map(Number).map(channel);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function ground(element) {
  for (let each = element; each; each = each.parentElement) {
    const found = element.ownerDocument.defaultView.getComputedStyle(each).backgroundColor;
    if (!/, 0\)$/.test(found)) return found;
  }
  return "rgb(255, 255, 255)";
}
function contrast(element) {
  const style = element.ownerDocument.defaultView.getComputedStyle(element);
  const ink = element.closest("svg") ? style.fill : style.color;
  const [low, high] = [luminance(ink), luminance(ground(element))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
function measure(view) {
  const page = view.document;
  page.querySelectorAll("details").forEach((each) => { each.open = true; });
  const all = (selector) => [...page.querySelectorAll(selector)].filter((each) => each.getBoundingClientRect().width);
  const named = (each) => each.tagName.toLowerCase() + ": " + each.textContent.trim().slice(0, 40);
  const written = (node) => node.nodeType == 3 && node.data.trim();
  const texts = all("body *").filter((each) => [...each.childNodes].some(written));
  const blocks = all("h1, h2, h3, p, .wide, nav, figure > svg, figcaption, dt, dd, pre, summary");
  const boxes = blocks.map((each) => [each, each.getBoundingClientRect()]);
  const overlaps = [];
  boxes.forEach(([one, a], place) => boxes.slice(place + 1).forEach(([two, b]) => {
    const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    if (!apart && !one.contains(two)) overlaps.push(named(one) + " / " + named(two));
  }));
  const scale = (matrix) => Math.hypot(matrix.a, matrix.b);
  const letters = all("figure svg text").map((each) =>
    parseFloat(view.getComputedStyle(each).fontSize) * scale(each.getScreenCTM()));
  const ids = [...page.querySelectorAll("[id]")].map((each) => each.id);
  const wide = all(".wide").filter((each) => each.scrollWidth > each.clientWidth);
  wide.forEach((each) => { each.scrollLeft = each.scrollWidth; });
  const left = (element) => element.getBoundingClientRect().left;
  return {
    width: view.innerWidth,
    scrolled: wide.length,
    lost: wide.filter((each) => [...each.querySelectorAll("tr > :first-child")].some((cell) =>
      left(cell) < left(each) - 1)).map(named),
    dark: view.matchMedia("(prefers-color-scheme: dark)").matches,
    ground: view.getComputedStyle(page.body).backgroundColor,
    page_width: page.documentElement.scrollWidth,
    outside: blocks.filter((each) => each.getBoundingClientRect().right > view.innerWidth).map(named),
    faint: texts.filter((each) => contrast(each) < CONTRAST).map(named),
    texts: texts.length,
    overlaps: overlaps,
    letters: letters.length ? Math.min(...letters) : null,
    pictures: [...page.querySelectorAll("figure")].map((each) =>
      [...each.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width).length),
    fetched: view.performance.getEntriesByType("resource").map((each) => each.name),
    twice: ids.filter((id, place) => ids.indexOf(id) != place),
    title: page.title,
  };
}
addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")].map((frame) => measure(frame.contentWindow));
  document.body.replaceChildren(Object.assign(document.createElement("pre"), {textContent: JSON.stringify(frames)}));
});
"""


def measured(page: str, scheme: str, folder: Path) -> list[dict[str, Any]]:
    """What a browser makes of a page, at each width; without the policy, so that a request would be seen."""
    page = re.sub(r"<meta http-equiv[^>]*>", "", page)
    frames = [
        f'<iframe style="width:{width}px; height:800px" srcdoc="{html.escape(page)}"></iframe>' for width in WIDTHS
    ]
    script = MEASURE.replace("CONTRAST", str(CONTRAST))
    wrapper = folder / f"{scheme}.html"
    head = '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    style = "<style>iframe { border: 0; display: block }</style>"
    wrapper.write_text(f"{head}{style}<body>{''.join(frames)}<script>{script}</script>", "utf-8")
    own = [f"--user-data-dir={folder / scheme}", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}"]
    command = [str(BROWSER), *FLAGS.split(), *own, "--dump-dom", wrapper.as_uri()]
    shown = subprocess.run(command, capture_output=True, timeout=120, check=True).stdout.decode("utf-8")
    (found,) = re.findall(r"<pre>(.*?)</pre>", shown, re.DOTALL)
    frames_found: list[dict[str, Any]] = json.loads(html.unescape(found))
    assert [frame["width"] for frame in frames_found] == list(WIDTHS)
    assert {frame["dark"] for frame in frames_found} == {scheme == "dark"}
    return frames_found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two runs, one of them a sweep, with names that are long or look like HTML."""
    source: dict[str, Any] = {
        "name": NASTY,
        "question": f"{NASTY} {'and so on ' * 20}",
        "horizon": 50,
        "replicates": 3,
        "environment": {"name": "bernoulli-arms", "arms": 3},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 12345678]}}],
    }
    axis = {"parameter": "horizon", "values": [30, 60]}
    folder, runs = tmp_path_factory.mktemp("runs"), []
    for name, each in {"one": source, "two": {**source, "name": "Donau" * 20, "sweep": axis}}.items():
        run_experiment(Experiment([parse_point(point) for point in sweep(each)]), engine="serial", out=folder / name)
        runs.append(Run.open(folder / name))
    return report(runs).html()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_report_can_be_read_everywhere(scheme: str, page: str, tmp_path: Path) -> None:
    for frame in measured(page, scheme, tmp_path):
        assert frame["page_width"] <= frame["width"] and frame["outside"] == []
        assert frame["texts"] > 200 and frame["faint"] == []
        assert frame["overlaps"] == []
        assert frame["letters"] > READABLE
        assert frame["lost"] == [] and (frame["scrolled"] > 0 or frame["width"] > 360)
        assert frame["pictures"] == [1] * (5 + 2 + 2 * 4)
        assert frame["fetched"] == []
        assert frame["twice"] == []
        assert frame["title"].startswith("2 runs: <script>")
        assert frame["ground"] == {"dark": "rgb(20, 24, 29)", "light": "rgb(255, 255, 255)"}[scheme]


def test_what_cannot_be_read_is_noticed(tmp_path: Path) -> None:
    broken = Page(NASTY)
    broken.table(["name", "x" * 300], [["a", "1"]], "wide")
    broken.figure('<svg viewBox="0 0 3000 300"><text y="99" font-size="9">tiny</text></svg>', "a", "b")
    text = broken.html().replace("</title>", f"</title>{NASTY}")
    styles = "thead th, tbody th { position: static !important } "
    styles += "p { color: #888; background: #999; width: 1300px; max-width: none; margin: -3em 0 } "
    text = text.replace("</head>", f"<style>{styles}</style></head>")
    picture = "<p id='a'>faint and wide</p><p id='a'>over it</p><img src='http://127.0.0.1:49151/a.png'>"
    text = text.replace("</main>", f"{picture}</main>")
    for frame in measured(text, "light", tmp_path):
        assert frame["page_width"] > frame["width"] and len(frame["outside"]) == 2
        assert len(frame["faint"]) == 2
        assert len(frame["overlaps"]) >= 1
        assert frame["letters"] < READABLE
        assert len(frame["lost"]) == 1
        assert len(frame["fetched"]) == 1
        assert frame["twice"] == ["a"]
        assert frame["title"] == "broken"
