"""The hooks a plugin may implement. Keep this module light: `corral --help` imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pluggy

if TYPE_CHECKING:
    import typer

hookspec = pluggy.HookspecMarker("corral")
hookimpl = pluggy.HookimplMarker("corral")
"""Marks a function of a plugin's module as the implementation of a hook."""

PROTOCOL = 1  # number of the protocols; a plugin declares the one it was written for as `corral_protocol`


class Entry(NamedTuple):
    """One registered thing. The target is imported only when the thing is used."""

    name: str
    summary: str
    target: str  # "package.module:Class"; for an experiment "package:file.toml"


@hookspec
def corral_bases() -> list[Entry]:  # type: ignore[empty-body]
    """Base algorithms: targets are classes that follow `corral_core.Base`."""


@hookspec
def corral_metas() -> list[Entry]:  # type: ignore[empty-body]
    """Meta-algorithms: targets are classes that follow `corral_core.Meta`."""


@hookspec
def corral_environments() -> list[Entry]:  # type: ignore[empty-body]
    """Environments: targets are classes that follow `corral_core.Environment`."""


@hookspec
def corral_experiments() -> list[Entry]:  # type: ignore[empty-body]
    """Experiments: targets are TOML files inside a package, written "package:file.toml"."""


@hookspec
def corral_engines() -> list[Entry]:  # type: ignore[empty-body]
    """Engines: where chunks of replicates run."""


@hookspec
def corral_commands(app: typer.Typer) -> None:
    """Commands: add them to the `corral` command line with `@app.command()`."""
