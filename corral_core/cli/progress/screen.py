"""The live view of a run: its curves and how their bases are chosen, in as much room as the terminal has."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from corral_core.cli.progress.standings import Course, Standing, common_plays
from corral_core.terminal import plays, printable

WIDEST = 120  # columns
FEWEST_ROWS = 4  # per point
GAP = 2  # columns of the terminal between two columns of a table
CURVE_BAR = 10  # columns
BASE_BAR = 10, 36  # columns of a bar and its number, minimum and maximum
Parts = list[tuple[str, str]]  # texts and their styles


class Screen:
    """The layout of a course in this many columns and rows of the terminal."""

    def __init__(self, course: Course, columns: int, rows: int, ascii_only: bool) -> None:
        self._course, self._columns, self._rows = course, min(columns, WIDEST), max(1, rows)
        self._ascii = ascii_only

    def lines(self) -> list[Text]:
        """The lines to show: at most as many as there are rows, and not longer than the columns."""
        room = self._rows - 1
        shown = self._course.shown()
        fitting = shown[: max(1, room // FEWEST_ROWS)]
        lines = [self._overall()]
        more = _more(len(shown) - len(fitting), " points")
        room -= len(more)
        for place, point in enumerate(fitting):
            section = self._point(point, room // (len(fitting) - place))
            room -= len(section)
            lines += section
        lines = (lines + more)[: self._rows]
        for line in lines:
            line.truncate(self._columns)
        return lines

    def _overall(self) -> Text:
        percent, left = f"{self._course.percent:3}% ", self._course.time_left.words()
        left = left and f" {left}"
        return _line(
            [(percent, "bold"), *self._bar(self._course.share, self._columns - len(percent + left)), (left, "")]
        )

    def _point(self, standings: Sequence[Standing], rows: int) -> list[Text]:
        """The curves of a point, and how its running metas choose among their bases."""
        choosing = [standing for standing in standings if standing.chooses and standing.running]
        bars = self._bases(choosing, max(rows - 1 - len(standings), (rows - 1) // 2)) if choosing else []
        curves = self._curves(standings, rows - len(bars))
        apart = [_line([])] if bars and len(curves) + len(bars) < rows else []
        return curves + apart + bars

    def _curves(self, standings: Sequence[Standing], rows: int) -> list[Text]:
        """A table of as many curves as fit: running curves are preferred, then those already played."""
        kept = standings
        if len(standings) > rows - 1:
            first = sorted(standings, key=lambda each: (not each.running, not each.furthest, not each.chooses))
            kept = [each for each in standings if each in first[: max(0, rows - 2)]]
        common = common_plays(standings)
        measure = "reward" if any(each.measure == "reward" for each in standings) else "regret"
        names = [standings[0].at or "curve", *(each.name for each in kept)]
        done = ["done", *("failed" if each.failed else f"{100 * each.done // each.work}%" for each in kept)]
        so_far = ["plays", *(f"{each.furthest:,}" if each.furthest else "" for each in kept)]
        now = [measure, *(each.shown(each.furthest) for each in kept)]
        together = [f"at {plays(common)}", *(each.shown(common) for each in kept)]
        longest = _longest(names)
        bar = CURVE_BAR + GAP
        columns = [done, so_far, now, together]
        if self._beside(columns) - bar < min(longest, 24):
            bar = 0
        if self._beside(columns) < min(longest, 16):
            columns = [done, now, together]
        if self._beside(columns) < min(longest, 12):
            columns = [done, [f"{measure} at {common:,}", *together[1:]]]
        width = max(1, min(longest, self._beside(columns) - bar))
        sizes = [_longest(column) for column in columns]
        lines = []
        for row, name in enumerate(names):
            each = kept[row - 1] if row else None
            style = "dim" if each is None or not each.done else "bold" if each.running else ""
            parts = [(self._fit(name, width), style)]
            if bar:
                parts.append((" " * GAP, ""))
                parts += self._bar(each.done / each.work, CURVE_BAR) if each else [(" " * CURVE_BAR, "")]
            cells = [column[row].rjust(size) for column, size in zip(columns, sizes, strict=True)]
            parts.append(("".join(" " * GAP + cell for cell in cells), style))
            lines.append(_line(parts))
        return (lines + _more(len(standings) - len(kept)))[: max(0, rows)]

    def _beside(self, columns: Sequence[Sequence[str]]) -> int:
        """The room that these columns leave for names."""
        return self._columns - sum(GAP + _longest(column) for column in columns)

    def _bases(self, metas: Sequence[Standing], rows: int) -> list[Text]:
        """The mean probabilities of the bases, one column per meta. A single meta gets as many columns as it needs.

        The largest probability fills its bar. Metas that do not draw show shares of the latest plays.
        """
        labels = metas[0].labels
        least, most = BASE_BAR
        width = min(_longest(labels), max(8, self._columns // 3))
        metas = metas[: max(1, (self._columns - width) // (GAP + least))]
        chances = [each.chosen() for each in metas]
        blocks, block = 1, width + GAP + least
        if len(metas) == 1:
            while len(labels) > blocks * (rows - 1) and (blocks + 1) * (block + GAP) - GAP <= self._columns:
                blocks += 1
        bases = list(range(len(labels)))
        if len(bases) > blocks * (rows - 1):
            likely = sorted(bases, key=lambda base: -max(chance[base] for chance in chances))
            bases = sorted(likely[: max(0, blocks * (rows - 2))])
        if not bases:
            return []
        each = (self._columns + GAP) // blocks - 2 * GAP - width
        size = min(most, (each + GAP) // len(metas) - GAP)
        what = " or ".join(dict.fromkeys("probabilities" if meta.draws else "shares of plays" for meta in metas))
        if len(metas) == 1:
            lines = [_line([(f"{what} of {self._fit(metas[0].name, _longest([metas[0].name]))}", "dim")])]
        else:
            names = [meta.name if meta.draws or " or " not in what else f"{meta.name}: shares" for meta in metas]
            titles = [self._fit(what, width), *(self._fit(name, size) for name in names)]
            lines = [_line([((" " * GAP).join(titles), "dim")])]
        full = max(max(chance) for chance in chances) or 1.0
        deep = -(-len(bases) // blocks)
        for row in range(deep):
            parts: Parts = []
            for base in bases[row::deep]:
                parts.append((" " * GAP * bool(parts) + self._fit(labels[base], width), ""))
                for chance in chances:
                    bar = self._blocks(chance[base] / full, size - 5)
                    parts += [(" " * GAP + bar, "cyan"), (f" {chance[base]:.2f}".ljust(size - len(bar)), "")]
            lines.append(_line(parts))
        return lines + _more(len(labels) - len(bases))

    def _bar(self, share: float, width: int) -> Parts:
        full = int(max(0, width) * share)
        done, to_come = "#-" if self._ascii else "━─"
        return [(done * full, "green" if share == 1 else "cyan"), (to_come * (width - full), "dim")]

    def _blocks(self, share: float, width: int) -> str:
        """A bar in eighths of a block, or in ASCII characters."""
        width = max(0, width)
        if not share > 0:  # also if it is NaN
            return ""
        if self._ascii:
            return "#" * round(share * width)
        full, eighths = divmod(round(8 * share * width), 8)
        return "█" * full + "▏▎▍▌▋▊▉"[eighths - 1 : eighths]

    def _fit(self, name: str, width: int) -> str:
        """A name in exactly this many columns, shortened in the middle."""
        name, sign = printable(name), "…"
        if self._ascii:
            name, sign = name.encode("ascii", "replace").decode(), ".."
        if cell_len(name) > width:
            tail = max(0, width - len(sign)) // 2
            ending = name[len(name) - tail :]
            while cell_len(ending) > tail:
                ending = ending[1:]
            name = set_cell_size(name, max(0, width - len(sign) - cell_len(ending))) + sign + ending
        return set_cell_size(name, width)


def _line(parts: Parts) -> Text:
    line = Text.assemble(*parts, no_wrap=True, overflow="crop", end="")
    line.rstrip()
    return line


def _more(count: int, what: str = "") -> list[Text]:
    return [_line([(f"and {count} more{what}", "dim")])] if count else []


def _longest(names: Sequence[str]) -> int:
    return max(cell_len(printable(name)) for name in names)
