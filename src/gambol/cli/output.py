"""How the command line speaks: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from gambol.files import json_text
from gambol.words import in_words, is_table

if TYPE_CHECKING:
    from gambol.results import Progress as Moment
    from gambol.results import ProgressListener

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """An error, on stderr."""
    err.print(f"[bold red]error:[/] {escape(message)}")


def tell(message: str) -> None:
    """Something worth knowing, on stderr."""
    err.print(escape(message))


def print_json(data: Any) -> None:
    """One JSON object on stdout; numbers that JSON does not have become null."""
    typer.echo(json_text(data))


def print_figures(title: str, figures: Mapping[str, Any]) -> None:
    """Names and what is known about each: one value, or several in columns of their own; rows are tables below."""
    table = Table(title=escape(title), show_header=False, title_justify="left", box=None, padding=(0, 2, 0, 0))
    rows = {name: value for name, value in figures.items() if is_table(value)}
    for name, value in figures.items():
        if name not in rows:
            cells = value if isinstance(value, tuple) else (in_words(value),)
            table.add_row(*(escape(str(cell)) for cell in (name, *cells)))
    out.print(table)
    for name, entries in rows.items():
        _print_rows(name, entries)


def _print_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Mappings, one below the other."""
    table = Table(title=escape(title), title_justify="left", box=None, padding=(0, 2, 0, 0))
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        table.add_column(escape(str(name)))
    for row in rows:
        table.add_row(*(escape(in_words(row.get(name, ""))) for name in names))
    out.print(table)


_BETWEEN_LINES = 30.0
"""Seconds between lines of progress where there is no terminal to draw a bar on."""


@contextlib.contextmanager
def progress_bar() -> Iterator[ProgressListener]:
    """A listener that draws a bar on stderr while a method runs; into a file it writes a line now and then."""
    if not err.is_terminal:
        yield _line_by_line()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bars:
        bar = bars.add_task("starting", total=1.0, figures="")

        def listen(moment: Moment, /) -> None:
            bars.update(bar, completed=moment.fraction, description=escape(moment.what), figures=_figures(moment))

        yield listen


def _line_by_line() -> ProgressListener:
    last = time.monotonic()

    def listen(moment: Moment, /) -> None:
        nonlocal last
        if time.monotonic() - last >= _BETWEEN_LINES:
            last = time.monotonic()
            err.print(f"{100 * moment.fraction:.0f} %  {escape(moment.what)}  {_figures(moment)}")

    return listen


def _figures(moment: Moment) -> str:
    return escape("  ".join(f"{name} {value}" for name, value in moment.figures.items()))
