"""Corral's conformance checks of everything in corral-adapters.

Python objects are slow: the first example of a base plays in every small world, the others in a few.
"""

from __future__ import annotations

from collections.abc import Callable

from corral_adapters import MabWiser, River, plugin

from corral_core.checks.worlds import Small
from corral_core.testing import conformance

FEW = [Small(), Small(masked=True), Small(shows="shared"), Small(shows="shared", masked=True)]
FIRST, *OTHERS = MabWiser.examples()
FIRST_OF_RIVER, *OTHERS_OF_RIVER = River.examples()
OBJECTS = ("mabwiser", "river")
NAMES = [
    entry.name
    for hook in (plugin.corral_bases, plugin.corral_environments, plugin.corral_experiments)
    for entry in hook()
    if entry.name not in OBJECTS
]


@conformance(FIRST, FIRST_OF_RIVER, *NAMES)
def test_conformance(check: Callable[[], None]) -> None:
    check()


@conformance(*OTHERS, *OTHERS_OF_RIVER, within=FEW)
def test_conformance_of_the_other_examples(check: Callable[[], None]) -> None:
    check()
