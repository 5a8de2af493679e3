"""Of pictures, in inches: width and height. Apart from the pictures, for the command line loads this at once."""

from __future__ import annotations

Size = tuple[float, float]

BROAD: Size = (7.5, 4.2)  # for desks
NARROW: Size = (3.6, 3.2)  # and for phones, where the same letters must stay readable
LEAST: Size = (3.0, 2.5)
MOST = 40.0
