"""``gambol bench`` and ``gambol train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from gambol.cli.output import out, print_json, progress_bar, tell
from gambol.cli.targets import refuse_unwritable
from gambol.errors import unknown_name
from gambol.front import METHODS

if TYPE_CHECKING:
    from gambol.evaluate import Findings


_WIDEST = 1000


def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark; an unknown name lists them.")],
    trials: Annotated[int | None, typer.Option(min=1, help="How many; each benchmark has its own default.")] = None,
    rows: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Only rows whose names contain this; may be repeated.")
    ] = None,
    on: Annotated[
        str, typer.Option(help="Where it runs: local, processes (a trial on each core), gpu, ray or ray://host:port.")
    ] = "local",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of every row's task.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where tables, charts and finished trials go.")] = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Do trials again that were finished before.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Run a benchmark, print its tables and write them as CSV and PNG. An interrupted one goes on where it stopped."""
    from gambol.evaluate import BENCHMARKS, Request

    if name not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARKS)
    benchmark = BENCHMARKS[name]
    refuse_unwritable(folder / f"{name}.csv")
    with progress_bar() as listener:
        found = benchmark.run(
            Request(trials or benchmark.trials, folder, on, rows or (), set_ or (), fresh=fresh, progress=listener)
        )
    written = found.save(folder)
    if json:
        print_json(_as_json(name, found))
    else:
        for table in found.tables.values():
            _print_whole(table.as_rich())
        for remark in found.remarks:
            out.print(escape(remark))
    tell(f"wrote {', '.join(map(str, written))}")


def _print_whole(table: Table) -> None:
    """A table at its full width, however narrow the terminal: half a number is worse than a long line."""
    needed = Measurement.get(out, out.options.update(width=_WIDEST), table).maximum
    Console(file=out.file, width=max(out.width, needed), highlight=False).print(table)


def _as_json(name: str, found: Findings) -> dict[str, Any]:
    """``rows`` of the first table, those of further ones by their names."""
    first, *further = found.tables.items()
    return {
        "benchmark": name,
        "rows": first[1].as_json(),
        **({"further": {key: table.as_json() for key, table in further}} if further else {}),
        **({"remarks": list(found.remarks)} if found.remarks else {}),
    }


def train(
    name: Annotated[str, typer.Argument(help="Which method to train.")],
) -> None:
    """Train a method that learns."""
    raise unknown_name("method that can be trained", name, [m.name for m in METHODS.values() if m.trained])
