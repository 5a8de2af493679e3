"""What goes wrong in a way the user can mend."""


class CorralError(Exception):
    """One sentence that says what was wrong, where, and what would be right; the command line exits with 2."""


class Interrupted(CorralError):  # noqa: N818 - nothing is wrong
    """The user ended it; the message says how to go on."""
