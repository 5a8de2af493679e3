"""What went wrong in a chunk: the exception of a plugin, told from the plugin's own file on.

The frames of the traceback also know whose code it was and in which play, so that the simulation pays nothing for it.
"""

from __future__ import annotations

import traceback
from types import FrameType, TracebackType
from typing import NamedTuple

from corral_core.errors import CorralError, of_plugin
from corral_core.protocols.base import Base
from corral_core.protocols.environment import Environment
from corral_core.protocols.meta import Meta
from corral_core.selection.selection import Selection
from corral_core.simulation.simulate import simulate

KINDS = {Base: "base", Meta: "meta", Environment: "environment"}
MOST_FRAMES = 6  # that a traceback shows


class Failure(NamedTuple):
    """An exception that ended a chunk, in words, so that it can be pickled whatever the exception holds."""

    who: str  # such as "base ucb"; empty if unknown
    play: int  # in which it was raised, counted from 1; 0 if the first had not begun
    traceback: str  # from the plugin's file on; empty for a CorralError, which says everything in its sentence
    refused: bool  # whether it was a CorralError, which the user can fix


def failure_of(error: Exception, note: str = "") -> Failure:
    """The failure that an exception of `run_chunk` means. The traceback leaves out this note."""
    chain = _chain(error)
    refused = isinstance(error, CorralError)
    return Failure(
        who=next(filter(None, map(_who, reversed(chain))), ""),
        play=next((play for each in chain for play in _plays(each)), 0),
        traceback="" if refused else _short_traceback(error, note),
        refused=refused,
    )


def plugin_frames(error: BaseException) -> tuple[list[TracebackType], list[TracebackType], list[TracebackType]]:
    """The frames above the plugin, those of the plugin (with what it calls outside Corral), and those below it.

    The plugin is the one that was entered last: a base, if an environment called the base through Corral. If there is
    none, the first list has everything.
    """
    frames = _frames(error)
    theirs = [number for number, each in enumerate(frames) if of_plugin(_file(each.tb_frame))]
    if not theirs:
        return frames, [], []
    last = first = theirs[-1]
    while first and not _file(frames[first - 1].tb_frame).startswith(_CORE):
        first -= 1
    while not of_plugin(_file(frames[first].tb_frame)):  # a library through which Corral called the plugin
        first += 1
    return frames[:first], frames[first : last + 1], frames[last + 1 :]


def origin(error: BaseException) -> BaseException:
    """The exception that was raised first, if Corral has put other words in its place."""
    return _chain(error)[-1]


def has_called(error: BaseException, code: object) -> bool:
    """Whether the exception has passed through this code."""
    return any(each.tb_frame.f_code is code for one in _chain(error) for each in _frames(one))


_CORE = simulate.__code__.co_filename.removesuffix("simulation/simulate.py")


def _chain(error: BaseException) -> list[BaseException]:
    """The exception, and those that a CorralError took the place of."""
    chain = [error]
    while isinstance(error, CorralError) and error.__suppress_context__ and error.__context__ is not None:
        error = error.__context__
        chain.append(error)
    return chain


def _frames(error: BaseException) -> list[TracebackType]:
    frames, each = [], error.__traceback__
    while each is not None:
        frames.append(each)
        each = each.tb_next
    return frames


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename


def _plays(error: BaseException) -> list[int]:
    """The play in which `simulate` was."""
    inside = [each.tb_frame.f_locals for each in _frames(error) if each.tb_frame.f_code is simulate.__code__]
    return [known["play_number"] for known in inside if "play_number" in known]


def _who(error: BaseException) -> str:
    """The base, meta or environment whose code it was, or whose answer was refused."""
    for each in reversed(_frames(error)):
        frame = each.tb_frame
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        for name in ("self", "base", "meta"):
            value = frame.f_locals.get(name) if name in names else None
            if isinstance(value, Selection):
                return ""
            for protocol, kind in KINDS.items():
                if isinstance(value, protocol):
                    return f"{kind} {value.name}"
    return ""


def _short_traceback(error: Exception, note: str) -> str:
    above, inside, below = plugin_frames(error)
    shown = [*inside, *below] or above
    lines = traceback.format_list(traceback.StackSummary.extract((each.tb_frame, each.tb_lineno) for each in shown))
    if (left_out := len(lines) - MOST_FRAMES) > 0:
        half = MOST_FRAMES // 2
        lines[half:-half] = [f"  ... {left_out} more ...\n"]
    lines += [line for line in traceback.format_exception_only(error) if line.rstrip() != note]
    return "".join(lines).rstrip()
