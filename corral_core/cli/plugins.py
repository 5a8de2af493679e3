"""`corral plugins`."""

import typer

from corral_core.cli.listing import AsJson
from corral_core.registry.discovery import Plugin
from corral_core.registry.names import get_registry

SLOW = 0.5  # seconds


def register(app: typer.Typer) -> None:
    @app.command("plugins")
    def plugins(as_json: AsJson = False) -> None:
        """List the installed plugins, how long their imports took, and their problems."""
        from corral_core.terminal import show_json, show_table

        records = get_registry().plugins.records()
        if as_json:
            show_json(
                [
                    {**record._asdict(), "provides": dict(record.provides), "seconds": round(record.seconds, 4)}
                    for record in records
                ]
            )
            return
        rows = []
        for record in records:
            provides = ", ".join(
                f"{len(names)} {kind}{'s' * (len(names) > 1)}" for kind, names in record.provides.items()
            )
            took = f"{1000 * record.seconds:.1f} ms" if record.seconds else ""
            rows.append((record.name, record.version, record.status, took, provides or "nothing"))
        console = show_table(("plugin", "version", "status", "import", "provides"), rows)
        problems = [f"{record.name}: {problem}" for record in records for problem in (*record.problems, *_slow(record))]
        if problems:
            console.print("", *problems, sep="\n")


def _slow(record: Plugin) -> list[str]:
    """A sentence about a plugin that delays every command. It depends on the machine, so it is not a problem."""
    if record.seconds <= SLOW:
        return []
    return [
        f"its import took {record.seconds:.1f} s, which delays every command; "
        f"import heavy modules inside functions, not in the plugin's module"
    ]
