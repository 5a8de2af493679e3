"""A plugin that fails in several ways. It is found on `sys.path`, so workers find it too."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corral_core.registry.names import get_registry

PLUGIN = """
import os

from corral_core import Entry, hookimpl

os.write(1, b"noise of an import\\n")


@hookimpl
def corral_bases():
    names = ("raising", "far", "loud", "hanging", "leaving")
    return [Entry(name, "A base that fails", f"corral_herd.bases:{name.title()}") for name in names]


@hookimpl
def corral_environments():
    return [Entry("broken-arms", "Arms that fail", "corral_herd.bases:BrokenArms")]


@hookimpl
def corral_metas():
    return [Entry("broken-meta", "A meta that fails", "corral_herd.bases:BrokenMeta")]
"""
BASES = """
import os
import time
from pathlib import Path

import attrs
import numpy as np
from corral_mab import BernoulliArms, Ucb

from corral_core import Uniform, parameter


@attrs.frozen
class Raising(Ucb):
    name = "raising"

    def learn(self, state, rows, feedback, rng):
        super().learn(state, rows, feedback, rng)
        if state.means.pulls.sum() > 10 * len(rows):
            self.divide(rows)

    def divide(self, rows):
        return len(rows) / 0


@attrs.frozen
class Far(Ucb):
    name = "far"

    def act(self, policy, observation, rng):
        return super().act(policy, observation, rng) + 99


@attrs.frozen
class Loud(Ucb):
    name = "loud"

    def act(self, policy, observation, rng):
        os.write(1, b"noise of a play\\n")
        print("printed in a play")
        return super().act(policy, observation, rng)


@attrs.frozen
class Hanging(Ucb):
    name = "hanging"
    marker: str = parameter("", help="a file; the base hangs until it exists, and creates it")

    def learn(self, state, rows, feedback, rng):
        super().learn(state, rows, feedback, rng)
        if not self.marker or not Path(self.marker).exists():
            if self.marker:
                Path(self.marker).touch()
            time.sleep(600)


@attrs.frozen
class Leaving(Ucb):
    name = "leaving"

    def learn(self, state, rows, feedback, rng):
        raise SystemExit(0)


@attrs.frozen
class BrokenArms(BernoulliArms):
    name = "broken-arms"

    def pay(self, instance, observation, action, rng):
        raise OSError("the sensor is unplugged")

    def play(self, instance, act, rng):
        return super().play(instance, act, rng)


@attrs.frozen
class BrokenMeta(Uniform):
    name = "broken-meta"

    def update(self, state, chosen, probability, gain, active):
        return {}["weights"]
"""


@contextmanager
def herd(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the plugin in a folder, for this process and its workers."""
    place = folder / "site"
    (place / "corral_herd").mkdir(parents=True)
    (place / "corral_herd/__init__.py").touch()
    (place / "corral_herd/plugin.py").write_text(PLUGIN)
    (place / "corral_herd/bases.py").write_text(BASES)
    (place / "corral_herd-1.dist-info").mkdir()
    (place / "corral_herd-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: corral-herd\nVersion: 1\n")
    (place / "corral_herd-1.dist-info/entry_points.txt").write_text("[corral]\nherd = corral_herd.plugin\n")
    monkeypatch.syspath_prepend(str(place))
    get_registry.cache_clear()
    try:
        yield
    finally:
        get_registry.cache_clear()
        for name in [name for name in sys.modules if name.partition(".")[0] == "corral_herd"]:
            del sys.modules[name]


def experiment(*bases: str, horizon: int = 60, environment: str = "bernoulli-arms", meta: str = "") -> str:
    """An experiment with these bases, three chunks per curve."""
    chosen = f'[meta]\nname = "{meta}"\n' if meta else ""
    return (
        f"horizon = {horizon}\nreplicates = 5\nchunk_size = 2\n"
        f'[environment]\nname = "{environment}"\narms = 3\n{chosen}'
        + "".join(f'[[bases]]\nname = "{base}"\n' for base in bases)
    )
