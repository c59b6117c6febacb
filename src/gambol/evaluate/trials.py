"""How often tasks succeed: independent trials with seeds 0, 1, 2 … wherever there is room."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gambol.evaluate.benchmark import Table
from gambol.front import check, solve
from gambol.goals import load_task, shipped_tasks
from gambol.partwise.batch import TrialBatch
from gambol.results import Progress, ProgressListener
from gambol.sim import executor


def trials(count: int, on: str, progress: ProgressListener) -> Table:
    """Success rate and duration of every shipped task."""
    names = list(shipped_tasks())
    if on == "gpu":
        return Table(f"{count} trials of each task on the GPU", [_batch_row(name, count, progress) for name in names])
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


def _batch_row(name: str, count: int, progress: ProgressListener) -> dict[str, Any]:
    """All trials of a task as one batch of worlds."""
    task = load_task(name)
    method, settings = check(task)
    began = time.perf_counter()
    ended = TrialBatch(task, settings, range(count), method=method.name).run(progress)
    wall = time.perf_counter() - began
    return _summary(name, count, [trial.seconds for trial in ended if trial.succeeded], wall / count)


def _row(name: str, jobs: list[tuple[str, int]], outcomes: list[dict[str, Any] | None]) -> dict[str, Any]:
    own = [outcome for (task, _), outcome in zip(jobs, outcomes, strict=True) if task == name and outcome]
    good = [outcome["sim_seconds"] for outcome in own if outcome["status"] == "success"]
    return _summary(name, len(own), good, float(np.mean([outcome["wall_seconds"] for outcome in own])))


def _summary(name: str, count: int, good: list[float], wall: float) -> dict[str, Any]:
    return {
        "task": name,
        "trials": count,
        "success %": round(100 * len(good) / count, 1),
        "mean s": round(float(np.mean(good)), 2) if good else "",
        "sd s": round(float(np.std(good)), 2) if good else "",
        "min s": round(min(good), 2) if good else "",
        "max s": round(max(good), 2) if good else "",
        "wall s a trial": round(wall, 1),
    }
