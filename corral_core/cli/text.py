"""How numbers are written for people."""

from __future__ import annotations


def number(value: float) -> str:
    """About four digits, with thousands set apart."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def plays(count: int) -> str:
    return f"{count:,} plays"
