"""What commands print: numbers, sentences, tables."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corral_core.terminal import counted, number, plays, printable, say, say_paragraphs, show_json, show_table


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"),
        (0.12345, "0.123"),
        (9.999, "10"),
        (12.34, "12.3"),
        (-12.34, "-12.3"),
        (1234.5, "1,234"),
        (2e9, "2e+09"),
    ],
)
def test_numbers_have_about_four_digits(value: float, said: str) -> None:
    assert number(value) == said


def test_counts_agree_with_their_nouns() -> None:
    assert (counted(1, "curve"), counted(2000, "curve"), plays(0)) == ("1 curve", "2,000 curves", "0 plays")


def test_names_cannot_move_the_cursor() -> None:
    assert printable("plain") == "plain"
    assert printable("a\x1b[2Jb\n") == "a?[2Jb?"


def test_sentences_stay_on_one_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    say("word " * 100, "  ")
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and out.startswith("  word")


def test_docstrings_flow_but_formulas_and_lists_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    say_paragraphs("One\nsentence.\n\n- first\n  goes on\n- second\n\n    a = b\n\n>>> hidden()")
    assert capsys.readouterr().out == "One sentence.\n\n- first goes on\n- second\n\n    a = b\n"


def test_tables_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("name", "value"), [("a", "1"), ("long name", "22")], numbers=True)
    show_json([{"a": 1}])
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["a", "1"]
    assert out.endswith('[\n  {\n    "a": 1\n  }\n]\n')


SPOILING = """
import ctypes, os, subprocess, sys
from corral_core.terminal import reserved_output, show_json

print("before")
with reserved_output():
    os.write(1, b"descriptor\\n")
    print("printed")
    subprocess.run(["echo", "subprocess"], check=True)
    ctypes.CDLL(None).printf(b"from C\\n")
    with reserved_output():
        show_json({"answer": 42})
    os.write(1, b"again\\n")
print("after")
"""


def test_reserved_output_carries_json_and_nothing_else() -> None:
    """C code has a buffer of its own, which it would write at exit."""
    done = subprocess.run([sys.executable, "-c", SPOILING], capture_output=True, text=True, check=True)
    assert done.stdout == 'before\n{\n  "answer": 42\n}\nafter\n'
    assert sorted(done.stderr.split("\n")) == ["", "again", "descriptor", "from C", "printed", "subprocess"]


@pytest.mark.parametrize("closed", [1, 2])
def test_output_is_reserved_even_if_a_descriptor_is_closed(closed: int) -> None:
    script = "from corral_core.terminal import reserved_output, show_json\nwith reserved_output(): show_json([1])"
    done = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {closed}>&-', sys.executable, script], check=False)
    assert done.returncode == 0
