"""Errors that the user can fix, and warnings."""

import os
import warnings

# Folders of code that no plugin has written.
LIBRARIES = {"corral_core", "numpy", "attr", "attrs", "importlib", os.path.basename(os.path.dirname(os.__file__))}

LONGEST_PATH = 4096  # characters


class CorralError(Exception):
    """An error that the user can fix: one sentence that says what is wrong, where, and what would be right.

    The command line prints it and exits with 2.
    """


class Interrupted(CorralError):  # noqa: N818 - nothing is wrong
    """The user interrupted a run; the message says how to resume it."""


class Terminated(SystemExit):
    """A signal asked this process to end. Whatever catches what plugins raise must let this pass."""


def shortened(text: str, most: int = 80) -> str:
    """What somebody wrote, as a message quotes it: at most 80 characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shortened_path(path: str | os.PathLike[str]) -> str:
    """A path as a message quotes it: as it is, to be copied, unless it is too long for any file."""
    text = os.fspath(path)
    return text if len(text) <= LONGEST_PATH and all(len(part) <= 255 for part in text.split("/")) else shortened(text)


def warn_plainly() -> None:
    """Show every warning from now on as one line with its message, without the place in the source."""

    def line(message: Warning | str, *place: object, **more: object) -> str:
        return f"Warning: {' '.join(str(message).split())}\n"

    warnings.formatwarning = line


def reason(error: BaseException) -> str:
    """An exception in one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def place(error: BaseException) -> str:
    """Where it was raised: the last line outside Corral, numpy, attrs and Python itself, in brackets; "" if none."""
    found = ""
    trace = error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if of_plugin(path):
            found = f" ({os.path.basename(path)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


def of_plugin(path: str) -> bool:
    """Whether this is a file of a plugin or a script: not of Corral, numpy, attrs or Python itself."""
    parts = path.replace("\\", "/").split("/")
    inside = parts[parts.index("site-packages") + 1 :] if "site-packages" in parts else parts
    return not path.startswith("<") and not LIBRARIES & set(inside[:-1])
