"""``gambol bench`` and ``gambol train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gambol.cli.output import out, print_json, progress_bar, tell
from gambol.cli.targets import refuse_unwritable
from gambol.errors import unknown_name
from gambol.front import METHODS


def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark; an unknown name lists them.")],
    trials: Annotated[int | None, typer.Option(min=1, help="How many; each benchmark has its own default.")] = None,
    on: Annotated[str, typer.Option(help="Where it runs: local, ray, ray://host:port; some on gpu.")] = "local",
    folder: Annotated[Path, typer.Option(help="Where tables go.")] = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Run a benchmark, print its table and write it as CSV."""
    from gambol.evaluate import BENCHMARKS

    if name not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARKS)
    benchmark = BENCHMARKS[name]
    target = folder / f"{name}.csv"
    refuse_unwritable(target)
    with progress_bar() as listener:
        table = benchmark.run(trials or benchmark.trials, on, listener)
    table.save(target)
    if json:
        print_json({"benchmark": name, "rows": table.as_json()})
    else:
        out.print(table.as_rich())
    tell(f"wrote {target}")


def train(
    name: Annotated[str, typer.Argument(help="Which method to train.")],
) -> None:
    """Train a method that learns."""
    raise unknown_name("method that can be trained", name, [m.name for m in METHODS.values() if m.trained])
