"""`corral list-bases`."""

import typer

from corral_core.cli.listing import AsJson, show


def register(app: typer.Typer) -> None:
    @app.command("list-bases")
    def list_bases(as_json: AsJson = False) -> None:
        """List the installed base algorithms."""
        show("base", as_json)
