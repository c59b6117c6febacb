"""How often tasks succeed: independent trials with seeds 0, 1, 2 … wherever there is room."""

from __future__ import annotations

from typing import Any

import numpy as np

from gambol.evaluate.benchmark import Table
from gambol.front import solve
from gambol.goals import shipped_tasks
from gambol.results import Progress, ProgressListener
from gambol.sim import executor


def trials(count: int, on: str, progress: ProgressListener) -> Table:
    """Success rate and duration of every shipped task."""
    names = list(shipped_tasks())
    jobs = [(name, seed) for name in names for seed in range(count)]
    # rollouts use every core already: local trials run one after the other
    with executor("serial" if on == "local" else on) as workers:
        outcomes: list[dict[str, Any] | None] = [None] * len(jobs)
        for done, (index, outcome) in enumerate(workers.as_completed(_trial, jobs), start=1):
            outcomes[index] = outcome
            progress(Progress(done / len(jobs), f"trial {done}/{len(jobs)}"))
    return Table(f"{count} trials of each task", [_row(name, jobs, outcomes) for name in names])


def _trial(job: tuple[str, int]) -> dict[str, Any]:
    name, seed = job
    return solve(name, seed=seed).report.as_json()


def _row(name: str, jobs: list[tuple[str, int]], outcomes: list[dict[str, Any] | None]) -> dict[str, Any]:
    own = [outcome for (task, _), outcome in zip(jobs, outcomes, strict=True) if task == name and outcome]
    good = [outcome["sim_seconds"] for outcome in own if outcome["status"] == "success"]
    return {
        "task": name,
        "trials": len(own),
        "success %": round(100 * len(good) / len(own), 1),
        "mean s": round(float(np.mean(good)), 2) if good else "",
        "sd s": round(float(np.std(good)), 2) if good else "",
        "min s": round(min(good), 2) if good else "",
        "max s": round(max(good), 2) if good else "",
        "wall s": round(float(np.mean([outcome["wall_seconds"] for outcome in own])), 1),
    }
