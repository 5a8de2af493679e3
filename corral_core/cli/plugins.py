"""`corral plugins`."""

import typer

from corral_core.cli.listing import AsJson
from corral_core.registry.names import get_registry


def register(app: typer.Typer) -> None:
    @app.command("plugins")
    def plugins(as_json: AsJson = False) -> None:
        """List the installed plugins and their problems."""
        from corral_core.terminal import show_json, show_table

        records = get_registry().plugins.records()
        if as_json:
            show_json([{**record._asdict(), "provides": dict(record.provides)} for record in records])
            return
        rows = []
        for record in records:
            provides = ", ".join(
                f"{len(names)} {kind}{'s' * (len(names) > 1)}" for kind, names in record.provides.items()
            )
            rows.append((record.name, record.version, record.status, provides or "nothing"))
        console = show_table(("plugin", "version", "status", "provides"), rows)
        problems = [f"{record.name}: {problem}" for record in records for problem in record.problems]
        if problems:
            console.print("", *problems, sep="\n")
