"""Sizes of pictures in inches: width and height. A module of its own, because the command line always loads it."""

from __future__ import annotations

Size = tuple[float, float]

BROAD: Size = (7.5, 4.2)  # for large screens
NARROW: Size = (3.6, 3.2)  # for phones, so that letters of the same size stay readable
LEAST: Size = (3.0, 2.5)
MOST = 40.0
