"""``gambol solve`` and ``gambol demo``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gambol.cli.interrupting import interruption_told
from gambol.cli.output import complain, print_figures, print_json, progress_bar, tell
from gambol.cli.targets import refuse_unwritable
from gambol.errors import InputError
from gambol.front import check
from gambol.front import solve as run
from gambol.goals import load_task
from gambol.motion.formats import writable
from gambol.results import Result, Status
from gambol.sim import check_place

DEMO_TASK = "armchair/stand-sit-stand"
DEMO_SEEDS = (4, 1, 5)
"""Tried in order until one succeeds: the same seed can end differently on another processor.

They were chosen because their motions end standing still.
"""


def solve(
    task: Annotated[str, typer.Argument(help="A shipped task (see `gambol list`) or a YAML file.")],
    method: Annotated[str | None, typer.Option(help="Which method; by default the task's own.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="One seed, one result.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where the motion goes; the extension chooses the format.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the task.")
    ] = None,
    track: Annotated[
        bool, typer.Option("--track", help="Perform an optimised motion with feedback, and say what that survives.")
    ] = False,
    on: Annotated[str, typer.Option(help="Where it runs: local, serial, ray or ray://host:port.")] = "local",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Turn a wish into a motion. Exit code 0: success, 3: did not succeed (motion so far saved), 2: wrong input."""
    check_place(on, key="--on")
    wanted = load_task(task, set_ or ())
    _, settings = check(wanted, method, seed, on)
    if track:
        if not hasattr(settings, "feedback"):
            raise InputError("only optimised motions are tracked", key="--track", hint="it is for tasks with windows")
        wanted = load_task(task, [*(set_ or ()), "feedback=true"])
    target = out or Path(f"{wanted.name.replace('/', '-')}.npz")
    _ready(target)
    with progress_bar() as listener, interruption_told(tell):
        result = run(wanted, method, seed, on, listener)
    saved = _saved(result, target)
    result = _with_incident(result, target)
    _report(result, json)
    tell(f"wrote {saved}")
    if result.report.status is not Status.SUCCESS:
        raise typer.Exit(3)


def demo(
    folder: Annotated[Path, typer.Option(help="Where demo.npz, demo.bvh and demo.html go.")] = Path(),
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Solve a shipped task, print its figures and write demo.npz, demo.bvh and demo.html."""
    targets = [folder / f"demo.{extension}" for extension in ("npz", "bvh", "html")]
    for target in targets:
        _ready(target)
    result = _first_success()
    for target in targets:
        result.motion.save(target)
    _report(result, json)
    tell(f"wrote {', '.join(map(str, targets))}; open demo.html in a browser")
    if not result.succeeded:
        raise typer.Exit(3)


def _saved(result: Result, target: Path) -> Path:
    """Write the motion; where its format fails now, keep it as .npz beside, so that no work is lost."""
    try:
        result.motion.save(target)
    except InputError:
        kept = target.with_suffix(".npz")
        result.motion.save(kept)
        tell(f"the motion is kept in {kept}")
        raise
    return target


def _with_incident(result: Result, target: Path) -> Result:
    """Keep the moment at which physics went wrong beside the motion; the report then says where, and how to see it."""
    if result.incident is None:
        return result
    kept = target.with_suffix(".unstable.npz")
    result.incident.save(kept)
    told = f"{result.report.advice}. The moment is kept in {kept}; to see it: {result.incident.how_to_replay(kept)}"
    return replace(result, report=replace(result.report, advice=told))


def _first_success() -> Result:
    first, *others = DEMO_SEEDS
    result = _demo_run(first)
    for seed in others:
        if result.succeeded or result.report.status is Status.INTERRUPTED:
            break
        tell(f"seed {result.report.seed} did not succeed, trying another: {result.report.advice}")
        result = _demo_run(seed)
    return result


def _demo_run(seed: int) -> Result:
    with progress_bar() as listener, interruption_told(tell):
        return run(DEMO_TASK, None, seed, "local", listener)


def _report(result: Result, json: bool) -> None:
    report = result.report
    if json:
        print_json(report.as_json())
    else:
        times = {"simulated": f"{report.sim_seconds:.2f} s", "took": f"{report.wall_seconds:.1f} s"}
        title = f"{report.task} by {report.method}, seed {report.seed}: {report.status.value}"
        print_figures(title, {**times, **report.figures})
    if report.advice:
        complain(report.advice)


def _ready(target: Path) -> None:
    """Say so before the work, not after, when the result could not be written."""
    writable(target)
    refuse_unwritable(target)
