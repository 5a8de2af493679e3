"""`corral list-experiments`."""

import typer

from corral_core.cli.listing import AsJson, show


def register(app: typer.Typer) -> None:
    @app.command("list-experiments")
    def list_experiments(as_json: AsJson = False) -> None:
        """List the installed experiments."""
        show("experiment", as_json)
