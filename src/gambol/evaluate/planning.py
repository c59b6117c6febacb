"""What a plan costs beside the bare rollouts it consists of, measured in one run."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from gambol.errors import InputError
from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.front import check
from gambol.goals import Task, load_task
from gambol.partwise.batch import TrialBatch
from gambol.partwise.method import PARTWISE
from gambol.partwise.outlook import Outlook
from gambol.partwise.settings import Settings
from gambol.results import Progress
from gambol.sim import Rollout, backend, pack_state

TASK = "armchair/stand-sit-stand"
GPU_TRIALS = 100


def planning(request: Request) -> Findings:
    """Median seconds of whole plans and of the same rollouts without the rest; on a GPU for a batch of trials."""
    if request.on not in ("local", "gpu"):
        raise InputError("times are taken on this machine alone: local or gpu", key="--on")
    request.chosen([TASK])
    task = load_task(TASK, request.overrides)
    settings = check(task, PARTWISE)[1]
    row = _on_gpu(task, settings, request) if request.on == "gpu" else _on_cpu(task, settings, request)
    return Findings({"planning": Table(f"A plan beside its bare rollouts ({TASK}, median of {request.trials})", [row])})


def _on_cpu(task: Task, settings: Settings, request: Request) -> dict[str, Any]:
    """Whole plans and bare rollouts of the same controls in turn, so that noise hits both."""
    if task.keyframes is None:
        raise InputError("this benchmark plans for contact keyframes", file=task.file)
    outlook = Outlook(task.world, task.keyframes, settings, 0, partwise=True)
    planner, model = outlook.planner, outlook.planner.model
    start = pack_state(model, task.initial_qpos(), np.zeros(model.nv))
    out = Rollout.empty(model, *planner.controls.shape[:2])
    busiest = int(np.argmax((outlook.table.weights > 0.0).sum(axis=1)))  # the keyframe with the most terms to compute
    whole, bare = [], []
    with closing(planner), backend("cpu", model, threads=settings.threads) as rollouts:
        planner.reset()
        for trial in range(request.trials):
            request.progress(Progress(trial / request.trials, "planning"))
            began = time.perf_counter()
            outlook.improve(start, busiest, 0.01)
            middle = time.perf_counter()
            rollouts.rollout(start, planner.controls, out=out)
            bare.append(time.perf_counter() - middle)
            whole.append((middle - began) / settings.rounds)
    return _row(1, settings, whole, bare)


def _on_gpu(task: Task, settings: Settings, request: Request) -> dict[str, Any]:
    """Rounds of a batch after the first, which compiles."""
    batch = TrialBatch([task], settings, range(GPU_TRIALS))
    batch.advance()
    whole, bare = [], []
    for trial in range(request.trials):
        request.progress(Progress(trial / request.trials, "planning"))
        before = replace(batch.pace)
        batch.advance()
        plans = batch.pace.plans - before.plans
        whole.append((batch.pace.planning - before.planning) / plans)
        bare.append((batch.pace.rollouts - before.rollouts) / plans)
    return _row(GPU_TRIALS, settings, whole, bare)


def _row(trials: int, settings: Settings, whole: list[float], bare: list[float]) -> dict[str, Any]:
    plan, roll = float(np.median(whole)), float(np.median(bare))
    return {
        "trials at once": trials,
        "rollouts": settings.rollouts,
        "steps": round(settings.horizon / settings.planning_step),
        "plan ms": round(1e3 * plan, 2),
        "bare rollouts ms": round(1e3 * roll, 2),
        "ratio": round(plan / roll, 3),
        "plans per second": round(1 / plan, 1),
    }
