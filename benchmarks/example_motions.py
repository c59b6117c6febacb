"""Solves shipped tasks and keeps their motions as the examples that come with gambol.

    python benchmarks/example_motions.py                        # every task that spacetime windows solve
    python benchmarks/example_motions.py spacetime/handstand --seed 3

Windows that were found before come from the cache, so this can be interrupted and goes on. A motion that misses what
its task calls success is not kept, and neither is one with windows from before an edit of the task: its seed alone
would not find it. The times are those of the search, at whatever else the machine did then; the paper allows 20 minutes
a window on 8 cores.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import gambol
from gambol.cli.output import progress_bar
from gambol.goals import load_task, shipped_tasks
from gambol.motion.formats import write
from gambol.results import Status

FOLDER = Path(gambol.__file__).parent / "library" / "motions"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="*", help="shipped tasks; by default all with windows")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names = given.tasks or [name for name in shipped_tasks() if load_task(name).windows]
    table = Table(title="Example motions (paper: 1200 s a window)", box=None, title_justify="left")
    for heading in ("task", "status", "seconds", "windows", "s/window", "slowest", "feats"):
        table.add_column(heading)
    failed = 0
    for name in names:
        with progress_bar() as listener:
            result = gambol.solve(name, seed=given.seed, progress=listener)
        if result.report.status is Status.INTERRUPTED:
            return 1
        figures = result.report.figures
        times = [row["seconds"] for row in figures["by_window"]]
        edited = figures.get("windows_from_before_an_edit", 0)
        status = f"{edited} windows from before an edit" if edited else result.report.status.value
        feats = ", ".join(
            f"{feat} –" if value is None else f"{feat} {value:.3g}" for feat, value in figures.get("feats", {}).items()
        )
        taken = f"{len(times)}", f"{sum(times) / len(times):.0f}", f"{max(times):.0f}"
        table.add_row(name, status, f"{result.motion.duration:.1f}", *taken, feats)
        kept = result.succeeded and not edited
        if kept:
            target = FOLDER / f"{name}.npz"
            target.parent.mkdir(parents=True, exist_ok=True)
            write(result.motion, target, dtype="float32")
        failed += not kept
    Console(width=180).print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
