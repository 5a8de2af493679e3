"""`corral list-engines`."""

import typer

from corral_core.cli.listing import AsJson, show


def register(app: typer.Typer) -> None:
    @app.command("list-engines")
    def list_engines(as_json: AsJson = False) -> None:
        """List the installed engines, which run chunks."""
        show("engine", as_json)
