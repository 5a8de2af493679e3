"""`corral list-metas`."""

import typer

from corral_core.cli.listing import AsJson, show


def register(app: typer.Typer) -> None:
    @app.command("list-metas")
    def list_metas(as_json: AsJson = False) -> None:
        """List the installed meta-algorithms."""
        show("meta", as_json)
