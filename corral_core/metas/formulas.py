"""Formulas that users write for rates, such as "M^(2/3) / T^(2/3)": read here, never handed to Python.

    sum     := product (("+" | "-") product)*
    product := signed (("*" | "/") signed)*
    signed  := ("+" | "-") signed | power
    power   := value (("^" | "**") signed)?
    value   := number | variable | function "(" sum ("," sum)* ")" | "(" sum ")"

Functions are sqrt, exp, log, ln (log is natural too), min and max. Length and depth are limited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

LONGEST = 200  # characters
DEEPEST = 40  # parentheses, signs and powers within each other

TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/^(),]))", re.ASCII
)
FUNCTIONS: dict[str, tuple[Callable[..., float], bool]] = {  # and whether they take two or more arguments
    "sqrt": (math.sqrt, False),
    "exp": (math.exp, False),
    "log": (math.log, False),
    "ln": (math.log, False),
    "min": (min, True),
    "max": (max, True),
}


class FormulaError(ValueError):
    """What is wrong with a formula, and where."""


def evaluate(text: str, variables: Mapping[str, float]) -> float:
    """The value of a formula; raises a `FormulaError` if it has none.

    >>> evaluate("sqrt(M) / T^(1/2)", {"M": 4, "T": 10_000})
    0.02
    """
    if len(text) > LONGEST:
        raise FormulaError(f"it has {len(text):,} characters, more than {LONGEST}")
    try:
        found = _Reader(text, variables).whole()
    except (ValueError, ZeroDivisionError, OverflowError) as problem:
        if isinstance(problem, FormulaError):
            raise
        raise FormulaError(f"it cannot be computed ({problem})") from None
    if isinstance(found, complex) or not math.isfinite(found):
        raise FormulaError("its value is not a finite number")
    return found


class _Reader:
    """Computes a formula from left to right; each method reads one rule of the grammar."""

    def __init__(self, text: str, variables: Mapping[str, float]) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0
        self._variables = variables

    def whole(self) -> float:
        found = self._sum()
        if self._token:
            raise self._unexpected()
        return found

    @property
    def _token(self) -> str:
        return self._tokens[self._next][0]

    def _take(self, *wanted: str) -> str:
        """The next token if it is one of these, otherwise nothing."""
        token = self._token
        if token not in wanted:
            return ""
        self._next += 1
        return token

    def _unexpected(self) -> FormulaError:
        token, place = self._tokens[self._next]
        return FormulaError(f"{token!r} at position {place} is not expected" if token else "it ends too early")

    def _close(self) -> None:
        if not self._take(")"):
            raise self._unexpected()

    def _sum(self) -> float:
        found = self._product()
        while sign := self._take("+", "-"):
            found = found + self._product() if sign == "+" else found - self._product()
        return found

    def _product(self) -> float:
        found = self._signed()
        while sign := self._take("*", "/"):
            found = found * self._signed() if sign == "*" else found / self._signed()
        return found

    def _signed(self) -> float:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError(f"it is nested more than {DEEPEST} deep")
        sign = self._take("+", "-")
        found = self._signed() if sign else self._power()
        self._depth -= 1
        return -found if sign == "-" else found

    def _power(self) -> float:
        found = self._value()
        if self._take("^", "**"):
            exponent = self._signed()
            if found < 0 and not exponent.is_integer():
                raise FormulaError(f"{found:g} to the power of {exponent:g} is not a real number")
            found = math.pow(found, exponent)
        return found

    def _value(self) -> float:
        token, place = self._tokens[self._next]
        if self._take("("):
            found = self._sum()
            self._close()
            return found
        if not token or not (token[0].isalnum() or token[0] in "._"):
            raise self._unexpected()
        self._next += 1
        if token[0].isdigit() or token[0] == ".":
            return float(token)
        if token in FUNCTIONS and self._take("("):
            return self._call(token)
        if token not in self._variables:
            known = ", ".join([*self._variables, *FUNCTIONS])
            raise FormulaError(f"{token[:20]!r} at position {place} is not one of {known}")
        return float(self._variables[token])

    def _call(self, name: str) -> float:
        function, several = FUNCTIONS[name]
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close()
        if several != (len(arguments) > 1):
            raise FormulaError(f"{name} takes {'two numbers or more' if several else 'one number'}")
        return function(*arguments)


def _tokens(text: str) -> list[tuple[str, int]]:
    """The tokens of a formula with their positions, counted from 1; the last is empty."""
    found, place = [], 0
    while text[place:].strip():
        match = TOKEN.match(text, place)
        if match is None:
            left = text[place:].lstrip()
            raise FormulaError(f"{left[0]!r} at position {len(text) - len(left) + 1} is not expected")
        found.append((match.group(match.lastindex or 0), match.start(match.lastindex or 0) + 1))
        place = match.end()
    return [*found, ("", len(text) + 1)]
