"""What goes wrong in a way the user can mend, and what they are warned of."""

import warnings


class CorralError(Exception):
    """One sentence that says what was wrong, where, and what would be right; the command line exits with 2."""


class Interrupted(CorralError):  # noqa: N818 - nothing is wrong
    """The user ended it; the message says how to go on."""


def warn_plainly() -> None:
    """From now on a warning is one line that says what it is about, not where in the source it was raised."""

    def line(message: Warning | str, *place: object, **more: object) -> str:
        return f"Warning: {' '.join(str(message).split())}\n"

    warnings.formatwarning = line
