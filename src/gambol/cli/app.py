"""The verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from gambol.cli import files, keyframing, listing, running, solving
from gambol.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Turn sparse wishes into physically simulated character motion.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Turn sparse wishes into physically simulated character motion."""


app.command("list")(listing.list_everything)
app.command("solve")(solving.solve)
app.command("demo")(solving.demo)
app.command("check")(files.check)
app.command("info")(files.info)
app.command("export")(files.export)
app.command("import")(files.import_)
app.command("keyframes")(keyframing.keyframes)
app.command("view")(files.view)
app.command("bench")(running.bench)
app.command("train")(running.train)
