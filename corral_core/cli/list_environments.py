"""`corral list-environments`."""

import typer

from corral_core.cli.listing import AsJson, show


def register(app: typer.Typer) -> None:
    @app.command("list-environments")
    def list_environments(as_json: AsJson = False) -> None:
        """List the installed environments."""
        show("environment", as_json)
