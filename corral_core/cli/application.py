"""The whole command line. Nothing here imports numpy; rich is imported only to print tables."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from corral_core import __version__
from corral_core.engines.machine import ONE_THREAD
from corral_core.errors import CorralError, Interrupted, Terminated, shortened, warn_plainly
from corral_core.registry.discovery import CORE, Candidate, Plugins, normal_plugin
from corral_core.registry.names import get_registry

# In the order of the help text. Each module has a function register(app).
COMMANDS = (
    "run",
    "compare",
    "describe",
    "check",
    "bench",
    "new_plugin",
    "list_bases",
    "list_metas",
    "list_environments",
    "list_experiments",
    "list_engines",
    "plugins",
)


class Group(typer.core.TyperGroup):
    """Commands by bare and by qualified name; for a missing one, the error says which plugin provides it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.qualified: dict[str, Any] = {}  # the commands of plugins, such as corral-report:plot
        self.owners: dict[str, list[str]] = {}  # the plugins that claim a command

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.contested:
            plugins = self.contested[cmd_name]
            raise CorralError(
                f"the command {cmd_name} is provided by {' and '.join(plugins)}; write "
                f"{' or '.join(f'corral {plugin}:{cmd_name}' for plugin in plugins)}"
            )
        plugin, _, name = cmd_name.rpartition(":")
        if normal_plugin(plugin) == CORE:
            return None if name in self.owners else super().get_command(ctx, name)
        command = super().get_command(ctx, cmd_name) or self.qualified.get(f"{normal_plugin(plugin)}:{name}")
        if command is None and (missing := get_registry().missing("command", cmd_name)):
            raise CorralError(missing)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command. What typer says about wrong words quotes only their beginning."""
        try:
            return super().invoke(ctx)
        except Exception as wrong:
            if isinstance(said := getattr(wrong, "message", None), str):
                wrong.message = re.sub(r"\S{80,}", lambda word: shortened(word[0]), said)  # type: ignore[attr-defined]
            raise

    def add_from_plugin(self, plugin: Candidate, name: str, command: Any) -> None:
        """Add a command of a plugin. The core keeps its names; a name that two plugins claim goes to neither."""
        key, owners = f"{normal_plugin(plugin.name)}:{name}", self.owners.get(name, [])
        if name in self.commands and not owners:
            plugin.problems.append(f"the command {name} is ignored: the name belongs to the core")
        elif key in self.qualified:
            plugin.problems.append(f"the command {name} is registered twice; the second one is ignored")
        else:
            self.qualified[key] = command
            plugin.provides.setdefault("command", []).append(name)
            self.owners[name] = [*owners, plugin.name]
            if owners:
                self.commands.pop(name, None)
            else:
                self.commands[name] = command

    @property
    def contested(self) -> dict[str, list[str]]:
        """The commands that several plugins claim, and these plugins."""
        return {name: owners for name, owners in self.owners.items() if len(owners) > 1}


def new_app() -> typer.Typer:
    return typer.Typer(
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


@functools.cache
def command_line(plugins: Plugins) -> Any:
    """The whole command line: the core's commands, then those of plugins, which cannot replace the core's."""
    app = new_app()
    app.callback()(corral)
    for name in COMMANDS:
        import_module(f"{__package__}.{name}").register(app)
    group: Any = typer.main.get_command(app)
    for plugin, implementation in plugins.implementations("corral_commands"):
        # Each plugin gets an app of its own: commands that typer cannot build must not break the others.
        apart = new_app()
        with plugin.guard("corral_commands raised"):
            implementation(apart)
            for name, command in typer.main.get_group(apart).commands.items():
                group.add_from_plugin(plugin, name, command)
    for name, owners in group.contested.items():
        plugins.report_contested("command", name, owners)
    return group


def run_command(arguments: Sequence[str] | None = None) -> None:
    """Run `corral`. An error that the user can fix is one line and exit code 2."""
    signal.signal(signal.SIGTERM, _terminate)
    os.environ.update(ONE_THREAD)  # before numpy is imported, so that chunks give the same bits here and in workers
    warn_plainly()
    try:
        try:
            command_line(get_registry().plugins).main(args=arguments, prog_name="corral")
        finally:
            sys.stdout.flush()
    except Interrupted as stopped:
        leave(f"Interrupted. {stopped}", 130)
    except CorralError as error:
        leave(f"Error: {error}", 2)
    except KeyboardInterrupt:
        leave("Interrupted.", 130)
    except BrokenPipeError:
        # The reader of our output has gone: Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except SystemExit as stop:
        if stop.code == 130:  # typer's exit code for an interrupt
            leave("Interrupted.", 130)
        raise


def _terminate(*_: object) -> NoReturn:
    """A normal exit, which also ends the workers."""
    raise Terminated(143)


def leave(line: str, code: int) -> NoReturn:
    print(" ".join(line.split()), file=sys.stderr)
    sys.exit(code)


def show_version(wanted: bool) -> None:
    if wanted:
        from corral_core.kernels.twins import described

        print(f"corral {__version__} (kernels: {described()})")
        raise typer.Exit


def corral(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=show_version, help="Show the version and which kernels play, and exit."
        ),
    ] = False,
) -> None:
    """Choose among bandit algorithms while they run."""
