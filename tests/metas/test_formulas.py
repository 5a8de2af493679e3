"""Formulas that users write: their values by hand and against Python, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corral_core.metas.formulas import FormulaError, evaluate

T, M, HORIZON = 10_000, 4, 20_000
KNOWN = {"T": T, "M": M, "horizon": HORIZON}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20/sqrt(T)", 0.2),
        ("M^(2/3) / T^(2/3)", 0.0004 ** (2 / 3)),
        ("T^(-1/3)", T ** (-1 / 3)),
        ("T**-0.5", 0.01),
        ("-2^2", -4),
        ("2^3^2", 512),
        ("8/4/2", 1),
        ("8-4-2", 2),
        ("1 + 2*3", 7),
        ("--3", 3),
        ("(1 + 2)*3", 9),
        (" 1e-3*horizon ", 20),
        (".5 + 2.", 2.5),
        ("min(1, M/T, 3)", 0.0004),
        ("max(ln(T), log(M)) / exp(1)", math.log(T) / math.e),
    ],
)
def test_values_by_hand(text: str, value: float) -> None:
    assert evaluate(text, KNOWN) == pytest.approx(value, rel=1e-15)


def test_the_formula_of_the_paper_has_the_bits_it_always_had() -> None:
    for rounds in range(1, 5000, 7):
        assert evaluate("20/sqrt(T)", {"T": rounds}) == 20 / math.sqrt(rounds)


def test_random_formulas_agree_with_python() -> None:
    """300 formulas of up to 25 operations: the same value as Python's own, or no value where Python has none."""
    rng = np.random.default_rng(1)
    valued = 0
    for _ in range(300):
        text = _formula(rng, 4)
        if len(text) > 200:
            continue
        python = text.replace("^", "**").replace("ln(", "log(")
        try:
            known: dict[str, object] = {"T": float(T), "M": float(M), "horizon": float(HORIZON)}
            expected = eval(python, {"__builtins__": {}}, known | vars(math) | {"min": min, "max": max})
        except (ValueError, ZeroDivisionError, OverflowError):
            expected = math.nan
        if isinstance(expected, complex) or not math.isfinite(expected):
            with pytest.raises(FormulaError):
                evaluate(text, KNOWN)
        else:
            assert evaluate(text, KNOWN) == pytest.approx(expected, rel=1e-12)
            valued += 1
    assert valued > 100


def _formula(rng: np.random.Generator, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return str(rng.choice(["T", "M", "horizon", "2", "0.5", "3e-1", "1"]))
    inner = _formula(rng, depth - 1)
    match rng.integers(5):
        case 0:
            return f"({inner})"
        case 1:
            return f"-{inner}"
        case 2:
            return f"{rng.choice(['sqrt', 'ln', 'log'])}({inner})"
        case 3:
            return f"{rng.choice(['min', 'max'])}({inner}, {_formula(rng, depth - 1)})"
    return f"{inner} {rng.choice(['+', '-', '*', '/', '^', '**'])} {_formula(rng, depth - 1)}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it ends too early"),
        ("2 +", "it ends too early"),
        ("(2", "it ends too early"),
        ("2)", "')' at position 2 is not expected"),
        ("2 3", "'3' at position 3 is not expected"),
        ("T; M", "';' at position 2 is not expected"),
        ("20/sqrt(N)", "'N' at position 9 is not one of T, M, horizon, sqrt"),
        ("__import__(1)", "'__import__' at position 1 is not one of"),
        ("T.real", "'.' at position 2 is not expected"),
        ("(1).__class__", "'.' at position 4 is not expected"),
        ("lambda: 1", "':' at position 7 is not expected"),
        ("sqrt", "'sqrt' at position 1 is not one of"),
        ("sqrt(1, 2)", "sqrt takes one number"),
        ("min(1)", "min takes two numbers or more"),
        ("1/0", "it cannot be computed"),
        ("log(0)", "it cannot be computed"),
        ("sqrt(-1)", "it cannot be computed"),
        ("exp(1e9)", "it cannot be computed"),
        ("9^9^9^9", "it cannot be computed"),
        ("(-8)^(1/3)", "-8 to the power of 0.333333 is not a real number"),
        ("1e308*10", "its value is not a finite number"),
        ("(" * 60 + "1" + ")" * 60, "it is nested more than 40 deep"),
        ("-" * 150 + "1", "it is nested more than 40 deep"),
        ("1" * 1_000_000, "it has 1,000,000 characters, more than 200"),
        ("½", "'½' at position 1 is not expected"),
        ("٣", "'٣' at position 1 is not expected"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(FormulaError) as refused:
        evaluate(text, KNOWN)
    assert why in str(refused.value)
    assert len(str(refused.value)) < 120
