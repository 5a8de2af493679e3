"""The examples in docstrings say what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import corral_adapters
import corral_glm
import corral_heavytail
import corral_kit
import corral_linucb
import corral_lsvi
import corral_mab
import corral_nonparam
import corral_tabular
import pytest

import corral_core

MODULES = [
    module.name
    for package in (
        corral_core,
        corral_kit,
        corral_mab,
        corral_linucb,
        corral_glm,
        corral_heavytail,
        corral_nonparam,
        corral_lsvi,
        corral_tabular,
        corral_adapters,
    )
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_base_has_one() -> None:
    """One algorithm a file, each with a runnable example."""
    bases = [
        name
        for name in MODULES
        if ".bases." in name and not name.startswith("corral_core.") and not name.endswith((".means", ".lower_bounds"))
    ]
    finder = doctest.DocTestFinder()
    without = [name for name in bases if not any(test.examples for test in finder.find(importlib.import_module(name)))]
    assert not without
